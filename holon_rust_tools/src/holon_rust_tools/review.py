"""The review page of a tool: everything that somebody decides by, as data and as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from holon_core import FrozenState, FrozenToolRecord
from holon_core.operations.answers import to_json
from holon_core.visible import escape_unseen
from holon_rust_tools.catalogue import closure
from holon_rust_tools.proposal import KIND

if TYPE_CHECKING:
    from holon_core.frozen.facet import FrozenTools
    from holon_rust_tools.kind import RustCodeTools

MAX_VERSIONS = 1000


def review_of(frozen: FrozenTools, record: FrozenToolRecord, lane: RustCodeTools) -> dict[str, Any]:
    """Gather what a reviewer looks at."""
    definition = record.definition
    asked = [each["name"] for each in definition.content["dependencies"]]
    needed = closure(lane.settings.catalogue, asked)
    before = _compared_with(frozen, record)
    return {
        "artifact": to_json(lane.artifacts.record(frozen.tool(record.id))),
        "purpose": definition.purpose,
        "policy": {
            **to_json(definition.policy),
            "secrets": [each.name for each in definition.secret_slots],
            "fallback": definition.fallback.kind.value,
        },
        "sources": [
            {
                "path": each.path,
                "sha256": each.sha256,
                "size_bytes": each.size_bytes,
                "text": frozen.file(each.sha256).decode("utf-8", "replace"),
            }
            for each in definition.files
        ],
        "dependencies": [
            {
                "name": each.name,
                "version": each.version,
                "checksum": each.checksum,
                "asked_for": each.name in asked,
            }
            for each in sorted(needed.values(), key=lambda crate: crate.name)
        ],
        "findings": to_json(frozen.findings(record.id)),
        "fixtures": to_json(definition.fixtures),
        "lifecycle": to_json(record.moves),
        "compared_with": before,
        "changes": [] if before is None else list(frozen.diff(before, record.id)),
    }


def _compared_with(frozen: FrozenTools, record: FrozenToolRecord) -> str | None:
    """Return the version in use; the one before where none is."""
    versions = frozen.list(workspace=record.workspace, kind=KIND, limit=MAX_VERSIONS)
    active = [
        each.id
        for each in versions
        if each.name == record.name and each.state is FrozenState.ACTIVE and each.id != record.id
    ]
    return active[0] if active else record.replaces or None


_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.25rem .5rem;"
    "text-align:left;vertical-align:top;overflow-wrap:anywhere}pre{background:#f6f6f6;"
    "padding:.75rem;overflow:auto}.ready{color:#176b1f}.failed{color:#a11}.pending{color:#875a00}"
)


_POLICY = (
    "<meta http-equiv='Content-Security-Policy' "
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


def html_page(review: Mapping[str, Any]) -> str:
    """Write a review as one HTML page: no script, nothing fetched, every text escaped."""
    artifact = review["artifact"]
    title = f"{artifact['tool_name']} {artifact['version']}"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        _POLICY,
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1><p>{_text(review['purpose'])}</p>",
        _statuses(artifact),
        _section("What it may do", _facts(review["policy"])),
        _section("Findings", _table(review["findings"], ("code", "path", "message"))),
        _section(_compared(review), _changes(review)),
        _section(
            "Dependencies",
            _table(review["dependencies"], ("name", "version", "asked_for", "checksum")),
        ),
        _section("Fixtures", _table(review["fixtures"], ("name", "input", "expect"))),
        _section("Sources", "".join(map(_source, review["sources"]))),
        _section(
            "Lifecycle",
            _table(
                review["lifecycle"],
                ("source", "target", "by", "reason", "approved_by", "at_unix_seconds"),
            ),
        ),
        _section("Artifact and last evidence", _facts(artifact)),
        "</body></html>\n",
    ]
    return "".join(parts)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, indent=1)
    shown = "\n".join(map(escape_unseen, value.replace("\t", "    ").split("\n")))
    return escape(shown, quote=True)


def _section(title: str, body: str) -> str:
    return f"<h2>{_text(title)}</h2>{body}"


def _statuses(artifact: Mapping[str, Any]) -> str:
    cells = "".join(
        f"<td class='{_text(artifact[name])}'>{_text(name)}: {_text(artifact[name])}</td>"
        for name in ("build_status", "test_status", "fixture_status")
    )
    lacks = "".join(f"<li>{_text(each)}</li>" for each in artifact["lacks"])
    return (
        f"<table><tr><td>state: {_text(artifact['state'])}</td>{cells}</tr></table><ul>{lacks}</ul>"
    )


def _facts(facts: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><th>{_text(name)}</th><td><pre>{_text(value)}</pre></td></tr>"
        for name, value in facts.items()
    )
    return f"<table>{rows}</table>"


def _table(rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(row.get(name))}</td>" for name in columns) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>" if body else "<p>none</p>"


def _compared(review: Mapping[str, Any]) -> str:
    return "Difference from " + (review["compared_with"] or "no version before")


def _changes(review: Mapping[str, Any]) -> str:
    return _table(review["changes"], ("path", "before", "after"))


def _source(source: Mapping[str, Any]) -> str:
    lines = source["text"].split("\n")
    numbered = "\n".join(f"{number:4}  {line}" for number, line in enumerate(lines, 1))
    title = f"{source['path']} ({source['size_bytes']} bytes, {source['sha256']})"
    return f"<h3>{_text(title)}</h3><pre>{_text(numbered)}</pre>"
