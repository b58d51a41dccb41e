"""What a docstring says: its prose, and each parameter's line (Google, NumPy, reST)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import field, frozen


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


_PARAMETERS = _words(
    "args, arguments, parameters, params, attributes, keyword args, keyword arguments,"
    " other parameters, other arguments"
)
_OTHERS = _words(
    "returns, return, yields, yield, receives, raises, raise, exceptions, warns, warnings,"
    " warning, note, notes, example, examples, references, todo, todos, caution, danger, hint,"
    " important, tip, methods, see also, usage, source, sources"
)
_HEADER = re.compile(r"([A-Za-z][A-Za-z ]*):")
_UNDERLINE = re.compile(r"-{3,}|={3,}")
_GOOGLE = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\(.*?\)\s*)?:(?:\s+(.*)|)")
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_FIELD = re.compile(r":([a-z]+)(?:\s+([^:]*))?:(?:\s+(.*)|)")
_FIELD_PARAMETERS = _words("param, parameter, arg, argument, key, keyword, ivar, cvar, var")
_FIELD_OTHERS = _words("return, returns, rtype, raise, raises, except, exception, type, yields")


@frozen
class Docstring:
    """The prose before the first section, and what is said of each parameter."""

    description: str = ""
    parameters: dict[str, str] = field(factory=dict)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _clean(text: str) -> list[str]:
    """Do what ``inspect.cleandoc`` does, without importing ``inspect``."""
    first, *rest = text.expandtabs().split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=0)
    lines = [first.strip(), *(line[margin:].rstrip() for line in rest)]
    start = next((at for at, line in enumerate(lines) if line), len(lines))
    return lines[start:]


def _section(lines: Sequence[str], at: int) -> tuple[str, int] | None:
    """Read a section's header: its title in lower case, and the lines it takes."""
    line = lines[at].strip()
    if at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1].strip()):
        title = line.lower()
        return (title, 2) if title in _PARAMETERS or title in _OTHERS else None
    found = _HEADER.fullmatch(line)
    title = found.group(1).lower() if found else ""
    return (title, 1) if title in _PARAMETERS or title in _OTHERS else None


def _field_of(line: str) -> re.Match[str] | None:
    found = _FIELD.match(line)
    words = _FIELD_PARAMETERS | _FIELD_OTHERS
    return found if found and found.group(1) in words else None


def _body(lines: Sequence[str], at: int, *, numpy: bool) -> list[str]:
    """Take a section's lines, up to the next header or, in Google's style, less indentation."""
    body: list[str] = []
    for index in range(at, len(lines)):
        line = lines[index]
        outside = line and not line[0].isspace()
        if outside and (not numpy or _section(lines, index) or _field_of(line)):
            break
        body.append(line)
    return body


def _names(text: str) -> list[str]:
    return [name.strip().lstrip("*") for name in text.split(",")]


def _entries(
    body: Sequence[str], pattern: re.Pattern[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the names and the lines of each entry of a section."""
    base = min((_indent(line) for line in body if line), default=0)
    names: list[str] = []
    said: list[str] = []
    for line in body:
        found = pattern.fullmatch(line.strip()) if line and _indent(line) == base else None
        if found is None:
            said.append(line)
            continue
        yield names, said
        names = _names(found.group(1))
        said = [found.group(2) or ""] if pattern.groups > 1 else []
    yield names, said


def _joined(lines: Sequence[str]) -> str:
    return " ".join(word for line in lines for word in line.split())


def _fields(lines: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the names and the lines of each reST field that describes a parameter."""
    names: list[str] = []
    said: list[str] = []
    for line in lines:
        found = _field_of(line)
        if found is None:
            if line and not line[0].isspace():
                yield names, said
                names, said = [], []
            said.append(line)
            continue
        yield names, said
        word, about = found.group(1), (found.group(2) or "").split()
        names = about[-1:] if word in _FIELD_PARAMETERS else []
        said = [found.group(3) or ""]
    yield names, said


def _first_section(lines: Sequence[str]) -> int:
    for at, line in enumerate(lines):
        if line and not line[0].isspace() and (_section(lines, at) or _field_of(line)):
            return at
    return len(lines)


def _collect(lines: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    at = _first_section(lines)
    yield from _fields(lines[at:])
    while at < len(lines):
        header = _section(lines, at) if lines[at] and not lines[at][0].isspace() else None
        if header is None:
            at += 1
            continue
        title, size = header
        body = _body(lines, at + size, numpy=size == 2)
        if title in _PARAMETERS:
            yield from _entries(body, _NUMPY if size == 2 else _GOOGLE)
        at += size + len(body)


def parse_docstring(text: str | None) -> Docstring:
    """Read a docstring, in whichever of the three styles it is written.

    Args:
        text: The docstring as the source has it; None or empty says nothing.

    Returns:
        The summary and the prose up to the first section, as they are written, and each
        parameter's description on one line.
    """
    if not text:
        return Docstring()
    lines = _clean(text)
    said = {
        name: joined
        for names, entry in _collect(lines)
        for name in names
        if (joined := _joined(entry))
    }
    return Docstring("\n".join(lines[: _first_section(lines)]).strip(), said)
