"""Reading the sources of a runtime when it opens: those that changed, each within its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.plugins.faults import told

if TYPE_CHECKING:
    from holon_core.catalogue.reading import Reading, Worker
    from holon_core.catalogue.registry import Registry
    from holon_core.catalogue.source_records import Registered, SourceState, StoredSource
    from holon_core.plugins.lanes import Source

READ_S = 5.0
_JOIN_S = 1.0


class Sources:
    """The sources of one runtime.

    Args:
        registry: Where definitions go.
        sources: Those that plugins offer.
        complete: Distributions all of whose sources these are: what is stored of another
            source of theirs is removed.
        core: Version of the core, whose change reads every source anew.
    """

    def __init__(
        self,
        registry: Registry,
        sources: Sequence[Source],
        *,
        complete: frozenset[str] = frozenset(),
        core: str = "",
    ) -> None:
        self._registry = registry
        self._sources = {each.descriptor.id: each for each in sources}
        self._complete = complete
        self._core = core
        self._late: dict[str, Worker] = {}
        self._states: dict[str, SourceState] = {}

    def states(self) -> tuple[SourceState, ...]:
        """Return what became of each source, by id."""
        return tuple(self._states[each] for each in sorted(self._states))

    def read(self, *, again: bool = False) -> tuple[SourceState, ...]:
        """Read every source whose key changed; one that is late or fails keeps what is stored.

        Args:
            again: Read all of them, whatever their keys say.
        """
        stored = self._registry.stored()
        self._states = {}
        for name in [name for name in stored if name not in self._sources]:
            self._without_plugin(stored[name])
        due = {name: s for name, s in self._sources.items() if not self._is_late(name)}
        answers = self._answers(due, {} if again else stored) if due else {}
        for name, source in self._sources.items():
            self._states[name] = self._settle(source, answers.get(name), stored.get(name))
        return self.states()

    def offers(self, name: str) -> bool:
        """Tell whether a plugin offers a source of this id."""
        return name in self._sources

    def note(self, done: Registered, distribution: str) -> None:
        """Keep what became of a source that was registered, or dropped, just now."""
        if done.dropped:
            self._states.pop(done.source, None)
            return
        self._states[done.source] = _state(
            id=done.source,
            distribution=distribution,
            state="registered",
            added=done.added,
            changed=done.changed,
            removed=done.removed,
            findings=done.findings,
        )

    def close(self) -> tuple[str, ...]:
        """Return the names of threads that a late source still keeps."""
        return tuple(f"holon-source in {name}" for name, w in self._late.items() if w.alive)

    def _prefix(self, source: Source) -> str:
        by = source.provenance
        return f"{self._core}/{by.distribution}=={by.version}/{self._registry.conditions}#"

    def _is_late(self, name: str) -> bool:
        # A second reading beside one that hangs would hang, too.
        worker = self._late.get(name)
        if worker is not None and not worker.alive:
            del self._late[name]
        return name in self._late

    def _without_plugin(self, stored: StoredSource) -> None:
        here = stored.distribution in self._complete
        if here and not stored.registered:
            self._registry.drop(stored.id)
            return
        if stored.registered and (here or not stored.distribution):
            self._states[stored.id] = _state(
                id=stored.id,
                distribution=stored.distribution,
                state="registered",
                findings=stored.findings,
            )
            return
        self._states[stored.id] = _state(
            id=stored.id,
            distribution=stored.distribution,
            state="absent",
            problem="its plugin is not active",
            findings=stored.findings,
        )

    def _settle(self, source: Source, answer: Any, stored: StoredSource | None) -> SourceState:
        by = source.provenance
        state = _state(
            id=source.descriptor.id,
            distribution=by.distribution or by.plugin,
            state="current",
            findings={} if stored is None else stored.findings,
        )
        if answer is None:
            return evolve(state, state="late", problem=f"reading takes more than {READ_S:g} s")
        if isinstance(answer, BaseException):
            return evolve(state, state="failed", problem=f"reading raised {told(answer)}")
        if answer.definitions is None:
            return state
        done = self._register(source, answer)
        return evolve(
            state,
            state="failed" if answer.problem else "read",
            problem=answer.problem,
            added=done.added,
            changed=done.changed,
            removed=done.removed,
            findings=done.findings,
        )

    def _register(self, source: Source, answer: Reading) -> Registered:
        return self._registry.register(
            source.descriptor.id,
            answer.definitions or (),
            origin=source.descriptor.origin,
            provenance=source.provenance,
            key="" if answer.problem else answer.key,
            whole=not answer.problem,
        )

    def _answers(
        self, due: Mapping[str, Source], stored: Mapping[str, StoredSource]
    ) -> dict[str, Any]:
        from holon_core.catalogue.reading import work_of

        works = {
            name: work_of(source, self._prefix(source), _key(stored.get(name)))
            for name, source in due.items()
        }
        return dict(self._run(works))

    def _run(self, works: Mapping[str, Callable[[], Reading]]) -> Iterator[tuple[str, Any]]:
        """Run each work in turn on a thread; one that is late keeps that thread to itself."""
        from queue import Empty

        from holon_core.catalogue.reading import Worker

        names = list(works)
        while names:
            worker = Worker([works[name] for name in names])
            for position, name in enumerate(names):
                try:
                    answer = worker.answers.get(timeout=READ_S)
                except Empty:
                    self._late[name] = worker
                    worker.stop = True
                    names = names[position + 1 :]
                    break
                if isinstance(answer, KeyboardInterrupt):
                    worker.stop = True
                    raise answer
                yield name, answer
            else:
                worker.join(_JOIN_S)
                return


def _state(**fields: Any) -> SourceState:
    from holon_core.catalogue.source_records import SourceState

    return SourceState(**fields)


def _key(stored: StoredSource | None) -> str:
    return "" if stored is None else stored.key
