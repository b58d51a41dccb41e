"""What a lane brings for one kind of frozen tool; lane, gates and executor are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.finding import Finding
from holon_core.records.frozen import FrozenToolDefinition, FrozenToolRecord
from holon_core.records.tool import Limits

if TYPE_CHECKING:
    from holon_core.guard.sealed import SealedCall
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.outcome import ExecutorOutcome


@frozen(kw_only=True, eq=False, repr=False)
class FrozenTool(Record):
    """A frozen tool as its kind sees it while it is built, run or shown.

    ``folder`` is the managed folder of its sources, named by their digest: every file of the
    definition is there, and nothing is written there by anybody else. ``build_folder`` is the
    kind's own for this digest, beside it, made when first asked for. ``read(path)`` gives the
    bytes of a source file from the store, checked by digest: what is read there can't have been
    swapped on disk. ``copied()`` is a context with a folder of the sources that is one run's own:
    where a program runs there, nothing that it writes reaches another run. A kind whose programs
    have to run in ``folder`` itself calls ``restore()`` after each, which makes it as it was.
    """

    record: FrozenToolRecord
    folder: Path
    build_folder: Path
    read: Callable[[str], bytes] = field(repr=False)
    copied: Callable[[], AbstractContextManager[Path]] = field(repr=False)
    restore: Callable[[], None] = field(repr=False)

    @property
    def definition(self) -> FrozenToolDefinition:
        """What the tool is made of."""
        return self.record.definition


class FrozenToolKind(Protocol):
    """An implementation kind of frozen tools, as ``holon_frozen_tool_kinds`` offers it.

    Everything before execution is the core's: lifecycle, workspace, policy, approvals, circuit,
    schemas, evidence. A kind says what its content has to look like and runs it.
    """

    @property
    def kind(self) -> str:
        """The lane kind, e.g. ``script-artifact``; reserved ones are this project's own."""
        ...

    @property
    def build_limits(self) -> Limits | None:
        """Bounds of one build; ``None`` where sources run as they are."""
        ...

    @property
    def confines(self) -> bool:
        """Whether all that its tools do happens in programs that ``call.run_process`` runs.

        A policy can then have them confined; a kind that does not say so is refused there.
        """
        ...

    def validate(
        self, definition: FrozenToolDefinition, files: Mapping[str, bytes]
    ) -> Iterable[Finding]:
        """Name what is wrong with a definition, from reading it alone.

        Runs nothing of the tool and no program on its files. Paths are JSON pointers into the
        proposal (``/content/command``, ``/files/0``). An error finding keeps it from becoming a
        Candidate. Called again before every validation.
        """
        ...

    def ready(self, tool: FrozenTool) -> Iterable[StructuredFailure]:
        """Name what keeps a tool from running now.

        Failures of the table: ``artifact_not_ready``, ``artifact_changed``,
        ``dependency_missing``. Asked on each call and each discovery: quick, starts nothing.
        """
        ...

    def build(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Make the artifact, within ``build_limits``; only called where these are stated.

        Programs run through ``call.run_process``. A completed outcome's output is
        ``{"sha256": <of the artifact>, "facts": {…}}``; it is kept in the record as
        ``artifact`` and is part of what is validated and pinned.
        """
        ...

    def execute(self, call: SealedCall, tool: FrozenTool) -> ExecutorOutcome:
        """Run the tool once, for a live call and for a fixture alike.

        ``call.workspace`` is the workspace of a live call, and of a fixture a fresh folder with
        the fixture's files. Programs run through ``call.run_process``, which keeps the limits.
        """
        ...

    def preview(self, call: SealedCall, tool: FrozenTool) -> Mapping[str, Any]:
        """Show the exact request that ``execute`` would make; start nothing."""
        ...
