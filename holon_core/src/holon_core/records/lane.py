"""What lanes offer: a kind of capability, where definitions come from, what runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Posture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.records.failure import StructuredFailure
    from holon_core.records.skill import SkillEntry
    from holon_core.records.skill_source import SkillSourceDescriptor


class SkillResources(Protocol):
    """The files that came with imported skills: what their instructions refer to."""

    def names(self, skill: SkillEntry, /) -> Sequence[str]:
        """Return the names of a skill's files, as its instructions call them."""
        ...

    def read(self, skill: SkillEntry, name: str, /) -> bytes | StructuredFailure:
        """Return one of these files as it was imported, or why it cannot be had."""
        ...


@frozen(kw_only=True, eq=False, repr=False)
class CapabilityLane(Record):
    """A kind of capability and the rules that hold for all of it.

    ``postures`` are those that its tools may run under. ``needs_filesystem`` keeps it out of a
    runtime in memory. Each of ``gates`` gets a ``GateCall`` and yields the
    ``StructuredFailure`` of everything that blocks it, 100 at most; it runs on every call, so
    it is quick and starts nothing. ``preview(call, binding)`` shows the exact request of an
    imported tool that nothing is bound to, as an executor's own ``preview`` does. Of a lane
    whose skills come with files ``resources`` is a ``SkillResources``.
    """

    kind: str
    postures: frozenset[Posture]
    needs_filesystem: bool = False
    gates: tuple[Any, ...] = field(default=())
    preview: Any = None
    resources: SkillResources | None = None


@frozen(kw_only=True, eq=False, repr=False)
class LaneExecutor(Record):
    """What runs the tools of one source.

    ``source`` is a source id of the same distribution; what is registered while a runtime is
    open under ``<source>.<more>`` is run, too, unless another executor is for that.
    ``executor`` has ``execute(call)``, sync or async, and ``preview(call)``, which raises
    ``Refused`` with ``arguments_invalid`` where the arguments make no request, or with
    ``secret_in_content`` where they hold a secret, so that nobody is asked to approve it.
    ``self_limiting`` says that it keeps the time limit itself, as everything does that runs through
    ``call.run_process``. ``confines`` says that all that its tools do they do in programs, run
    through ``call.run_process``, so that a policy can have them confined. ``needs_workspace``
    says that its tools work for a workspace though they touch nothing in its folder: a caller
    without one is refused before anybody is asked for an approval.
    """

    source: str
    executor: Any
    self_limiting: bool = False
    inline: bool = False
    confines: bool = False
    needs_workspace: bool = False


def executor_of(executors: Mapping[str, LaneExecutor], source: str) -> LaneExecutor | None:
    """Return what runs the tools of a source: its own executor, else that of what it is under.

    Names of distributions have no dot, so that a source is never under another distribution's.
    """
    found = executors.get(source)
    while found is None and "." in source:
        source = source.rpartition(".")[0]
        found = executors.get(source)
    return found


class SkillSource(Protocol):
    """A source of tool definitions; subclass it where the signal never changes.

    ``read`` is called when a runtime opens and at a refresh, never in a list or a discovery;
    it has 5 s, and a late one is shown as late. ``signal`` changes when a read would give
    something else: while it, the distribution and its version stay the same, the stored
    definitions are used and ``read`` is not called.
    """

    @property
    def descriptor(self) -> SkillSourceDescriptor:
        """Id, kind and origin of the source."""
        ...

    def signal(self) -> str:
        """Return a short text that changes with the definitions; quick, no I/O of weight.

        That of a subclass that says nothing else never changes, within one version.
        """
        return ""

    def read(self) -> Iterable[RuntimeToolDescriptor]:
        """Return the definitions; origin, provenance and digest are set by the core."""
        ...
