"""TOML: the parser, and the line of each key, which the parser does not tell."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from types import ModuleType

Path = tuple[str | int, ...]

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_CLOSE = re.compile(r"[ \t]*\]\]?")
_SCALAR = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[^,\]}#\n]+",
    re.DOTALL,
)


def toml() -> ModuleType:
    """Return the TOML parser, loaded when first needed."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def lines_of(text: str) -> dict[Path, int]:
    """Return the first line, counted from 1, of each table, key and array element.

    Args:
        text: TOML that the parser accepted; of other text only what stands before the
            fault is found.

    Returns:
        Lines by path, e.g. ``("rules", 0, "effects")``; the document itself is on line 1.
    """
    scan = _Scan(text)
    with suppress(_Lost, RecursionError):
        scan.document()
    return scan.lines


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """Return the line of a path, or of the nearest table around it."""
    while path not in lines:
        path = path[:-1]
    return lines[path]


class _Lost(Exception):
    """The text is no TOML from here on."""


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._lengths: dict[Path, int] = {}
        self.lines: dict[Path, int] = {(): 1}

    def document(self) -> None:
        table: Path = ()
        while self._skip_gap():
            if self._next("[["):
                table = self._array_header()
            elif self._next("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        path: Path = ()
        for key in self._keys():
            path = self._last(self._mark((*path, key)))
        self._take(_CLOSE)
        return path

    def _array_header(self) -> Path:
        *parents, name = self._keys()
        path: Path = ()
        for key in parents:
            path = self._last(self._mark((*path, key)))
        path = self._mark((*path, name))
        index = self._lengths[path] = self._lengths.get(path, -1) + 1
        path = self._mark((*path, index))
        self._take(_CLOSE)
        return path

    def _last(self, path: Path) -> Path:
        return (*path, self._lengths[path]) if path in self._lengths else path

    def _pair(self, table: Path) -> None:
        path = table
        for key in self._keys():
            path = self._mark((*path, key))
        self._take(_EQUALS)
        self._value(path)

    def _value(self, path: Path) -> None:
        if self._next("["):
            index = 0
            while self._more("]"):
                self._value(self._mark((*path, index)))
                index += 1
        elif self._next("{"):
            while self._more("}"):
                self._pair(path)
        else:
            self._take(_SCALAR)

    def _more(self, closing: str) -> bool:
        self._skip_gap()
        if self._next(","):
            self._skip_gap()
        return not self._next(closing)

    def _keys(self) -> list[str]:
        self._skip_gap()
        keys = [_plain(self._take(_KEY))]
        while found := _DOT.match(self._text, self._at):
            self._at = found.end()
            keys.append(_plain(self._take(_KEY)))
        return keys

    def _mark(self, path: Path) -> Path:
        self.lines.setdefault(path, bisect_right(self._starts, self._at))
        return path

    def _skip_gap(self) -> bool:
        self._take(_GAP)
        return self._at < len(self._text)

    def _next(self, token: str) -> bool:
        found = self._text.startswith(token, self._at)
        self._at += len(token) if found else 0
        return found

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _Lost
        self._at = found.end()
        return found.group()


def _plain(key: str) -> str:
    if "\\" in key:
        return str(toml().loads(f"key = {key}")["key"])
    return key[1:-1] if key[0] in "\"'" else key
