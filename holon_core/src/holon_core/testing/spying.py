"""A spy before a lane's executor: what it really answered, when it ended, what a preview did.

The guarded call hides much of that on purpose: it abandons a thread that is late and replaces
answers that break the contract. So the kit looks behind the door here, and nowhere else.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from holon_core.testing.watching import watching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holon_core.guard.sealed import SealedCall
    from holon_core.runtime import Runtime
    from holon_core.testing.watching import Deed


class Run:
    """One entering of an executor."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.answer: Any = None
        self.error: BaseException | None = None


class Spy:
    """Stands in for a synchronous executor and passes everything on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.entered = threading.Event()
        self.runs: list[Run] = []
        self.deeds: list[Deed] = []
        self.previews: list[Any] = []
        self.preview_errors: list[BaseException] = []

    def execute(self, call: SealedCall, /) -> Any:
        """Enter the executor."""
        with self.run() as run:
            run.answer = self._inner.execute(call)
            return run.answer

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Ask for the preview, and note what it does to the machine meanwhile."""
        with watching() as deeds:
            try:
                shown: Mapping[str, Any] = self._inner.preview(call)
            except BaseException as error:
                self.preview_errors.append(error)
                raise
            finally:
                self.deeds += deeds
        self.previews.append(shown)
        return shown

    @contextmanager
    def run(self) -> Iterator[Run]:
        """Keep one run: its error, and that it ended."""
        run = Run()
        self.runs.append(run)
        self.entered.set()
        try:
            yield run
        except BaseException as error:
            run.error = error
            raise
        finally:
            run.ended.set()


class AsyncSpy(Spy):
    """Stands in for an executor whose ``execute`` is a coroutine function."""

    async def execute(self, call: SealedCall, /) -> Any:
        """Enter the executor."""
        with self.run() as run:
            run.answer = await self._inner.execute(call)
            return run.answer


@contextmanager
def spied(runtime: Runtime, tool_id: str) -> Iterator[Spy]:
    """Put a spy before one tool's executor, for as long as the block lasts.

    Raises:
        LookupError: The tool is not in the catalogue, or nothing runs it.
    """
    entry = runtime._guard.catalogue.get(tool_id)
    if entry is None or entry.executor is None:
        raise LookupError(f"nothing runs {tool_id}")
    inner, shows = entry.executor, entry.preview
    spy = (AsyncSpy if iscoroutinefunction(inner.execute) else Spy)(inner)
    entry.executor, entry.preview = spy, spy.preview
    try:
        yield spy
    finally:
        entry.executor, entry.preview = inner, shows
