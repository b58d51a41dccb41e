"""Ids: how ours are made, and which of others are accepted (design, section 3)."""

from __future__ import annotations

import itertools
import os
import re
import time

SOURCE_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
CAPABILITY_ID = re.compile(r"[A-Za-z0-9._~-]+")
MAX_CAPABILITY_BYTES = 200
RESERVED_SOURCES = ("holon.", "host.", "frozen.")


class _Serial:
    """What tells the ids of one process from those of every other."""

    def __init__(self) -> None:
        self.numbers = itertools.count(int.from_bytes(os.urandom(4), "big"))
        self.salt = os.urandom(6).hex()


_serial = _Serial()


def _renew() -> None:
    # A forked child would go on counting with its parent's salt.
    _serial.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def new_id(prefix: str) -> str:
    """Make an id that sorts by time: a letter, milliseconds, a count, the process's 48 bits."""
    return f"{prefix}{int(time.time() * 1000):012x}{next(_serial.numbers):08x}{_serial.salt}"


def capability_id(name: str) -> str:
    """Make a capability id of any name: characters outside the grammar are percent-encoded.

    Args:
        name: The given name; not empty.

    Returns:
        An id of ``[A-Za-z0-9._~-]`` and ``%XX``. It may exceed the 200 bytes that
        ``id_problem`` then names.
    """
    return "".join(
        char
        if CAPABILITY_ID.fullmatch(char)
        else "".join(f"%{b:02X}" for b in char.encode(errors="surrogatepass"))
        for char in name
    )


def id_problem(tool_id: str) -> str | None:
    """Say what is wrong with the form of a tool id; ``None`` where nothing is."""
    source, slash, capability = tool_id.partition("/")
    if not slash or not SOURCE_ID.fullmatch(source):
        return "a tool id is <source id>/<capability id>, the source of a-z 0-9 . _ -"
    if not re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+", capability):
        return "a capability id is of A-Z a-z 0-9 . _ ~ -, anything else percent-encoded"
    if len(capability) > MAX_CAPABILITY_BYTES:
        return f"a capability id has at most {MAX_CAPABILITY_BYTES} bytes"
    return None
