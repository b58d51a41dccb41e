"""Operations on script artifacts: judged, tried, proposed, listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holon_core import (
    Authority,
    Effect,
    Finding,
    FrozenToolRecord,
    Operation,
    Refused,
    Rejected,
    failure,
)
from holon_core.frozen.content import Proposal, bodies, closed, define, faults, proposal_from
from holon_core.operations.answers import answer, listed, page, schema_of, to_json
from holon_core.operations.frozen_rows import CALLS, ID, page_of, visible
from holon_core.operations.schemas import AFTER_ID, LIMIT, WORKSPACE, params
from holon_core.records.words import LaneKind
from holon_script_tools.content import problems

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params

NOUN = "script-artifact"
KIND = LaneKind.SCRIPT_ARTIFACT.value
RECORD = schema_of(FrozenToolRecord)
READS = frozenset({Effect.HOST_STATE_READ})
SCRIPT = {
    "type": "object",
    "description": (
        "Name, purpose, input_schema, output_schema, command, files, effects, fixtures; also "
        "approval, secret_slots, fallback, timeout_s, max_output_bytes, deterministic."
    ),
}
UNSTATED = "is missing: state it, or propose the script with calls, from which it is derived"
_POLICY = ("effects", "approval", "timeout_s", "max_output_bytes")


def proposal_of(script: Mapping[str, Any]) -> dict[str, Any]:
    """Write a script as a proposal of a frozen tool.

    Args:
        script: With its command and effects at the top, as people write one.
    """
    made = {name: value for name, value in script.items() if name not in (*_POLICY, "command")}
    files = made.get("files")
    if isinstance(files, dict):
        made["files"] = [{"path": path, "text": text} for path, text in files.items()]
    policy = {name: script[name] for name in _POLICY if name in script}
    content = {"command": script["command"]} if "command" in script else {}
    return {
        "fallback": {"kind": "none"},
        **made,
        "kind": KIND,
        "policy": policy,
        "content": content,
    }


def validate(door: Door, given: Params) -> Any:
    """Judge a script from reading it; nothing of it runs, nothing is stored."""
    proposal = proposal_from(proposal_of(given["script"]))
    missing = [
        Finding(code="record_invalid", message=UNSTATED, path=f"/{name}")
        for name in ("input_schema", "output_schema")
        if getattr(proposal, name) is None
    ]
    try:
        judged = missing or _judged(proposal)
    except Rejected as rejected:
        judged = list(rejected.findings)
    findings = [*faults(proposal), *judged]
    if not proposal.fixtures:
        text = "at least one fixture is needed before it can be validated"
        findings.append(Finding(code="fixture_invalid", message=text, path="/fixtures"))
    return {
        "usable": not any(each.severity == "error" for each in findings),
        "findings": to_json(findings),
    }


def _judged(proposal: Proposal) -> list[Finding]:
    definition = define(
        proposal,
        input_schema=proposal.input_schema,
        output_schema=proposal.output_schema,
        derived=(),
    )
    definition, found = closed(definition)
    return [*found, *problems(definition, bodies(proposal))]


def create(door: Door, given: Params) -> Any:
    """Propose a script as a frozen tool."""
    return to_json(
        door.runtime.tools.frozen.propose(
            proposal_of(given["script"]),
            caller=door.caller,
            calls=given.get("calls", ()),
            sees_all=door.may(Authority.OPERATOR),
        )
    )


def test(door: Door, given: Params) -> Any:
    """Run the fixtures of a script; its state stays as it is."""
    record = _script(door, given["id"])
    run = door.runtime.tools.frozen.try_fixtures(record.id, caller=door.caller)
    return to_json(run)


def read(door: Door, given: Params) -> Any:
    """Answer a script with the texts of its files."""
    record = _script(door, given["id"])
    frozen = door.runtime.tools.frozen
    files = [
        {"path": each.path, "text": frozen.file(each.sha256).decode()}
        for each in record.definition.files
    ]
    return {"proposal": to_json(record), "files": files}


def list_scripts(door: Door, given: Params) -> Any:
    """Answer a page of scripts."""
    return page_of(door, given, kind=KIND)


def _script(door: Door, record_id: str) -> FrozenToolRecord:
    record = visible(door, record_id)
    if record.definition.kind != KIND:
        raise Refused(failure("unknown_proposal", f"{record_id:.200} is no script artifact"))
    return record


def rows() -> list[Operation]:
    """Return the rows of this lane."""
    from holon_core.records.frozen import ValidationRun

    writes = frozenset({Effect.HOST_STATE_WRITE})
    file = answer(path={"type": "string"}, text={"type": "string"})
    return [
        Operation(
            noun=NOUN,
            verb="validate",
            request=params(("script",), script=SCRIPT),
            response=answer(usable={"type": "boolean"}, findings=listed(schema_of(Finding))),
            authority=Authority.CALLER,
            effects=frozenset({Effect.NONE}),
            handler=validate,
            doc="Judge a script from reading it: nothing of it runs, nothing is stored.",
        ),
        Operation(
            noun=NOUN,
            verb="create-frozen-tool-proposal",
            request=params(("script",), script=SCRIPT, calls=CALLS),
            response=RECORD,
            authority=Authority.CALLER,
            effects=writes,
            handler=create,
            doc="Propose a script as a frozen tool, or as the next version of one.",
        ),
        Operation(
            noun=NOUN,
            verb="test",
            request=params(("id",), id=ID),
            response=schema_of(ValidationRun),
            authority=Authority.OPERATOR,
            effects=writes | {Effect.PROCESS},
            handler=test,
            positional=("id",),
            doc=(
                "Run the fixtures of a script, each in a fresh folder and recorded as a call; its "
                "state stays as it is."
            ),
        ),
        Operation(
            noun=NOUN,
            verb="read",
            request=params(("id",), id=ID),
            response=answer(proposal=RECORD, files=listed(file)),
            authority=Authority.CALLER,
            effects=READS,
            handler=read,
            positional=("id",),
            doc="Read a script with the texts of its files.",
        ),
        Operation(
            noun=NOUN,
            verb="list",
            request=params(workspace=WORKSPACE, after=AFTER_ID, limit=LIMIT),
            response=page("proposals", RECORD),
            authority=Authority.CALLER,
            effects=READS,
            handler=list_scripts,
            listing="proposals",
            columns=("id", "state", "version", "digest", "proposed_by"),
            doc="List the script artifacts of a workspace by id.",
        ),
    ]
