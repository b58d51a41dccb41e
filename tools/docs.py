"""The generated parts of the manual: written from the code, and compared with it.

A page marks each part by a pair of comments; this script (``./dev docs``) writes what belongs
between them, and with ``--check`` names the pages where something else stands.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from docs_names import code, described, entry, prose, signature

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PART = re.compile(r"(<!-- generated: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)

CORE = "holon-core"
# Where hooks are specified: the core's, and those by which lanes let others bring more.
HOOKS = {
    CORE: "holon_core.plugins.hookspecs",
    "holon-plugin-packages": "holon_plugin_packages.hookspecs",
    "holon-workflows": "holon_workflows.hookspecs",
}

# What the public names return or take, by module: listed after them.
RETURNED = {
    "tools": ["Tools"],
    "guard.approvals": ["Approvals"],
    "guard.evidence_read": ["Evidence"],
    "guard.workspaces": ["Workspaces"],
    "plugins.facet": ["Plugins"],
    "records.plugin_state": ["PluginState"],
    "config": ["Config"],
    "functions.decorator": ["ToolOptions"],
    "records.tool": ["RuntimeToolDescriptor", "Limits", "Provenance", "Dependency", "SecretSlot"],
    "records.caller": ["CallerContext"],
    "records.failure": ["StructuredFailure", "BlockingReason"],
    "records.finding": ["Finding"],
    "records.result": ["EvidenceRef"],
    "records.explanation": ["Explanation", "ExplainStep"],
    "records.approval": ["ApprovalRecord", "HeldCall"],
    "records.approval_view": ["ApprovalView", "ViewFlag", "ViewChange", "ShownText"],
    "records.evidence": ["EvidenceRecord", "EvidenceHead", "Verification"],
    "records.workspace": ["Workspace"],
    "records.rule": ["Rule", "Condition"],
    "skills.registry": ["Skills"],
    "records.skill": ["SkillEntry", "PostureApproval"],
    "records.discovery": ["DiscoveryPage", "DiscoveredTool"],
    "catalogue.source_records": ["SourceState"],
    "records.pin": ["Pin"],
    "records.progress": ["Progress"],
    "agents.facet": ["Agents", "Outputs"],
    "structured_output.judging": ["Judgement"],
    "agents.showing": ["ToolList"],
    "agents.profiles": ["Profiles"],
    "agents.sessions": ["Sessions"],
    "records.dialect": ["ProjectedTool", "Rewrite"],
}
OFFERED = {
    "plugins.host": ["PluginHost"],
    "plugins.documents": ["Documents", "StoredDocument"],
    "records.policy": ["Policy"],
    "records.embedder": ["Embedder"],
    "records.sink": ["EvidenceSink", "SinkState"],
    "records.secret": ["SecretProvider"],
    "records.lane": ["CapabilityLane", "LaneExecutor", "SkillSource"],
    "records.operation": ["Operation"],
    "records.outcome": ["ExecutorOutcome", "ExecutorStatus", "ExecutorFailure"],
    "sinks.jsonl": ["JsonLinesSink"],
    "sinks.otel": ["OpenTelemetrySink"],
    "process": ["ProcessSpec", "ProcessOutcome", "ProcessCause"],
}


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


def _specified() -> dict[str, tuple[str, Any]]:
    """Every hook by name: of which distribution it is, and its specification."""
    found = {}
    for distribution, module in HOOKS.items():
        for name, function in vars(importlib.import_module(module)).items():
            if name.startswith("holon_") and inspect.isfunction(function):
                found[name] = distribution, function
    return found


def hook(name: str) -> str:
    """One hook: its signature, and when it is asked."""
    function = _specified()[name][1]
    return f"{code(signature(name, function))}\n\n{described(function.__doc__)}"


def hooks(*, of_lanes: bool | None = None) -> dict[str, str]:
    """Every hook by name, with its first sentence: the core's, those of lanes, or all."""
    return {
        name: (function.__doc__ or "").strip().splitlines()[0]
        for name, (distribution, function) in _specified().items()
        if of_lanes in (None, distribution != CORE)
    }


def hook_list() -> str:
    """The table of the core's hooks."""
    found = hooks(of_lanes=False)
    rows = [f"| [`{name}`]({name}.md) | {prose(first)} |" for name, first in found.items()]
    return "\n".join(["| hook | what it does |\n| --- | --- |", *rows])


def lane_hook_list() -> str:
    """The table of the hooks that lanes specify for others."""
    rows = [
        f"| [`{name}`]({name}.md) | `{_specified()[name][0]}` | {prose(first)} |"
        for name, first in hooks(of_lanes=True).items()
    ]
    return "\n".join(["| hook | of | what it does |\n| --- | --- | --- |", *rows])


def checks() -> str:
    """The checks of the conformance suite, each with the lanes that prove it."""
    sys.path.append(str(ROOT / "tests" / "support"))
    broken = importlib.import_module("broken_lanes").BROKEN
    suite = importlib.import_module("holon_core.testing").CHECKS

    def proof(name: str) -> str:
        return "; ".join((make.__doc__ or "").rstrip(".") for make in broken[name])

    rows = [f"| `{c.name}` | {c.about.rstrip('.')} | {proof(c.name)} |" for c in suite]
    head = "| check | rule | broken lanes on which it fails |\n| --- | --- | --- |"
    return "\n".join([head, *rows])


PARTS: dict[str, Callable[[], str]] = {
    "public names": public_api,
    "returned": lambda: _listed(RETURNED),
    "offered": lambda: _listed(OFFERED),
    "failures": failures,
    "kinds": kinds,
    "findings": findings,
    "settings": settings,
    "hooks": hook_list,
    "hooks of lanes": lane_hook_list,
    "checks": checks,
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


TOCTREE = re.compile(r"```\{toctree\}\n:caption: ([^\n]+)\n(?::[^\n]+\n)*\n(.*?)```", re.DOTALL)
FENCE = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
SHOWN_CHARS = 240
INTRODUCTION = """# Holon

> One governed door for what AI agents, workflows and people may do: a Python library
> (`import holon_core`) with a catalogue of tools, discovery with reasons, strict arguments, policy,
> approvals bound to exact payloads, bounded execution, checked output, and chained evidence.

The manual, page by page. Every Python example in it runs as a test.
"""


def about(path: Path) -> tuple[str, str]:
    """Return the title of a page and its first paragraph, cut at the end of a sentence."""
    title, first = path.stem, ""
    for part in FENCE.sub("", path.read_text(encoding="utf-8")).split("\n\n"):
        if part.startswith("# "):
            title = part.removeprefix("# ").strip()
        elif part[:1] not in ("", "<", "`", "|", "#", ":", "-"):
            first = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(part.split()))
            break
    if len(first) <= SHOWN_CHARS and first.endswith("."):
        return title, first
    whole = first[:SHOWN_CHARS].rpartition(". ")[0]
    return title, f"{whole}." if whole else first.rstrip(":")


def llms() -> str:
    """Write the overview of the manual for models, from its index and its pages."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    parts = [INTRODUCTION]
    for caption, names in TOCTREE.findall(index):
        parts.append(f"## {caption}\n")
        for name in names.split():
            path = DOCS / f"{name}.md"
            below = sorted(path.parent.glob("holon_*.md")) if path.stem == "index" else []
            for each in (path, *below):
                title, first = about(each)
                more = f": {first}" if first else ""
                parts.append(f"- [{title}]({each.relative_to(DOCS).as_posix()}){more}")
        parts.append("")
    return "\n".join(parts)


def wanted() -> dict[Path, str]:
    """Return what every page should hold."""
    from holon_core.operations import reference

    found = {path: renewed(path.read_text(encoding="utf-8")) for path in pages()}
    found[ROOT / reference.PAGE] = reference.page()
    found[DOCS / "llms.txt"] = llms()
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
