"""Read a TOML file within bounds, and collect what is wrong with it, each with line and key."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from holon_core.config.lines import Path, line_of, lines_of, toml
from holon_core.records.finding import Finding

MAX_BYTES = 1024 * 1024
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Unreadable(Exception):
    """A file that is there and can't be used; the text says why."""


class Findings:
    """Collects faults of one place: a file, a variable of the environment, an argument."""

    def __init__(self, place: Callable[[Path], str]) -> None:
        self._place = place
        self.found: list[Finding] = []

    @classmethod
    def of_file(cls, name: str, lines: Mapping[Path, int]) -> Findings:
        """Name the file, the line and the key of every fault."""
        return cls(lambda path: f"{name}:{line_of(lines, path)}: {dotted(path)}")

    def add(self, path: Path, message: str) -> None:
        """Note a fault; ``message`` never repeats a value that may be a secret."""
        self.found.append(
            Finding(
                code="config_invalid",
                message=f"{self._place(path)}: {message}",
                path="".join(f"/{_escaped(str(part))}" for part in path),
            )
        )

    def unknown_keys(self, table: Mapping[str, Any], known: Iterable[str], path: Path) -> None:
        """Note every key of a table that is not known, with the nearest that is."""
        names = list(known)
        for key in table:
            if key not in names:
                self.add((*path, key), f"unknown key{_suggestion(key, names)}")


def read_bounded(path: FilePath, *, within: FilePath | None = None) -> bytes | None:
    """Read a small regular file.

    Args:
        path: What to read.
        within: A folder that the file has to lie in, should ``path`` be a symbolic link.

    Returns:
        The bytes, at most 1 MiB; ``None`` where there is no such file.

    Raises:
        Unreadable: It is something else than a file, larger, a link that leads nowhere or
            outside, or refused by the system.
    """
    try:
        return _read(_target(path, within) if path.is_symlink() else path)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"it cannot be read: {getattr(error, 'strerror', error)}") from None


def _target(link: FilePath, within: FilePath | None) -> FilePath:
    try:
        target = link.resolve(strict=True)
    except FileNotFoundError:
        raise Unreadable("it is a link that leads nowhere") from None
    if within is not None and not target.is_relative_to(within.resolve()):
        raise Unreadable("it is a link that leads outside")
    return target


def _read(path: FilePath) -> bytes:
    # Without waiting for the writer of a pipe, and no link where there was none a moment ago.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("it is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"it is larger than {MAX_BYTES} bytes")
    return raw


def parse(raw: bytes) -> tuple[dict[str, Any], dict[Path, int]]:
    """Parse TOML.

    Returns:
        The document, and the line of each key.

    Raises:
        Unreadable: It is not TOML; the text gives line and column.
    """
    try:
        text = raw.decode("utf-8")
        if not text:
            return {}, {}
        return toml().loads(text), lines_of(text.replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"line {line}: it is not UTF-8") from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None
    except ValueError as error:
        raise Unreadable(_syntax(str(error), raw)) from None


def dotted(path: Path) -> str:
    """Write a path as it would stand in TOML, array elements as ``[0]``."""
    parts = (
        f"[{part}]"
        if isinstance(part, int)
        else f".{part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=True)}"
        for part in path
    )
    return "".join(parts).removeprefix(".")


def _syntax(message: str, raw: bytes) -> str:
    found = _POSITION.search(message)
    if found is None:
        return f"it is not TOML: {message}"
    rest = message[: found.start()]
    if found[1] is None:
        return f"line {raw.count(10) + 1}: {rest} at the end of the file"
    return f"line {found[1]}, column {found[2]}: {rest}"


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _suggestion(key: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, names, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; known are {', '.join(sorted(names))}"
