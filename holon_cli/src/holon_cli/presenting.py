"""How the answer of each operation is shown to a person."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from holon_cli.advice import at_the_prompt
from holon_cli.exits import RESULT, result_of
from holon_cli.frozen_view import is_record, show_record
from holon_cli.people import show_facts, show_json, show_table, styled
from holon_core.records.words import ApprovalRequirement
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from rich.console import Console

    from holon_core.records.operation import Operation

Answer = Mapping[str, Any]
TOOLS = "runtime-tool/list"
OWN = "itself_requires"
LABELS = {(TOOLS, "approval"): OWN}


def present(row: Operation, answer: Answer, *, out: Console, notes: Console) -> None:
    """Show an answer: what was asked for on ``out``, what is about it on ``notes``."""
    result = result_of(answer)
    if answer.keys() == {"definition"}:
        # A document, which is read again as it stands.
        out.print(Text(json.dumps(answer["definition"], indent=2)))
    elif answer.keys() >= RESULT:
        present_result(answer, out=out, notes=notes)
    elif is_record(answer):
        show_record(answer, out, notes)
    elif is_record(answer.get("proposal")):
        show_record(answer["proposal"], out, notes, next_step=result is answer)
        _present_around(answer, out=out, notes=notes)
    elif row.method == "execution-approval/read":
        _present_approval(answer, out)
    elif row.listing is not None:
        _present_listing(row, answer, out=out, notes=notes)
    else:
        show_facts(out, answer)


def _present_around(answer: Answer, *, out: Console, notes: Console) -> None:
    """Show what is told with the record of a frozen tool: findings, its graph, a call's result."""
    for finding in answer.get("findings", ()):
        notes.print(Text(f"  {_finding(finding)}"))
    show_facts(out, {"graph": answer.get("graph")})
    if result_of(answer) is not answer:
        present_result(answer["result"], out=out, notes=notes)


def _finding(finding: Answer) -> str:
    place = finding["path"] or "/"
    return escape_unseen(
        f"{finding['severity']} {finding['code']} at {place}: {finding['message']}"
    )


def present_result(result: Answer, *, out: Console, notes: Console) -> None:
    """Show the outcome of a call: its output on ``out``, status and what next on ``notes``."""
    if result["output"] is not None:
        show_json(out, result["output"])
    evidence = ", ".join(f"{ref['chain']}#{ref['seq']}" for ref in result["evidence_refs"])
    line = styled(result["status"])
    line.append(f"  call {result['call_id']}", "dim")
    if evidence:
        line.append(f"  evidence {escape_unseen(evidence)}", "dim")
    if result["replayed_from"]:
        line.append(f"  replayed from {result['replayed_from']}", "dim")
    if result["self_approved"]:
        line.append("  self approved", "dim")
    notes.print(line)
    for reason in _told(result):
        present_failure(reason, notes)
    if result["held"]:
        held = result["held"]
        notes.print(Text(f"held as {held}; once a person approves it, it can be released:"))
        notes.print(Text(f"  holon approval approve {held} --reason TEXT"))
        notes.print(Text(f"  holon tool release {held}"))


def _told(result: Answer) -> list[Any]:
    """Return what stood in the way: the finer reasons, where they say more than the failure."""
    failure, reasons = result["failure"], list(result["blocking_reasons"])
    if failure is None or any(reason["code"] != failure["code"] for reason in reasons):
        return reasons
    return [failure]


def present_failure(problem: Answer, notes: Console) -> None:
    """Show why something did not complete, and what would lift it."""
    notes.print(Text(f"{problem['code']}: {escape_unseen(problem['message'])}"))
    errors = (problem.get("details") or {}).get("errors", ())
    for error in errors if len(errors) > 1 else ():
        place = escape_unseen(error["path"] or "/")
        notes.print(Text(f"  at {place}: {escape_unseen(error['message'])}"))
    notes.print(Text(f"next: {at_the_prompt(problem['next_action'])}", "dim"))


def present_findings(subject: str, findings: Any, notes: Console) -> None:
    """Show everything that a rejection found."""
    notes.print(Text(f"{escape_unseen(subject)} rejected:"))
    for finding in findings:
        notes.print(Text(f"  {_finding(finding)}"))


def _present_listing(row: Operation, answer: Answer, *, out: Console, notes: Console) -> None:
    listing = row.listing
    assert listing is not None
    further = [key for key in answer if key.startswith("next_")]
    show_facts(out, {k: v for k, v in answer.items() if k not in (listing, *further)})
    items = answer[listing]
    if items:
        columns = [LABELS.get((row.method, column), column) for column in row.columns]
        show_table(out, columns, map(_labelled, items) if row.method == TOOLS else items)
    else:
        notes.print(Text(f"no {listing}", "dim"))
    for key in further:
        if answer[key] is not None:
            option = key.removeprefix("next_")
            notes.print(Text(f"more: --{option} {escape_unseen(str(answer[key]))}", "dim"))


def _present_approval(answer: Answer, out: Console) -> None:
    from holon_core.records.approval_view import ApprovalView
    from holon_core.wire.converter import structure

    show_facts(out, answer["approval"])
    for held in answer["held"]:
        out.print(Text(f"call {held['call_id']} ") + styled(held["state"]))
    if answer["view"] is not None:
        show_view(structure(answer["view"], ApprovalView), out)


def _labelled(tool: Answer) -> Answer:
    """Say of a tool what it requires itself: whether a call needs an approval, policy says."""
    return {**tool, OWN: ApprovalRequirement.told(tool["approval"])}


SECTIONS = {
    "facts": "What Holon states",
    "request": "Request, as the lane's dry run gives it",
    "payload": "Payload: exactly what runs",
    "difference": "Difference from the last approved",
    "flags": "Flags",
    "untrusted": "Untrusted: what the tool says of itself",
}
_TITLES = {"flags": "bold red", "untrusted": "bold dim"}


def show_view(view: Any, out: Console) -> None:
    """Show what a person decides by: facts before anything that others wrote."""
    from holon_core.guard.approval_lines import lines

    shown = ""
    for section, line in lines(view):
        if section != shown:
            shown = section
            out.print(Text(SECTIONS[section], _TITLES.get(section, "bold")))
        out.print(Text(f"  {line}", "red" if section == "flags" else ""))
