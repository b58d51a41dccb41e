"""The generated parts of the manual: written from the code, and compared with it.

A page marks each part by a pair of comments; this script (``./dev docs``) writes what belongs
between them, and with ``--check`` names the pages where something else stands.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PART = re.compile(r"(<!-- generated: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
SECTION = re.compile(r"(Args|Returns|Raises|Yields|Source):(?: (.*))?")
DESIGN = re.compile(r" \(design, [^)]*\)")
ENTRY = re.compile(r" {4}(\*{0,2}[\w.]+): (.*)")

MADE_BY_HOLON = {
    *("Runtime", "Session", "SealedCall", "Tools", "Approvals", "Evidence", "Workspaces"),
    "Plugins",
}
# What the public names return or take, by module: listed after them.
RETURNED = {
    "tools": ["Tools"],
    "guard.approvals": ["Approvals"],
    "guard.evidence_read": ["Evidence"],
    "guard.workspaces": ["Workspaces"],
    "plugins.facet": ["Plugins", "PluginState"],
    "config": ["Config"],
    "functions.decorator": ["ToolOptions"],
    "records.tool": ["RuntimeToolDescriptor", "Limits", "Provenance", "Dependency", "SecretSlot"],
    "records.caller": ["CallerContext"],
    "records.failure": ["StructuredFailure", "BlockingReason"],
    "records.finding": ["Finding"],
    "records.result": ["EvidenceRef", "Explanation", "ExplainStep"],
    "records.approval": ["ApprovalRecord", "HeldCall"],
    "records.approval_view": ["ApprovalView", "ViewFlag", "ViewChange", "ShownText"],
    "records.evidence": ["EvidenceRecord", "EvidenceHead", "Verification"],
    "records.workspace": ["Workspace"],
    "records.rule": ["Rule", "Condition"],
    "records.discovery": ["DiscoveryPage", "DiscoveredTool"],
    "catalogue.sources": ["SourceState"],
    "catalogue.pins": ["Pin"],
    "guard.services": ["Progress"],
}
OFFERED = {
    "plugins.host": ["PluginHost"],
    "plugins.documents": ["Documents", "StoredDocument"],
    "records.policy": ["Policy"],
    "records.sink": ["EvidenceSink", "SinkState"],
    "records.secret": ["SecretProvider"],
    "records.lane": ["CapabilityLane", "LaneExecutor", "SkillSource"],
    "records.skill": ["SkillSourceDescriptor", "SkillSourceKind"],
    "records.operation": ["Operation"],
    "records.outcome": ["ExecutorOutcome", "ExecutorStatus", "ExecutorFailure"],
    "sinks.jsonl": ["JsonLinesSink"],
    "sinks.otel": ["OpenTelemetrySink"],
    "process": ["ProcessSpec", "ProcessOutcome", "ProcessCause"],
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


def public_api() -> str:
    """Every name of ``holon_core.__all__``."""
    core = importlib.import_module("holon_core")
    return "\n\n".join(entry(name, getattr(core, name)) for name in core.__all__)


def _listed(homes: Mapping[str, list[str]]) -> str:
    parts = []
    for module, names in homes.items():
        home = importlib.import_module(f"holon_core.{module}")
        parts += [entry(name, getattr(home, name)) for name in names]
    return "\n\n".join(parts)


def failures() -> str:
    """The failure table."""
    from holon_core.errors import FAILURES

    rows = [
        f"| `{key}` | `{kind.value}` | {status.value} | {meaning} | {action} |"
        for key, (kind, status, meaning, action) in FAILURES.items()
    ]
    head = "| code | kind | status | what it means | what to do |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def kinds() -> str:
    """The kinds of failure, each with its codes."""
    from holon_core.errors import FAILURES, StructuredFailureKind

    codes: dict[str, list[str]] = {kind.value: [] for kind in StructuredFailureKind}
    for key, row in FAILURES.items():
        codes[row[0].value].append(f"`{key}`")
    rows = [f"| `{kind}` | {', '.join(names)} |" for kind, names in codes.items()]
    return "\n".join(["| kind | codes |\n| --- | --- |", *rows])


def findings() -> str:
    """The codes of findings."""
    from holon_core.errors import FINDINGS

    rows = [f"| `{key}` | {meaning} |" for key, meaning in FINDINGS.items()]
    return "\n".join(["| code | what it means |\n| --- | --- |", *rows])


def settings() -> str:
    """The table of settings."""
    from holon_core.config.settings import SETTINGS

    rows = []
    for each in SETTINGS:
        default = "none" if each.default in (None, (), {}) else f"`{_plain(each.default)}`"
        env = f"`{each.env}`" if each.env else ""
        places = "joined" if each.joined else "first"
        rows.append(f"| `{each.key}` | {default} | {env} | {places} |")
    head = "| key | default | variable | of several places |\n| --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def _plain(value: Any) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


def hook(name: str) -> str:
    """One hook: its signature, and when it is asked."""
    from holon_core.plugins import hookspecs

    function = getattr(hookspecs, name)
    return f"{code(signature(name, function))}\n\n{described(function.__doc__)}"


def hooks() -> dict[str, str]:
    """Every hook by name, with its first sentence."""
    from holon_core.plugins import hookspecs

    return {
        name: (function.__doc__ or "").strip().splitlines()[0]
        for name, function in vars(hookspecs).items()
        if name.startswith("holon_") and inspect.isfunction(function)
    }


def hook_list() -> str:
    """The table of hooks."""
    rows = [f"| [`{name}`]({name}.md) | {prose(first)} |" for name, first in hooks().items()]
    return "\n".join(["| hook | what it does |\n| --- | --- |", *rows])


PARTS: dict[str, Callable[[], str]] = {
    "public names": public_api,
    "returned": lambda: _listed(RETURNED),
    "offered": lambda: _listed(OFFERED),
    "failures": failures,
    "kinds": kinds,
    "findings": findings,
    "settings": settings,
    "hooks": hook_list,
}


def part(name: str) -> str:
    """Make one part: of the table, or ``hook NAME``."""
    kind, _, rest = name.partition(" ")
    return hook(rest) if kind == "hook" else PARTS[name]()


def renewed(text: str) -> str:
    """Return a page with every generated part as the code has it now."""
    return PART.sub(lambda found: f"{found[1]}\n{part(found[2])}\n\n{found[3]}", text)


def pages() -> list[Path]:
    """Return the pages of the manual."""
    return sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)


def wanted() -> dict[Path, str]:
    """Return what every page should hold."""
    from holon_core.operations import reference

    found = {path: renewed(path.read_text(encoding="utf-8")) for path in pages()}
    found[ROOT / reference.PAGE] = reference.page()
    return found


def outdated() -> list[Path]:
    """Return the pages that are not as the code has them."""
    return [
        path
        for path, text in wanted().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: list[str]) -> int:
    """Write the generated parts, or with ``--check`` only compare them."""
    changed = outdated()
    if "--check" in arguments:
        for path in changed:
            print(f"{path.relative_to(ROOT)} is not what the code says; run ./dev docs")
        return 1 if changed else 0
    texts = wanted()
    for path in changed:
        path.write_text(texts[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
