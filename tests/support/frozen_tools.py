"""A kind of frozen tools for tests: in this process, breakable, and a witness of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import holon_core as holon
from holon_core import FrozenState, FrozenTool, FrozenToolDefinition, FrozenToolRecord, SealedCall
from holon_core.records.frozen import RUNNING_STATES, TRIAL_STATES
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_core.testing import named

KIND = "acme-echo"
BOSS = "boss"


class Echoes:
    """Answers with its text in capitals, unless a test breaks it."""

    kind = KIND
    build_limits: holon.Limits | None = None

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        # Texts on which it exits with an error, whatever else it does.
        self.chokes_on: set[str] = set()
        self.runs: list[dict[str, Any]] = []
        self.unready: list[holon.StructuredFailure] = []
        self.records: Any = None

    def validate(
        self, definition: FrozenToolDefinition, files: Mapping[str, bytes]
    ) -> Iterator[holon.Finding]:
        if set(definition.content) - {"suffix"}:
            yield holon.Finding(code="record_invalid", message="suffix alone", path="/content")

    def ready(self, tool: FrozenTool) -> list[holon.StructuredFailure]:
        return self.unready

    def build(self, call: SealedCall, tool: FrozenTool) -> holon.ExecutorOutcome:
        raise NotImplementedError

    def execute(self, call: SealedCall, tool: FrozenTool) -> holon.ExecutorOutcome:
        self._witness(call, tool)
        how = self.broken.get(tool.record.digest, self.broken.get("all", ""))
        if call.arguments["text"] in self.chokes_on:
            how = "tool_exit"
        if how == "schema":
            return holon.completed({"said": 1})
        if how == "raises":
            raise RuntimeError("broken")
        if how:
            problem = holon.failure(how)
            return holon.ExecutorOutcome(
                status=holon.ExecutorStatus.FAILED,
                failure=holon.ExecutorFailure(
                    kind=problem.kind, code=problem.code, message=problem.message
                ),
            )
        said = str(call.arguments["text"]).upper() + tool.definition.content.get("suffix", "")
        return holon.completed({"said": said + self.broken.get("drift", "")})

    def preview(self, call: SealedCall, tool: FrozenTool) -> Mapping[str, Any]:
        return {"would say": call.arguments["text"]}

    def _witness(self, call: SealedCall, tool: FrozenTool) -> None:
        """Note whether this run was allowed to be, by what the store says at this moment."""
        trial = call._attempt.mode == "trial"
        record: FrozenToolRecord = self.records.read(tool.record.id)
        self.runs.append(
            {
                "trial": trial,
                "tool": record.id,
                "state": record.state,
                "right_state": trial or record.state in RUNNING_STATES,
                "right_place": call.caller.workspace == record.workspace,
                "right_digest": trial or call.tool.executor_ref == record.executor_ref,
                "approved": trial
                or record.state not in TRIAL_STATES
                or call._attempt.approval_id is not None,
            }
        )


class Plugin:
    """Brings the kind."""

    def __init__(self, kind: Echoes) -> None:
        self._kind = kind

    @holon.hookimpl
    def holon_frozen_tool_kinds(self, host: holon.PluginHost) -> list[Any]:
        return [self._kind]


@holon.tool(effects={"none"})
def shout(text: str) -> dict[str, str]:
    """Say a text in capitals."""
    return {"said": text.upper()}


def open_runtime(root: Path, kind: Echoes, **options: Any) -> Runtime:
    """Open a runtime that has the kind and a function whose runs tools come from."""
    runtime = Runtime.open(
        root, tools=[shout], plugins=[named(Plugin(kind), KIND)], discover=False, **options
    )
    kind.records = runtime.tools.frozen
    return runtime


def proposal(**changed: Any) -> dict[str, Any]:
    """Return a good proposal, with members replaced."""
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    said = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
    fixture = {"name": "hi", "input": {"text": "hi"}, "expect": {"output": {"said": "HI"}}}
    return {
        "name": "shout",
        "kind": KIND,
        "purpose": "Say a text in capitals",
        "input_schema": {**text, "additionalProperties": False},
        "output_schema": {**said, "additionalProperties": False},
        "policy": {"effects": ["none"]},
        "fallback": {"kind": "manual_handoff", "who": "the desk", "instructions": "say it"},
        "fixtures": [fixture],
        **changed,
    }


def recorded(session: Session, *texts: str) -> list[str]:
    """Make calls for tools to come from; return their ids."""
    return [session.call("host.app/shout", {"text": text}).call_id for text in texts or ("a",)]


def proposed(runtime: Runtime, session: Session, **changed: Any) -> FrozenToolRecord:
    """Propose a tool that comes from a recorded call."""
    return runtime.tools.frozen.create(
        proposal(**changed), caller=session.caller, calls=recorded(session)
    )


def settle(runtime: Runtime, session: Session, held: str | None) -> Any:
    """Approve what is held as the boss, and release it."""
    assert held is not None
    runtime.approvals.approve(held, by=BOSS, reason="looked at it")
    return session.release(held)


def brought_to(
    runtime: Runtime, session: Session, state: FrozenState, **changed: Any
) -> FrozenToolRecord:
    """Propose a tool and bring it to a state on the ordinary way."""
    frozen = runtime.tools.frozen
    record = proposed(runtime, session, **changed)
    order = list(FrozenState)
    for step in order[1 : order.index(state) + 1]:
        if step is FrozenState.CANDIDATE:
            record = frozen.promote(record.id, session=session).proposal
        elif step is FrozenState.VALIDATED:
            record = frozen.validate(record.id, caller=session.caller)
        elif step in (FrozenState.FROZEN, FrozenState.ACTIVE):
            made = frozen.promote(record.id, session=session, reason="go").result
            assert made is not None
            settle(runtime, session, made.held)
            record = frozen.read(record.id)
        elif step is FrozenState.DEPRECATED:
            record = frozen.deprecate(record.id, by="op", reason="old")
    assert record.state is state, record
    return record
