"""Single keys from a terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def has_person() -> bool:
    """Tell whether somebody can be asked: input and error output are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_key(
    *, timeout_s: float | None = None, ask: Callable[[], None] | None = None
) -> str | None:
    """Wait for one key.

    Args:
        timeout_s: Seconds to wait; None waits for ever.
        ask: Shows the question, when keys are already taken singly.

    Returns:
        The character, ``""`` at the end of input, None where none came in time.
    """
    descriptor = sys.stdin.fileno()
    with _unbuffered(descriptor):
        if ask is not None:
            ask()
        ready, _, _ = select.select([descriptor], [], [], timeout_s)
        if not ready:
            return None
        key = os.read(descriptor, 1)
        if key == b"\x1b":
            # The rest of an arrow's or function key's sequence is no answer either.
            while select.select([descriptor], [], [], 0.01)[0]:
                if not os.read(descriptor, 16):
                    break
        return "" if key in (b"", b"\x04") else key.decode("latin-1")


@contextmanager
def _unbuffered(descriptor: int) -> Iterator[None]:
    before = termios.tcgetattr(descriptor)
    # At once: the usual way would throw away what was typed before.
    tty.setcbreak(descriptor, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
