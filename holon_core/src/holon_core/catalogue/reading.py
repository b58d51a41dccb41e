"""Reading what a source defines, on a thread of its own that may be given up on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.catalogue.registry import MAX_DEFINITIONS
from holon_core.plugins.faults import kind_of, told
from holon_core.records.base import Record

if TYPE_CHECKING:
    from holon_core.plugins.lanes import Source


@frozen(kw_only=True, eq=False, repr=False)
class Reading(Record):
    """What a source gave: its key, and its definitions where the key is a new one."""

    key: str
    definitions: list[Any] | None = None
    problem: str = ""


def work_of(source: Source, prefix: str, known: str) -> Callable[[], Reading]:
    """Return the work of reading a source, which does no more where its key is the known one."""

    def work() -> Reading:
        signal = source.source.signal()
        if type(signal) is not str:
            raise TypeError(f"signal gives {kind_of(signal)} and no text")
        key = prefix + signal[:1000]
        return Reading(key=key) if key == known else _read(source, key)

    return work


def _read(source: Source, key: str) -> Reading:
    found: list[Any] = []
    problem = ""
    try:
        answer: Iterable[Any] = source.source.read()
        # What a generator gave before it raised is good: neighbours of a fault come in.
        for each in islice(answer, MAX_DEFINITIONS + 1):
            found.append(each)  # noqa: PERF402
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"reading raised {told(error)} after {len(found)} definitions"
    return Reading(key=key, definitions=found, problem=problem)


class Worker:
    """A thread that does one work after the other; what one raises is its answer."""

    def __init__(self, works: Sequence[Callable[[], Reading]]) -> None:
        self.answers: SimpleQueue[Reading | BaseException] = SimpleQueue()
        self.stop = False
        self._works = works
        self._thread = threading.Thread(target=self._run, name="holon-source", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still reads."""
        return self._thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Wait for its end."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        for work in self._works:
            if self.stop:
                return
            try:
                self.answers.put(work())
            except BaseException as error:
                self.answers.put(error)
