"""Operations on tools: list, read, call, dry run, explain, release, and what policy says."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from holon_core.catalogue.unknown import unknown_tool
from holon_core.errors import Refused
from holon_core.guard.elsewhere import is_tool_elsewhere, seen_page, seen_workspace
from holon_core.operations.answers import answer, listed, page, paged, schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import (
    AFTER_ID,
    ARGUMENTS,
    CALL_ID,
    LIMIT,
    MAX_TOOL_ID,
    TOOL,
    params,
    text,
)
from holon_core.records.explanation import ExplainStep, Explanation
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.result import ToolResult
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Authority, Decision, Effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOUN = "runtime-tool"
READS = frozenset({Effect.HOST_STATE_READ})
WRITES = frozenset({Effect.HOST_STATE_WRITE})
RESULT = schema_of(ToolResult)
_KEY = text("Idempotency key: the same key and payload run once.")
_DIGEST = text("Digest of the definition that is meant, where it is pinned.")
_FAULT = answer(by={"type": "string"}, problem={"type": "string"})
_DECISIONS = [decision.value for decision in Decision]


def list_tools(door: Door, given: Params) -> Any:
    """Answer a page of the catalogue."""
    limit, after = given.get("limit", 50), given.get("after", "")
    if door.sees_all:
        found: Sequence[RuntimeToolDescriptor] = door.runtime.tools.list(after=after, limit=limit)
    else:
        guard = door.runtime._guard
        workspace = seen_workspace(guard, door.caller)
        entries = seen_page(guard.catalogue, workspace, after=after, limit=limit)
        found = [entry.tool for entry in entries]
    return {**paged("tools", found, limit), "faults": list(_faults(door))}


def may_see(door: Door, tool_id: str) -> bool:
    """Tell whether a tool is one that this caller sees: not that of another workspace."""
    return door.sees_all or not is_tool_elsewhere(door.runtime._guard, tool_id, door.caller)


def _faults(door: Door) -> Iterator[dict[str, str]]:
    """Say what may be missing from the list: plugins and sources that failed, and why."""
    runtime = door.runtime
    for plugin in runtime.plugins.list():
        by = plugin.distribution or plugin.name
        yield from ({"by": by, "problem": problem} for problem in plugin.problems)
    for source in runtime.tools.sources():
        if source.state in ("late", "failed") and may_see(door, f"{source.id}/"):
            yield {"by": source.id, "problem": source.problem}


def read_tool(door: Door, given: Params) -> Any:
    """Answer one tool, and what registration said about it."""
    tools, guard = door.runtime.tools, door.runtime._guard
    if not may_see(door, given["tool"]):
        raise Refused(failure("unknown_tool", f"no tool {given['tool']} in this workspace"))
    entry = guard.catalogue.get(given["tool"])
    if entry is None:
        seen = seen_workspace(guard, door.caller)
        problem = unknown_tool(guard.catalogue, given["tool"], seen, sees_all=door.sees_all)
        raise Refused(problem)
    tool = entry.tool
    return {"tool": to_json(tool), "findings": to_json(tools.findings(tool.id))}


def call_tool(door: Door, given: Params) -> Any:
    """Call a tool under guard."""
    return to_json(
        door.session.call(
            given["tool"],
            given.get("arguments"),
            key=given.get("key"),
            definition=given.get("definition"),
        )
    )


def dry_run(door: Door, given: Params) -> Any:
    """Show what a call would send."""
    return to_json(door.session.dry_run(given["tool"], given.get("arguments")))


def explain(door: Door, given: Params) -> Any:
    """Walk the steps of a call."""
    return to_json(
        door.session.explain(given["tool"], given.get("arguments"), key=given.get("key"))
    )


def release(door: Door, given: Params) -> Any:
    """Release a held call: one's own, or as an approver anybody's."""
    from holon_core.operations.releasing import held_operation, release_operation

    held = held_operation(door, given["call_id"])
    if held is not None:
        return to_json(release_operation(door, held))
    anybodys = door.may(Authority.APPROVER)
    return to_json(door.session._released(given["call_id"], anybodys=anybodys))


def explain_policy(door: Door, given: Params) -> Any:
    """Say what policy decides of a call or of an operation, and by which rule."""
    from holon_core.operations.explaining import explain_operation
    from holon_core.operations.table import row_of

    operation = row_of(door.runtime, given["tool"])
    if operation is not None:
        return explain_operation(door, operation, given.get("arguments", {}))
    explained = door.session.explain(given["tool"], given.get("arguments"))
    names = [step.step for step in explained.steps]
    end = len(names) if "policy" in names else 0
    steps = tuple(islice(explained.steps, names.index("policy") if end else 0, end))
    rules = [step for step in steps if step.step == "policy rule"]
    said = next((step.verdict for step in steps if step.step == "policy"), None)
    decision = Decision.DENY.value if said == "block" else said
    by = next((rule.detail for rule in rules if rule.verdict == decision), None)
    stopped = None if steps else explained.steps[-1].detail
    spent = (each.detail for each in explained.steps if each.step == "budget" and each.detail)
    stopped = next(spent, stopped)
    return {
        "tool": explained.tool,
        "decision": decision,
        "decided_by": by,
        "stopped": stopped,
        "rules": to_json(rules),
    }


ROWS = (
    Operation(
        noun=NOUN,
        verb="list",
        request=params(after=AFTER_ID, limit=LIMIT),
        response=page("tools", schema_of(RuntimeToolDescriptor), faults=listed(_FAULT)),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_tools,
        listing="tools",
        columns=("id", "side_effect_class", "readiness", "approval", "description"),
        doc=(
            "List the tools of the catalogue by id. It shows base readiness, never who may call. "
            "`faults` say which plugins and sources failed or are late, whose tools may be missing."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="read",
        request=params(("tool",), tool=TOOL),
        response=answer(tool=schema_of(RuntimeToolDescriptor), findings=listed(schema_of(Finding))),
        authority=Authority.CALLER,
        effects=READS,
        handler=read_tool,
        positional=("tool",),
        doc="Read one tool: schemas, effects, requirements, digest, and its findings.",
    ),
    Operation(
        noun=NOUN,
        verb="call",
        request=params(("tool",), tool=TOOL, arguments=ARGUMENTS, key=_KEY, definition=_DIGEST),
        response=RESULT,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=call_tool,
        positional=("tool",),
        unread=("arguments",),
        doc=(
            "Call a tool under guard. A call that was refused or that waits for a person is a "
            "result, too: `status`, `failure`, `held`."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="dry-run",
        request=params(("tool",), tool=TOOL, arguments=ARGUMENTS),
        response=RESULT,
        authority=Authority.CALLER,
        effects=WRITES,
        handler=dry_run,
        positional=("tool",),
        unread=("arguments",),
        doc=(
            "Show the exact request that a call would make. Nothing starts, nothing is used up; "
            "what would block the call is in `blocking_reasons`."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="explain",
        request=params(("tool",), tool=TOOL, arguments=ARGUMENTS, key=_KEY),
        response=schema_of(Explanation),
        authority=Authority.CALLER,
        effects=READS,
        handler=explain,
        listing="steps",
        columns=("step", "verdict", "detail"),
        positional=("tool",),
        unread=("arguments",),
        doc="Walk the steps of a call and say which rule or gate answers what. Nothing runs.",
    ),
    Operation(
        noun=NOUN,
        verb="release",
        request=params(("call_id",), call_id=CALL_ID),
        response=RESULT,
        authority=Authority.CALLER,
        also=frozenset({Authority.APPROVER}),
        effects=WRITES,
        handler=release,
        positional=("call_id",),
        doc=(
            "Run a held call that was approved, on its stored payload; every step is taken again. "
            "A caller releases its own calls, an approver anybody's. A held operation takes its "
            "own authority besides; its answer is the `output`."
        ),
    ),
    Operation(
        noun="policy",
        verb="explain",
        request=params(
            ("tool",),
            tool=text("Id of the tool, or the method of an operation.", limit=MAX_TOOL_ID),
            arguments={
                "type": "object",
                "description": "The arguments or the parameters; none where left out.",
            },
        ),
        response=answer(
            tool={"type": "string"},
            decision={"enum": [*_DECISIONS, None]},
            decided_by={"type": ["string", "null"]},
            stopped={"type": ["string", "null"]},
            rules=listed(schema_of(ExplainStep)),
        ),
        authority=Authority.CALLER,
        effects=READS,
        handler=explain_policy,
        listing="rules",
        columns=("verdict", "detail"),
        positional=("tool",),
        unread=("arguments",),
        doc=(
            "Say what policy decides of a call or an operation of this caller, and which rule "
            "decided. `decision` is null where an earlier step stops it, which `stopped` says, and "
            "where policy is not asked: of an operation that only reads."
        ),
    ),
)
