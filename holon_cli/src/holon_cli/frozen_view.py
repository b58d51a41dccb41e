"""Frozen tools as people read them: where one stands, what proves it, what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from holon_cli.people import show_facts
from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

Answer = Mapping[str, Any]
# What the record of a frozen tool has and no other answer.
RECORD = frozenset({"definition", "digest", "moves", "provenance", "proposed_by", "state"})
NEXT = {
    "proposed": "holon frozen-tool validate {id}",
    "candidate": "holon frozen-tool validate {id}",
    "validated": "holon frozen-tool promote {id}",
    "frozen": "holon frozen-tool promote {id}",
    "active": "holon tool call {id}",
    "blocked": "holon frozen-tool unblock {id} --reason TEXT",
}


# A kind whose program is built and tested before its fixtures can run.
NEXT_OF_KIND = {
    "rust-code-tool": {
        "proposed": "holon rust-code-tool build {workspace} {id}, then test and review",
    }
}


def is_record(value: Any) -> bool:
    """Tell whether an answer, or a part of one, is the record of a frozen tool."""
    return isinstance(value, Mapping) and value.keys() >= RECORD


def show_record(record: Answer, out: Console, notes: Console, *, next_step: bool = True) -> None:
    """Show a record; its moves, evidence and schemas are in the answer for programs."""
    definition = record["definition"]
    show_facts(
        out,
        {
            "id": record["id"],
            "state": record["state"],
            "blocked_reason": record["blocked_reason"],
            "purpose": definition["purpose"],
            "kind": definition["kind"],
            "effects": definition["policy"]["effects"],
            "digest": record["digest"],
            "replaces": record["replaces"],
            "proposed_by": record["proposed_by"],
            "created_at_unix_seconds": record["created_at_unix_seconds"],
            "derived_schemas": definition["derived"],
            "origins": len(record["provenance"]),
        },
    )
    _show_fixtures(record, out)
    for move in record["moves"][-1:]:
        if move["approved_by"]:
            show_facts(out, {"approved_by": move["approved_by"]})
    following = {**NEXT, **NEXT_OF_KIND.get(definition["kind"], {})}
    if next_step and record["state"] in following:
        step = following[record["state"]].format(
            id=escape_controls(record["id"]), workspace=escape_controls(record["workspace"])
        )
        notes.print(Text(f"next: {step}; --json shows all of it", "dim"))


def _show_fixtures(record: Answer, out: Console) -> None:
    run = record["validation"]
    if run is None:
        show_facts(out, {"fixtures": f"{len(record['definition']['fixtures'])}, not run yet"})
        return
    passed = sum(each["passed"] for each in run["fixtures"])
    stale = "" if run["digest"] == record["digest"] else ", of what it was made of before"
    told = f"{passed} of {len(run['fixtures'])} passed{stale}"
    show_facts(out, {"fixtures": told, "run_at_unix_seconds": run["at_unix_seconds"]})
    for each in run["fixtures"]:
        if not each["passed"]:
            text = f"  {each['name']}: {each['why']} (call {each['call_id']})"
            out.print(Text(escape_controls(text), "red"))
