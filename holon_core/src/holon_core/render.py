"""Records as small pieces of HTML for notebooks: no script, everything escaped and bounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from holon_core.records.words import ApprovalRequirement
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from holon_core.records.approval import ApprovalRecord, HeldCall
    from holon_core.records.approval_view import ApprovalView, ShownText
    from holon_core.records.discovery import DiscoveryPage
    from holon_core.records.evidence import EvidenceRecord, Verification
    from holon_core.records.explanation import Explanation
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import RuntimeToolDescriptor

MAX_ROWS = 50
MAX_CELL_CHARS = 500
MAX_BLOCK_CHARS = 8_000
_MARK = '"x-holon-secret"'
# Colours of the page around it: a line of its own text colour reads on light and dark alike.
_TABLE = "border-collapse:collapse;font-size:90%"
_CELL = "text-align:left;vertical-align:top;padding:2px 8px;border-bottom:1px solid #8884"
_BLOCK = "margin:4px 0;padding:4px 8px;border-left:3px solid #8888;white-space:pre-wrap"


def text_html(value: object, *, limit: int = MAX_CELL_CHARS) -> str:
    r"""Escape a value's text for HTML.

    Args:
        value: Anything; its ``str`` is taken, None shows nothing.
        limit: Characters kept of it, counted before they are escaped.

    Returns:
        Text without markup, control or invisible characters; line breaks written as ``\n``.
    """
    text = "" if value is None else str(value)
    cut = f"… and {len(text) - limit} characters more" if len(text) > limit else ""
    return escape(escape_unseen(text[:limit])) + cut


def _block(text: str) -> str:
    """A block of text in which line breaks stay."""
    cut = len(text) - MAX_BLOCK_CHARS
    kept = "\n".join(map(escape_unseen, text[:MAX_BLOCK_CHARS].split("\n")))
    more = f"\n… and {cut} characters more" if cut > 0 else ""
    return f'<pre style="{_BLOCK}">{escape(kept)}{more}</pre>'


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _row(cells: Iterable[object], tag: str = "td") -> str:
    made = "".join(f'<{tag} style="{_CELL}">{text_html(cell)}</{tag}>' for cell in cells)
    return f"<tr>{made}</tr>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], *, total: int) -> str:
    body = "".join(map(_row, islice(rows, MAX_ROWS)))
    more = f"<p>and {total - MAX_ROWS} more</p>" if total > MAX_ROWS else ""
    return f'<table style="{_TABLE}">{_row(head, "th")}{body}</table>{more}'


def _pairs(pairs: Iterable[tuple[str, object]]) -> str:
    shown = [_row(pair) for pair in pairs if pair[1] not in (None, "", [], ())]
    return f'<table style="{_TABLE}">{"".join(shown)}</table>'


def _section(title: str, *parts: str) -> str:
    return f"<div><strong>{text_html(title)}</strong>{''.join(parts)}</div>"


def _failure(problem: StructuredFailure) -> str:
    facts = [
        ("kind", problem.kind),
        ("code", problem.code),
        ("message", problem.message),
        *((f"details.{name}", value) for name, value in problem.details.items()),
    ]
    return _pairs(facts[:MAX_ROWS])


def result_html(result: ToolResult) -> str:
    """Show the outcome of a call: its status, output or failure, and what would lift it."""
    facts = _pairs(
        [
            ("call", result.call_id),
            ("held", result.held),
            ("replayed from", result.replayed_from),
            ("self approved", "yes" if result.self_approved else None),
            ("evidence", ", ".join(f"{r.chain}#{r.seq}" for r in result.evidence_refs[:MAX_ROWS])),
        ]
    )
    parts = [facts]
    if result.failure is not None:
        parts.append(_failure(result.failure))
    if result.blocking_reasons:
        rows = [(r.code, r.message, r.next_action) for r in result.blocking_reasons]
        parts.append(_table(("blocked by", "why", "what would lift it"), rows, total=len(rows)))
    if result.output is not None:
        parts.append(_block(_json(result.output)))
    return _section(result.status.value, *parts)


def explanation_html(explanation: Explanation) -> str:
    """Show what each step of a call would say."""
    rows = [(step.step, step.verdict, step.detail) for step in explanation.steps]
    table = _table(("step", "verdict", "detail"), rows, total=len(rows))
    return _section(f"{explanation.tool}: {explanation.outcome}", table)


def discovery_html(page: DiscoveryPage) -> str:
    """Show what was found, best first, and what is in the way of each."""
    rows = (
        (
            item.id,
            item.title or item.description,
            item.availability,
            "; ".join(f"{reason.code}: {reason.next_action}" for reason in item.blocking_reasons),
            f"{item.confidence:.2f}",
        )
        for item in page.items
    )
    head = ("id", "what it does", "availability", "what blocks it", "confidence")
    parts = [_table(head, rows, total=len(page.items))] if page.items else ["<p>nothing</p>"]
    if page.none_fits:
        parts = [f"<p>none fits; the nearest has the confidence {page.best_confidence:.2f}</p>"]
    if page.next_cursor is not None:
        parts.append("<p>more may follow, ask with the cursor</p>")
    return "".join(parts)


def verification_html(found: Verification) -> str:
    """Show what verifying a chain found."""
    head = {None: "none was given", True: "matches", False: "does not match"}
    facts = (
        ("records", found.records),
        ("earlier head", head[found.matches_head]),
        ("first record that does not fit", found.bad_seq),
        ("message", found.message),
    )
    verdict = "consistent" if found.consistent else "not consistent"
    return _section(f"chain {found.chain}: {verdict}", _pairs(facts))


def held_html(view: ApprovalView) -> str:
    """Show the view of a held call: facts, request, payload, difference, flags, then the rest."""
    changes = [(c.path, c.change, c.before, c.after) for c in view.difference]
    flags = [(f.path, f.code.value, f.message, f.shown) for f in view.flags]
    difference = "<p>nothing was approved before</p>"
    if view.compared:
        total = len(changes) + view.more_changes
        difference = _table(("path", "change", "before", "after"), changes, total=total)
    parts = [
        _pairs(_fact(name, value) for name, value in view.facts.items()),
        _shown("Request, as the lane states it", view.request),
        _shown("Payload", view.payload),
        _section("Difference from the last approved", difference),
    ]
    if flags:
        total = len(flags) + view.more_flags
        table = _table(("path", "flag", "what", "where"), flags, total=total)
        parts.append(_section("Flags", table))
    if view.untrusted:
        parts.append(_section("Untrusted: the tool says of itself", _pairs(view.untrusted.items())))
    return _section(f"Held call {view.call_id}", *parts)


def _fact(name: str, value: Any) -> tuple[str, object]:
    if name == "approval_requirement":
        return "the tool itself requires", ApprovalRequirement.told(value)
    return name, _told(value)


def _told(value: Any) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _shown(title: str, shown: ShownText | None) -> str:
    return "" if shown is None else _section(title, _block(shown.text))


def held_call_html(held: HeldCall) -> str:
    """Show a held call alone; the payload only where its tool's schema marks no secret."""
    tool, caller = held.tool, held.caller
    facts = _pairs(
        [
            ("tool", tool.get("id")),
            ("effects", ", ".join(map(str, tool.get("effects") or ()))),
            ("principal", caller.principal),
            ("workspace", caller.workspace),
            ("state", held.state.value),
            ("approval", held.approval_id),
        ]
    )
    marked = _MARK in _json(tool.get("input_schema"))
    names = f"arguments {', '.join(held.arguments)}; values are masked, since the schema marks some"
    payload = _block(names if marked else _json(dict(held.arguments)))
    return _section(f"Held call {held.call_id}", facts, payload)


def approval_html(approval: ApprovalRecord) -> str:
    """Show an approval or a grant."""
    facts: list[tuple[str, object]] = [
        ("tool", approval.tool),
        ("principal", approval.principal),
        ("workspace", approval.workspace),
        ("role", approval.role),
        ("profile", approval.profile),
        ("pattern", "set" if approval.pattern is not None else None),
        ("uses left", approval.uses_left),
        ("requested at", approval.requested_at_unix_seconds),
        ("expires at", approval.expires_at_unix_seconds),
        ("decided by", approval.decided_by),
        ("reason", approval.reason),
        ("self approved", "yes" if approval.self_approved else None),
    ]
    return _section(f"Approval {approval.id}: {approval.state.value}", _pairs(facts))


def tool_html(tool: RuntimeToolDescriptor) -> str:
    """Show one tool with its input schema."""
    facts: list[tuple[str, object]] = [
        ("lane", tool.lane),
        ("version", tool.version),
        ("effects", ", ".join(sorted(effect.value for effect in tool.effects))),
        ("the tool itself requires", ApprovalRequirement.told(tool.approval)),
        ("readiness", tool.readiness.value),
        ("definition", tool.digest),
        ("description", tool.description),
    ]
    return _section(tool.id, _pairs(facts), _block(_json(tool.input_schema)))


def catalogue_html(tools: Iterable[RuntimeToolDescriptor]) -> str:
    """Show tools as a table."""
    given = tuple(tools)
    rows = (
        (
            tool.id,
            tool.side_effect_class.value,
            tool.readiness.value,
            ApprovalRequirement.told(tool.approval),
            tool.description.partition("\n")[0],
        )
        for tool in given
    )
    head = ("tool", "effects", "readiness", "itself requires", "description")
    return _table(head, rows, total=len(given))


def evidence_html(records: Iterable[EvidenceRecord]) -> str:
    """Show evidence records in their order, as a timeline."""
    given = tuple(records)
    rows = (
        (
            f"{record.chain}#{record.seq}",
            record.created_at_unix_seconds,
            _kind(record),
            record.call_id,
            record.preview,
            "" if record.verified is None else ("verified" if record.verified else "does not fit"),
        )
        for record in given
    )
    head = ("record", "at (Unix s)", "kind", "call", "preview", "chain")
    return _table(head, rows, total=len(given))


def _kind(record: EvidenceRecord) -> str:
    """Name what a record is of, and mark what somebody decided about an own call."""
    own = record.body.get("self_approved") is True
    return f"{record.kind} (self-approved)" if own else record.kind


def listing_html(items: Sequence[Any]) -> str:
    """Show records of one kind: tools and evidence as tables, others one below the other."""
    from holon_core.records.evidence import EvidenceRecord
    from holon_core.records.tool import RuntimeToolDescriptor

    tables: Mapping[type, Callable[[Any], str]] = {
        EvidenceRecord: evidence_html,
        RuntimeToolDescriptor: catalogue_html,
    }
    kinds = {type(item) for item in items}
    table = tables.get(kinds.pop()) if len(kinds) == 1 else None
    if table is not None:
        return table(items)
    shown = [_item(item) for item in islice(items, MAX_ROWS)]
    more = f"<p>and {len(items) - MAX_ROWS} more</p>" if len(items) > MAX_ROWS else ""
    return ("".join(shown) or "<p>nothing</p>") + more


def _item(item: Any) -> str:
    made = getattr(type(item), "_repr_html_", None)
    return made(item) if made is not None else f"<p>{text_html(item)}</p>"
