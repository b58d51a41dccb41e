"""Reading the sources of a runtime when it opens: those that changed, each within its time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.catalogue.registry import MAX_DEFINITIONS

if TYPE_CHECKING:
    from holon_core.catalogue.registry import Registered, Registry
    from holon_core.records.lane import SkillSource
    from holon_core.records.tool import Provenance

READ_S = 5.0


@frozen(kw_only=True)
class SourceState:
    """What became of one source when read last: ``current``, ``read``, ``late`` or ``failed``."""

    id: str
    distribution: str
    state: str
    problem: str = ""
    registered: Registered | None = None


def read_sources(
    registry: Registry,
    sources: Sequence[tuple[SkillSource, Provenance]],
    *,
    refresh: bool = False,
) -> dict[str, SourceState]:
    """Read every source whose key changed; one that is late or fails keeps what is stored.

    Args:
        registry: Where definitions go.
        sources: Each with who provides it.
        refresh: Read all of them, whatever their keys say.
    """
    states = {}
    for source, provenance in sources:
        state = _read(registry, source, provenance, refresh)
        states[state.id] = state
    return states


def _read(
    registry: Registry, source: SkillSource, provenance: Provenance, refresh: bool
) -> SourceState:
    descriptor = source.descriptor
    owner = provenance.distribution or provenance.plugin
    box = _within(lambda: _definitions(registry, source, provenance, refresh))
    if box is None:
        text = f"reading took more than {READ_S:g} s"
        return SourceState(id=descriptor.id, distribution=owner, state="late", problem=text)
    if isinstance(box, BaseException):
        text = f"reading raised {type(box).__name__}"
        return SourceState(id=descriptor.id, distribution=owner, state="failed", problem=text)
    key, definitions, problem = box
    if definitions is None:
        return SourceState(id=descriptor.id, distribution=owner, state="current")
    registered = registry.register(
        descriptor.id,
        definitions,
        origin=descriptor.origin,
        provenance=provenance,
        key="" if problem else key,
    )
    return SourceState(
        id=descriptor.id,
        distribution=owner,
        state="failed" if problem else "read",
        problem=problem,
        registered=registered,
    )


def _definitions(
    registry: Registry, source: SkillSource, provenance: Provenance, refresh: bool
) -> tuple[str, list[Any] | None, str]:
    key = f"{provenance.distribution}=={provenance.version}#{source.signal()}"
    if not refresh and registry.is_current(source.descriptor.id, key):
        return key, None, ""
    found: list[Any] = []
    problem = ""
    try:
        answer: Iterable[Any] = source.read()
        # What a generator gave before it raised is good: neighbours of a fault come in.
        for each in islice(answer, MAX_DEFINITIONS + 1):
            found.append(each)  # noqa: PERF402
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"reading raised {type(error).__name__} after {len(found)} definitions"
    return key, found, problem


def _within(work: Any) -> Any:
    """Run work in a thread for at most its time; ``None`` when late, an exception as a value."""
    box: list[Any] = []

    def body() -> None:
        try:
            box.append(work())
        except BaseException as error:
            box.append(error)

    thread = threading.Thread(target=body, name="holon-source", daemon=True)
    thread.start()
    thread.join(READ_S)
    return box[0] if box else None
