"""What rows share: making one, its schemas, and whose runs a caller may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from holon_core.operations.answers import answer, listed
from holon_core.operations.schemas import nullable, text
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from holon_core.operations.door import Door
    from holon_workflows.engine.state import RunRecord
    from holon_workflows.service import Workflows

Schema = dict[str, Any]
READS = frozenset({Effect.HOST_STATE_READ})
WRITES = frozenset({Effect.HOST_STATE_WRITE})
ANY: Schema = {}
OBJECT: Schema = {"type": "object"}
MAYBE_OBJECT: Schema = {"type": ["object", "null"]}
TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
RUN = text("Id of the run.", limit=400)
NODE = text("Id of the node.", limit=64)
DEFINITION = text("Id of the workflow definition.")
VERSION = nullable(text("Its version; the newest where left out.", limit=64))
STEP = answer(
    id=TEXT,
    kind=TEXT,
    state=TEXT,
    attempt={"type": "integer"},
    note=TEXT,
    output=ANY,
    failure=MAYBE_OBJECT,
    wait=MAYBE_OBJECT,
    due_at=MAYBE_NUMBER,
    started_at=MAYBE_NUMBER,
    ended_at=MAYBE_NUMBER,
)
RUN_VIEW = answer(
    id=TEXT,
    definition=TEXT,
    version=TEXT,
    digest=TEXT,
    state=TEXT,
    principal=TEXT,
    workspace=MAYBE_TEXT,
    inputs=ANY,
    outputs=ANY,
    failure=MAYBE_OBJECT,
    cancelled_by=MAYBE_TEXT,
    created_at=NUMBER,
    ended_at=MAYBE_NUMBER,
    due_at=MAYBE_NUMBER,
    steps=listed(STEP),
    waits_for=listed(OBJECT),
)


def row(
    flows: Workflows,
    method: str,
    handler: Callable[..., Any],
    request: Mapping[str, Any],
    response: Mapping[str, Any],
    *,
    authority: Authority = Authority.CALLER,
    effects: frozenset[Effect] = READS,
    doc: str,
    **more: Any,
) -> Operation:
    """Make one row."""
    noun, verb = method.split("/")
    return Operation(
        noun=noun,
        verb=verb,
        request=request,
        response=response,
        authority=authority,
        effects=effects,
        handler=partial(handler, flows),
        doc=doc,
        **more,
    )


def own_run(flows: Workflows, door: Door, run_id: str) -> RunRecord:
    """Return a run that a caller may see and drive: its own, or any for who sees all.

    Raises:
        Refused: ``unknown_run``, also of a run of somebody else.
    """
    from holon_core.errors import Refused
    from holon_core.records.failure import failure

    found = flows.ledger.run(run_id)
    if found is None or not sees(door, found):
        raise Refused(failure("unknown_run", f"no run {run_id[:200]}"))
    return found


def sees(door: Door, run: RunRecord) -> bool:
    """Tell whether a caller may see a run."""
    caller = run.caller
    owned = door.owns(principal=caller["principal"], workspace=caller["workspace"])
    return door.sees_all or owned
