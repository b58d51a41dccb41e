"""Executors that a host or an adapter binds to imported capabilities; they last as its process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Misuse, Refused
from holon_core.ids import SOURCE_ID
from holon_core.names import MAX_NAME, MAX_TOOL_ID, required_text
from holon_core.plugins.blocked import PROVIDERS
from holon_core.records.base import Record
from holon_core.records.failure import failure
from holon_core.records.words import Effect, Posture

if TYPE_CHECKING:
    from holon_core.records.lane import CapabilityLane

MAX_BOUND = 100_000


@frozen(kw_only=True, eq=False, repr=False)
class BoundExecutor(Record):
    """What runs one imported capability, or all of a source, and under which posture.

    ``provides`` names dependencies of the definition that the executor brings itself, so that
    nothing looks for them on this machine. ``effects`` are its own, where it says them: a gate is
    closed for every capability that does not declare them.
    """

    target: str
    executor: Any
    posture: Posture
    by: str
    self_limiting: bool = False
    inline: bool = False
    provides: frozenset[str] = frozenset()
    effects: frozenset[Effect] = frozenset()


class Bindings:
    """The bound executors of one runtime. Safe for many threads.

    Args:
        lanes: The lanes that are here, by kind: a posture has to be one of theirs.
    """

    def __init__(self, lanes: dict[str, CapabilityLane]) -> None:
        self._lanes = lanes
        self._bound: dict[str, BoundExecutor] = {}
        self._lock = threading.Lock()
        # Set by the catalogue: what it keeps of a tool says what runs it.
        self.changed: Callable[[], None] = lambda: None

    def of(self, tool_id: str) -> BoundExecutor | None:
        """Return what is bound to a tool, or else to its source."""
        return self._bound.get(tool_id) or self._bound.get(tool_id.partition("/")[0])

    def bind(self, bound: BoundExecutor) -> None:
        """Bind an executor.

        Raises:
            Misuse: It is no executor, or the posture none that a lane here runs under.
            Refused: ``conflict``: another one is bound.
        """
        for name in ("execute", "preview"):
            if not callable(getattr(bound.executor, name, None)):
                raise Misuse(f"an executor has execute(call) and preview(call); no {name} here")
        source = str(bound.target).partition("/")[0]
        if not SOURCE_ID.fullmatch(source):
            raise Misuse("bind to the id of a tool, or of a source")
        self.check_posture(self._lane_of(source), bound.posture)
        with self._lock:
            if bound.target in self._bound:
                text = f"an executor of {self._bound[bound.target].by} is bound to {bound.target}"
                raise Refused(failure("conflict", text, tool=bound.target))
            if len(self._bound) >= MAX_BOUND:
                raise Misuse(f"at most {MAX_BOUND} executors are bound; bind whole sources")
            self._bound[bound.target] = bound
        self.changed()

    def _lane_of(self, source: str) -> str:
        lane = next((lane for lane, owner in PROVIDERS.items() if is_of(source, owner)), "")
        if not lane:
            raise Misuse(f"{source} is no source of imported capabilities")
        return lane

    def check_posture(self, kind: str, posture: object) -> None:
        """Refuse a posture that a lane does not run under.

        Raises:
            Misuse: It is none, or the lane is not here.
        """
        lane = self._lanes.get(kind)
        if lane is None:
            raise Misuse(f"the lane {kind} is not active here; install {PROVIDERS.get(kind, kind)}")
        if type(posture) is not Posture or posture not in lane.postures:
            known = ", ".join(sorted(each.value for each in lane.postures))
            raise Misuse(f"the lane {kind} runs under {known}")

    def bind_for(
        self,
        owner: str,
        target: str,
        executor: Any,
        *,
        posture: Posture,
        self_limiting: bool = False,
        inline: bool = False,
        provides: Sequence[str] = (),
        effects: Iterable[Effect] = (),
    ) -> None:
        """Bind an executor for a host or a plugin; see ``bind``."""
        names = frozenset(required_text(each, "provides", MAX_NAME) for each in provides)
        self.bind(
            BoundExecutor(
                target=required_text(target, "a tool id", MAX_TOOL_ID),
                executor=executor,
                posture=posture,
                by=owner,
                self_limiting=self_limiting,
                inline=inline,
                provides=names,
                effects=_effects(effects),
            )
        )

    def unbind(self, target: str, *, by: str | None = None) -> bool:
        """Take an executor away; tell whether there was one. Calls that run go on.

        Args:
            target: What it was bound to.
            by: Only where this one bound it.
        """
        with self._lock:
            found = self._bound.get(target)
            if found is None or by not in (None, found.by):
                return False
            del self._bound[target]
        self.changed()
        return True


def _effects(given: Iterable[Effect]) -> frozenset[Effect]:
    try:
        return frozenset(map(Effect, given))
    except (TypeError, ValueError):
        known = ", ".join(each.value for each in Effect)
        raise Misuse(f"effects are some of {known}") from None


def is_of(source: str, owner: str) -> bool:
    """Tell whether a source id is one that a distribution may give."""
    return source == owner or source.startswith((f"{owner}.", f"{owner}-"))
