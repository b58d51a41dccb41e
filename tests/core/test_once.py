"""What a runtime makes when it is first asked for."""

from __future__ import annotations

import threading

import pytest

from holon_core.once import Once


def test_many_threads_get_one_and_the_same():
    """Of threads that ask together one makes it, and the others wait."""
    made: list[object] = []
    barrier = threading.Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    part = Once(make)
    seen: list[object] = []

    def ask() -> None:
        barrier.wait()
        seen.append(part())

    assert part.made is None
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 1
    assert all(each is made[0] for each in seen)
    assert part.made is made[0]


def test_a_failed_making_is_tried_again():
    """What could not be made is not kept as made."""
    tries: list[int] = []

    def make() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return "made"

    part = Once(make)
    with pytest.raises(OSError, match="not yet"):
        part()

    assert part() == "made"
