"""Starting a run: bound to a version of its definition, and of all that it uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Refused
from holon_core.records.failure import failure
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise
from holon_workflows.engine.ledger import ACTIVE, RUNS, run_event, tell
from holon_workflows.engine.state import RunRecord, caller_json

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext
    from holon_core.workbench import Change
    from holon_workflows.definition.model import Definition
    from holon_workflows.engine.engine import Engine

INPUT_DOMAIN = "holon-workflow-inputs/1"
MAX_WORKFLOWS = 50


class Starting:
    """Starts runs on an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(
        self,
        definition: str,
        inputs: Mapping[str, Any],
        *,
        caller: CallerContext,
        version: str | None,
        run_id: str,
    ) -> RunRecord:
        """Keep a new run; see ``Workflows.start``."""
        engine = self._engine
        kept = engine.definitions.read(definition, version)
        bound = engine.definitions.version(kept.id, kept.version)
        given = checked_inputs(bound, inputs)
        used = self._used(bound)
        newest = {name: kept for (name, named), kept in used.items() if named is None}
        run = RunRecord(
            id=run_id,
            root=run_id,
            definition=bound.id,
            version=bound.version,
            digest=bound.digest,
            caller=caller_json(caller),
            inputs=given,
            created_at=engine.clock.now(),
            bound={name: kept.version for name, kept in newest.items()},
            pins=dict(self._pins([bound, *used.values()])),
        )
        event = {**run_event(run), "kind": "run_started", "at": run.created_at}
        draft = engine.ledger.draft(run, event)

        def work(change: Change) -> RunRecord:
            before = change.get(RUNS, run_id)
            if before is not None:
                return _same(RunRecord.of(before), run)
            change.put(RUNS, run_id, run.to_json())
            change.put(ACTIVE, run_id, {})
            tell(change, run_id, event, draft)
            return run

        return engine.bench.change(work)

    def _used(self, definition: Definition) -> dict[tuple[str, str | None], Definition]:
        """Return each workflow that a definition uses, and those that they use.

        By its name and the version that is named, which is ``None`` where the newest is meant.
        """
        used: dict[tuple[str, str | None], Definition] = {}
        todo = [definition]
        while todo:
            for config in configs(todo.pop().document, "sub-workflow"):
                named = (config["workflow"], config.get("version"))
                if named in used:
                    continue
                kept = self._engine.definitions.read(*named)
                used[named] = self._engine.definitions.version(kept.id, kept.version)
                todo.append(used[named])
                if len(used) > MAX_WORKFLOWS:
                    text = f"it uses more than {MAX_WORKFLOWS} other workflows"
                    raise Refused(failure("workflow_limit", text))
        return used

    def _pins(self, definitions: Iterable[Definition]) -> Iterator[tuple[str, str]]:
        """Bind each tool to the definition that it has now."""
        for definition in definitions:
            for kind in ("capability", "frozen-tool", "adapter-operation"):
                for config in configs(definition.document, kind):
                    tool = self._engine.bench.tool(config["tool"])
                    if tool is not None:
                        # A node that names a definition of its own goes by that.
                        yield tool.id, tool.digest


def configs(document: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """Go through the configs of a kind's nodes, those of bodies as well."""
    for node in document["nodes"]:
        config = node.get("config", {})
        if node["kind"] == kind:
            yield config
        if isinstance(config.get("body"), Mapping):
            yield from configs(config["body"], kind)


def checked_inputs(definition: Definition, inputs: Mapping[str, Any]) -> Any:
    """Return inputs as a run keeps them.

    Raises:
        Refused: ``arguments_invalid``, with the path.
    """
    try:
        given: Any = normalise(dict(inputs)).value
    except JsonRefused as error:
        raise Refused(
            failure("arguments_invalid", error.message, path="/inputs" + error.path)
        ) from None
    schema = definition.inputs
    if schema is None:
        if given:
            raise Refused(failure("arguments_invalid", "it takes no inputs", path="/inputs"))
        return given
    closed = check_schema(schema, role="input").schema
    errors = compiled(closed, digest(closed, domain=INPUT_DOMAIN)).errors(given)
    if errors:
        shown = [{"path": "/inputs" + e.path, "message": e.message} for e in errors[:20]]
        text = f"{errors[0].message} at {shown[0]['path']}"
        raise Refused(failure("arguments_invalid", text, path=shown[0]["path"], errors=shown))
    return given


def _same(before: RunRecord, run: RunRecord) -> RunRecord:
    if (before.digest, before.inputs, before.caller) != (run.digest, run.inputs, run.caller):
        raise Refused(failure("conflict", f"the run {run.id} is there, with something else"))
    return before
