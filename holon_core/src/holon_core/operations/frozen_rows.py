"""Operations on frozen tools, from their proposal to their archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params, not_allowed
from holon_core.operations.schemas import (
    AFTER_ID,
    LIMIT,
    MAX_TOOL_ID,
    REASON,
    WORKSPACE,
    choice,
    flag,
    params,
    text,
    whole,
)
from holon_core.operations.tool_rows import READS, RESULT, WRITES
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.frozen import FrozenState, FrozenToolRecord
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from holon_core.frozen.facet import Promotion

NOUN = "frozen-tool-proposal"
RECORD = schema_of(FrozenToolRecord)
ID = text("Id of the tool, frozen.<workspace>/<name>~<version>.", limit=MAX_TOOL_ID)
PROPOSAL = {
    "type": "object",
    "description": (
        "Name, kind, purpose, input_schema, output_schema, policy, fallback, fixtures, content, "
        "files, and what else the kind needs; see the page on frozen tools."
    ),
}
CALLS = {
    "type": "array",
    "items": text("Id of a call."),
    "maxItems": 100,
    "description": "Completed calls of this workspace that it comes from.",
}
OUTPUT = text("Id of an accepted proposal of an agent, in place of one's own.")
SECRET_REFS = {
    "type": "object",
    "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 400},
    "description": "The reference of each secret that the output names.",
}
REVISION = whole("The revision that the change is based on.", least=1)
_STATES = [state.value for state in FrozenState]
_PROMOTION = answer(proposal=RECORD, result={"anyOf": [RESULT, {"type": "null"}]})
# What they run may do what the tools declare; each run is recorded with its own effects.
RUNS = frozenset({Effect.HOST_STATE_WRITE, Effect.PROCESS})


def visible(door: Door, record_id: str) -> FrozenToolRecord:
    """Return a tool that this caller may see: of its own workspace, or any for an operator.

    Raises:
        Refused: ``unknown_proposal``, also where it is another workspace's.
    """
    record = door.runtime.tools.frozen.read(record_id)
    if door.sees_all or record.workspace == door.caller.workspace:
        return record
    raise Refused(failure("unknown_proposal", f"no frozen tool {record_id:.200}"))


def create(door: Door, given: Params) -> Any:
    """Propose a tool, of one's own words or of an accepted answer of an agent."""
    frozen, sees_all = door.runtime.tools.frozen, door.may(Authority.OPERATOR)
    calls = given.get("calls", ())
    if ("proposal" in given) is ("output_id" in given):
        raise Refused(failure("arguments_invalid", "give a proposal or an output_id", path=""))
    if "proposal" in given:
        made = frozen.create(given["proposal"], caller=door.caller, calls=calls, sees_all=sees_all)
    else:
        made = frozen.create_from_output(
            given["output_id"],
            session=door.session,
            secret_refs=given.get("secret_refs"),
            calls=calls,
            sees_all=sees_all,
        )
    return to_json(made)


def update(door: Door, given: Params) -> Any:
    """Change a proposal."""
    return to_json(
        door.runtime.tools.frozen.update(
            visible(door, given["id"]).id,
            given["proposal"],
            caller=door.caller,
            calls=given.get("calls", ()),
            expected=given.get("revision"),
            sees_all=door.may(Authority.OPERATOR),
        )
    )


def withdraw(door: Door, given: Params) -> Any:
    """Take a proposal back."""
    record = visible(door, given["id"])
    if door.caller.principal != record.proposed_by and not door.may(Authority.OPERATOR):
        raise not_allowed("who proposed it withdraws it, or an operator")
    by = door.caller.principal
    return to_json(door.runtime.tools.frozen.withdraw(record.id, by=by, reason=given["reason"]))


def read(door: Door, given: Params) -> Any:
    """Answer one tool, what is wrong with its definition, and its graph where asked for."""
    from holon_core.frozen.graph import mermaid, svg

    record = visible(door, given["id"])
    findings = door.runtime.tools.frozen.findings(record.id)
    return {
        "proposal": to_json(record),
        "findings": to_json(findings),
        "graph": mermaid(record) if given.get("graph") else None,
        "svg": svg(record) if given.get("svg") else None,
    }


def list_proposals(door: Door, given: Params) -> Any:
    """Answer a page of tools; a caller's own workspace's where it sees no others."""
    return page_of(door, given)


def page_of(door: Door, given: Params, *, kind: str | None = None) -> Any:
    """Answer a page of tools that a caller may see, of one kind where one is named."""
    limit = given.get("limit", 50)
    state = given.get("state", "any")
    workspace = door.workspace_of(given)
    if workspace is None and not door.sees_all:
        # No workspace is not all of them: each of these tools is of one.
        return {"proposals": [], "next_after": None}
    found = door.runtime.tools.frozen.list(
        workspace=workspace,
        state=None if state == "any" else FrozenState(state),
        kind=kind,
        after=given.get("after", ""),
        limit=limit,
    )
    return paged("proposals", found, limit)


def validate(door: Door, given: Params) -> Any:
    """Build what has to be built and run the fixtures."""
    record = visible(door, given["id"])
    return to_json(door.runtime.tools.frozen.validate(record.id, caller=door.caller))


def promote(door: Door, given: Params) -> Any:
    """Move a tool to its next state."""
    record = _own(door, given["id"])
    made = door.runtime.tools.frozen.promote(
        record.id, session=door.session, reason=given.get("reason", "")
    )
    return _promoted(made)


def unblock(door: Door, given: Params) -> Any:
    """Validate a blocked tool anew and ask for its approval."""
    record = _own(door, given["id"])
    made = door.runtime.tools.frozen.unblock(
        record.id, session=door.session, reason=given["reason"]
    )
    return _promoted(made)


def _promoted(made: Promotion) -> Any:
    result = None if made.result is None else to_json(made.result)
    return {"proposal": to_json(made.proposal), "result": result}


def _own(door: Door, record_id: str) -> FrozenToolRecord:
    """Return a tool of the caller's own workspace: moves that are approved are calls in it."""
    record = visible(door, record_id)
    if record.workspace != door.caller.workspace:
        text = f"ask in its workspace, {record.workspace}"
        raise Refused(failure("wrong_workspace", text))
    return record


def deprecate(door: Door, given: Params) -> Any:
    """Let an active tool run with a notice."""
    record, by = visible(door, given["id"]), door.caller.principal
    return to_json(door.runtime.tools.frozen.deprecate(record.id, by=by, reason=given["reason"]))


def block(door: Door, given: Params) -> Any:
    """Stop a tool."""
    record, by = visible(door, given["id"]), door.caller.principal
    return to_json(door.runtime.tools.frozen.block(record.id, by=by, reason=given["reason"]))


def archive(door: Door, given: Params) -> Any:
    """End a tool for good."""
    record, by = visible(door, given["id"]), door.caller.principal
    return to_json(door.runtime.tools.frozen.archive(record.id, by=by, reason=given["reason"]))


def diff(door: Door, given: Params) -> Any:
    """Answer how two tools differ; against what it replaces where none is named."""
    record = visible(door, given["id"])
    before = given.get("before") or record.replaces
    if not before:
        return {"before": None, "after": record.id, "changes": []}
    other = visible(door, before)
    changes = door.runtime.tools.frozen.diff(other.id, record.id)
    return {"before": other.id, "after": record.id, "changes": list(changes)}


def revalidate(door: Door, given: Params) -> Any:
    """Run the fixtures of all active tools; block those that regressed."""
    found = door.runtime.tools.frozen.revalidate(
        caller=door.caller, workspace=door.workspace_of(given)
    )
    return {"proposals": to_json(found)}


_REASONED = params(("id", "reason"), id=ID, reason=REASON)
_CHANGE = answer(
    path={"type": "string"}, before={"type": ["string", "null"]}, after={"type": ["string", "null"]}
)
_COLUMNS = ("id", "state", "version", "digest", "proposed_by")

ROWS = (
    Operation(
        noun=NOUN,
        verb="create",
        request=params(proposal=PROPOSAL, output_id=OUTPUT, secret_refs=SECRET_REFS, calls=CALLS),
        response=RECORD,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=create,
        doc=(
            "Propose a tool, or the next version of one, by a proposal of one's own or an "
            "accepted output of an agent. Schemas that are left out are derived from the calls "
            "named and marked so; fixtures are seeded from them where there are none."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="update",
        request=params(
            ("id", "proposal"), id=ID, proposal=PROPOSAL, calls=CALLS, revision=REVISION
        ),
        response=RECORD,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=update,
        positional=("id",),
        doc="Replace what a tool is made of, until it is frozen; it goes back to proposed.",
    ),
    Operation(
        noun=NOUN,
        verb="withdraw",
        request=_REASONED,
        response=RECORD,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=withdraw,
        positional=("id",),
        doc="Take back a proposal that is not frozen yet; it is archived.",
    ),
    Operation(
        noun=NOUN,
        verb="read",
        request=params(
            ("id",),
            id=ID,
            graph=flag("Also lifecycle and provenance as a graph, in Mermaid's words."),
            svg=flag("Draw that graph as SVG, where graphviz is on this machine."),
        ),
        response=answer(
            proposal=RECORD,
            findings=listed(schema_of(Finding)),
            graph={"type": ["string", "null"]},
            svg={"type": ["string", "null"]},
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=read,
        positional=("id",),
        doc="Read one tool, and what is wrong with its definition.",
    ),
    Operation(
        noun=NOUN,
        verb="list",
        request=params(
            state=choice(["any", *_STATES], "Only of this state.", default="any"),
            workspace=WORKSPACE,
            after=AFTER_ID,
            limit=LIMIT,
        ),
        response=page("proposals", RECORD),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_proposals,
        listing="proposals",
        columns=_COLUMNS,
        doc="List frozen tools and proposals by id; of the caller's workspace where none is named.",
    ),
    Operation(
        noun=NOUN,
        verb="validate",
        request=params(("id",), id=ID),
        response=RECORD,
        authority=Authority.OPERATOR,
        effects=RUNS,
        handler=validate,
        positional=("id",),
        doc=(
            "Build what has to be built and run all fixtures, each in a fresh folder and recorded "
            "as a call. A candidate whose fixtures pass becomes validated; a tool that was "
            "validated before and fails now is blocked."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="promote",
        request=params(("id",), id=ID, reason=REASON),
        response=_PROMOTION,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=promote,
        positional=("id",),
        doc=(
            "Move a tool to its next state: candidate, frozen, active. The moves to frozen and "
            "active are held until somebody approves exactly this digest and state; then release "
            "the call, or ask again."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="deprecate",
        request=_REASONED,
        response=RECORD,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=deprecate,
        positional=("id",),
        doc="Let an active tool run with a notice from now on.",
    ),
    Operation(
        noun=NOUN,
        verb="block",
        request=_REASONED,
        response=RECORD,
        authority=Authority.OPERATOR,
        also=frozenset({Authority.APPROVER}),
        effects=WRITES,
        handler=block,
        positional=("id",),
        doc="Stop a tool from its next call on, on the whole store, held calls included.",
    ),
    Operation(
        noun=NOUN,
        verb="unblock",
        request=_REASONED,
        response=_PROMOTION,
        authority=Authority.OPERATOR,
        effects=RUNS,
        handler=unblock,
        positional=("id",),
        doc="Validate a blocked tool anew, then hold its way back to validated for an approval.",
    ),
    Operation(
        noun=NOUN,
        verb="archive",
        request=_REASONED,
        response=RECORD,
        authority=Authority.OPERATOR,
        effects=WRITES,
        handler=archive,
        positional=("id",),
        doc="End a tool for good. An active one is deprecated or blocked first.",
    ),
    Operation(
        noun=NOUN,
        verb="diff",
        request=params(("id",), id=ID, before=ID),
        response=answer(
            before={"type": ["string", "null"]},
            after={"type": "string"},
            changes=listed(_CHANGE),
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=diff,
        listing="changes",
        columns=("path", "before", "after"),
        positional=("id",),
        doc="Show how a tool differs from the version before it, or from another one.",
    ),
    Operation(
        noun=NOUN,
        verb="revalidate",
        request=params(workspace=WORKSPACE),
        response=answer(proposals=listed(RECORD)),
        authority=Authority.OPERATOR,
        effects=RUNS,
        handler=revalidate,
        listing="proposals",
        columns=_COLUMNS,
        doc="Run the fixtures of all active tools and block those that regressed, with evidence.",
    ),
)
