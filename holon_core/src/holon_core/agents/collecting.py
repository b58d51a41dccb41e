"""A pause of Python's collection of garbage, for the making of many small objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_paused() -> Iterator[None]:
    """Put the collection off until the block has ended; where a host has turned it off, it stays.

    For blocks of milliseconds. What is unreachable waits for the next collection; two threads at
    once are no harm, as whoever is first turns it on again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
