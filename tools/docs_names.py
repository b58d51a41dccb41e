"""One public name as the manual shows it: signature, fields, members, docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import attrs

SECTION = re.compile(r"(Args|Returns|Raises|Yields|Source):(?: (.*))?")
DESIGN = re.compile(r" \(design, [^)]*\)")
ENTRY = re.compile(r" {4}(\*{0,2}[\w.]+): (.*)")
MADE_BY_HOLON = {
    *("Runtime", "Session", "SealedCall", "Tools", "Approvals", "Evidence", "Workspaces"),
    "Plugins",
}
STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def joined(text: str) -> str:
    """Write a paragraph on one line, with the code marks of Markdown."""
    # Where a rule comes from is for readers of the code.
    return DESIGN.sub("", " ".join(text.split())).replace("``", "`")


def prose(text: str) -> str:
    """Write paragraphs as Markdown."""
    return "\n\n".join(joined(part) for part in re.split(r"\n\s*\n", text.strip()))


def sections(doc: str) -> Iterator[tuple[str, str]]:
    """Split a docstring into its prose, named by an empty text, and its sections."""
    name, lines = "", []
    for line in inspect.cleandoc(doc).splitlines():
        header = SECTION.fullmatch(line)
        if header is None:
            lines.append(line)
            continue
        yield name, "\n".join(lines)
        name, lines = header[1], [header[2] or ""]
    yield name, "\n".join(lines)


def entries(text: str) -> str:
    """Write the entries of a section as a list."""
    found: list[list[str]] = []
    for line in text.splitlines():
        start = ENTRY.fullmatch(line)
        if start is not None:
            found.append([f"- `{start[1]}`: {start[2]}"])
        elif line.strip() and found:
            found[-1].append(line.strip())
    return "\n".join(joined(" ".join(lines)) for lines in found)


def described(doc: str | None) -> str:
    """Write a docstring as Markdown."""
    parts = []
    for name, text in sections(doc or ""):
        if name == "Source" or not text.strip():
            continue
        listed = entries(text) if name in ("Args", "Raises") else ""
        body = listed or prose(text)
        if not name:
            parts.append(body)
        else:
            parts.append(f"{name}:\n\n{body}" if listed else f"{name}: {body}")
    return "\n\n".join(parts)


def shown(value: Any) -> str:
    """Write a default, the same on every version of Python."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(shown, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(shown, value))) + "}"
    if isinstance(value, Mapping):
        return "{…}" if value else "{}"
    if attrs.has(type(value)):
        return f"{type(value).__name__}(…)"
    return f"{value:,}".replace(",", "_") if type(value) is int else repr(value)


def annotation(hint: Any) -> str:
    """Write a type hint as its author did."""
    hint = getattr(hint, "__forward_arg__", hint)
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)


def parameter(given: inspect.Parameter) -> str:
    """Write one parameter."""
    stars = STARS.get(given.kind, "")
    text = f"{stars}{given.name}"
    if given.annotation is not given.empty:
        text += f": {annotation(given.annotation)}"
    if given.default is not given.empty:
        text += f" = {shown(given.default)}"
    return text


def signature(name: str, function: Any) -> str:
    """Write a signature, on several lines where it is long."""
    found = inspect.signature(function)
    parts: list[str] = []
    before = None
    for each in found.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and before not in (
            each.KEYWORD_ONLY,
            each.VAR_POSITIONAL,
        ):
            parts.append("*")
        if before is each.POSITIONAL_ONLY and each.kind is not before:
            parts.append("/")
        parts.append(parameter(each))
        before = each.kind
    if before is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    end = (
        ""
        if found.return_annotation is found.empty
        else f" -> {annotation(found.return_annotation)}"
    )
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= 90:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def code(text: str) -> str:
    """Fence a signature; it is no program, so no example runs it."""
    return f"```text\n{text}\n```"


def hints(cls: type) -> dict[str, Any]:
    """Return the annotations of a class as they are written."""
    # Not from attrs: a converter resolves what it keeps when it first meets a class.
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        found.update(vars(each).get("__annotations__", {}))
    return found


def fields(cls: type) -> str:
    """List the fields of a record."""
    lines = []
    written = hints(cls)
    for field in attrs.fields(cls):
        factory = isinstance(field.default, attrs.Factory)  # type: ignore[arg-type]
        default = "…" if factory else shown(field.default)
        end = "" if field.default is attrs.NOTHING else f", by default `{default}`"
        lines.append(f"- `{field.name}: {annotation(written[field.name])}`{end}")
    return "\n".join(lines)


def members(cls: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a class: a signature and a description each."""
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            hint = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
            yield f"{cls.__name__}.{name}: {annotation(hint)}", described(member.__doc__)
            continue
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            start = "async " if inspect.iscoroutinefunction(function) else ""
            full = f"{cls.__name__}.{name}"
            yield start + signature(full, function), described(function.__doc__)


def entry(name: str, thing: Any) -> str:
    """Write all about one public name."""
    parts = [f"### {name}"]
    if isinstance(thing, type) and issubclass(thing, Enum):
        words = ", ".join(f"`{word.value}`" for word in thing)
        return "\n\n".join([*parts, described(thing.__doc__), f"Words: {words}."])
    if not isinstance(thing, type):
        made = signature(name, thing) if callable(thing) and inspect.isfunction(thing) else name
        return "\n\n".join([*parts, code(made), described(thing.__doc__)])
    if attrs.has(thing) and not issubclass(thing, BaseException):
        parts += [described(thing.__doc__), fields(thing)]
    elif "__init__" in vars(thing) and name not in MADE_BY_HOLON:
        parts += [code(signature(name, vars(thing)["__init__"])), described(thing.__doc__)]
    else:
        parts.append(described(thing.__doc__))
        if issubclass(thing, tuple):
            written = hints(thing).items()
            parts.append("\n".join(f"- `{name}: {annotation(hint)}`" for name, hint in written))
    for text, about in members(thing):
        parts += [code(text), about]
    return "\n\n".join(part for part in parts if part)
