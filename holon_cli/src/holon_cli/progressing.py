"""How far long work is, live on the terminal of the person who waits for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from holon_core import Progress

MAX_TEXT = 60


class LiveProgress:
    """A bar on standard error while an operation runs, once it reports how far it is.

    Entered around the operation; the bar is gone when that ends. Where standard error is no
    terminal, nothing is shown. Reports come from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._runs = False

    def __enter__(self) -> None:
        with self._lock:
            self._runs = True

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._runs = False
            bar, self._bar, self._task = self._bar, None, None
        if bar is not None:
            bar.stop()

    def report(self, report: Progress) -> None:
        """Show a report; one that comes when nothing runs any more is left away."""
        with self._lock:
            if not self._runs:
                return
            if self._bar is None:
                self._start()
            if self._bar is None or self._task is None:
                return
            text = escape_controls(report.message or report.stage)[:MAX_TEXT]
            # Without a total nobody knows how long it is: the bar pulses.
            self._bar.update(
                self._task, description=text, completed=report.done, total=report.total
            )

    def _start(self) -> None:
        from holon_cli.people import stderr_console

        console = stderr_console()
        if not console.is_terminal:
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("", total=None)
        self._bar.start()
