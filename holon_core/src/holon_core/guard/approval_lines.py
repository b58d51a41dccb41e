"""The view of a held call as lines of text, each safe for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holon_core.records.approval_view import (
    ApprovalView,
    FlagCode,
    ShownText,
    ViewChange,
    ViewFlag,
)
from holon_core.records.words import ApprovalRequirement
from holon_core.visible import escape_controls

# Beside a call that waits, "approval: none" would read as if none were needed.
OWN_REQUIREMENT = "the tool itself requires"


def lines(view: ApprovalView) -> list[tuple[str, str]]:
    """Write a view as lines of text: pairs of section and line, facts first.

    Returns:
        The sections ``facts``, ``request``, ``payload``, ``difference``, ``flags`` and
        ``untrusted`` in this order; no line holds a control character or line break.
    """
    made = [
        *(("facts", f"{name}: {_told(value)}") for name, value in _stated(view)),
        *(("request", line) for line in _of_text(view.request)),
        *(("payload", line) for line in _of_text(view.payload)),
        *(("difference", line) for line in _of_changes(view)),
        *(("flags", _of_flag(flag)) for flag in view.flags),
        *([("flags", f"and {view.more_flags} more")] if view.more_flags else []),
        *(
            ("untrusted", f"{name}: {line}")
            for name, text in view.untrusted.items()
            for line in text.split("\n")
        ),
    ]
    return [(section, escape_controls(line)) for section, line in made]


def _stated(view: ApprovalView) -> Iterator[tuple[str, Any]]:
    yield "call", view.call_id
    yield "approval", view.approval_id
    for name, value in view.facts.items():
        if name == "approval_requirement":
            yield OWN_REQUIREMENT, ApprovalRequirement.told(value)
        elif value not in (None, []):
            yield name, value


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _of_text(shown: ShownText | None) -> list[str]:
    return [] if shown is None else shown.text.split("\n")


def _of_changes(view: ApprovalView) -> Iterator[str]:
    if not view.compared:
        yield "no call of this tool was approved in this workspace before"
    elif not view.difference:
        yield "the same as the last approved arguments"
    yield from map(_of_change, view.difference)
    if view.more_changes:
        yield f"and {view.more_changes} more"


def _of_change(change: ViewChange) -> str:
    if change.change == "changed":
        return f"{change.path} changed: {change.before} -> {change.after}"
    value = change.after if change.change == "added" else change.before
    return f"{change.path} {change.change}: {value}"


def _of_flag(flag: ViewFlag) -> str:
    code = flag.code.value.replace("_", " ")
    where = f" in {flag.shown}" if flag.shown else ""
    quiet = flag.code is FlagCode.VERY_LONG
    return (
        f"{flag.path}: {flag.message}" if quiet else f"{flag.path}: {code}: {flag.message}{where}"
    )
