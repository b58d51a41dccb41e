"""Operations on structured output: the classes there are, and putting an answer through a gate."""

from __future__ import annotations

from typing import Any

from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.door import Door, Params
from holon_core.operations.schemas import TOOL, params, text
from holon_core.operations.tool_rows import READS, WRITES
from holon_core.records.operation import Operation
from holon_core.records.output import OutputClass, OutputFacts, OutputResult
from holon_core.records.words import Authority

NOUN = "structured-output"
_CLASS = answer(
    id={"type": "string"},
    version={"type": "string"},
    description={"type": "string"},
    producer={"type": "string"},
    consumers=listed({"type": "string"}),
    gate=listed({"type": "string"}),
    checked={"type": "boolean"},
    schema={"type": "object"},
)


def list_classes(door: Door, _: Params) -> Any:
    """Answer the classes."""
    return {"classes": [_shown(each) for each in door.runtime.agents.outputs.list()]}


def _shown(each: OutputClass) -> dict[str, Any]:
    return {
        "id": each.id,
        "version": each.version,
        "description": each.description,
        "producer": each.producer,
        "consumers": list(each.consumers),
        "gate": [gate.value for gate in each.gate],
        "checked": each.check is not None,
        "schema": dict(each.schema),
    }


def validate(door: Door, given: Params) -> Any:
    """Put an answer through the gate of its class."""
    tool = given.get("tool")
    declared = None if tool is None else door.runtime.tools.read(tool).output_schema
    result = door.session.accept_output(
        given["output_class"],
        given["answer"],
        facts=OutputFacts(declared_schema=declared),
        consumer=given.get("consumer"),
    )
    return to_json(result)


def hand_over(door: Door, given: Params) -> Any:
    """Hand an accepted output to a consumer."""
    return to_json(door.session.hand_output(given["output_id"], consumer=given["consumer"]))


ROWS = (
    Operation(
        noun=NOUN,
        verb="classes",
        request=params(),
        response=answer(classes=listed(_CLASS)),
        authority=Authority.CALLER,
        effects=READS,
        handler=list_classes,
        listing="classes",
        columns=("id", "version", "producer", "consumers", "gate"),
        doc=(
            "List the classes of structured output: schema, version, producer, consumers and gate. "
            "`checked` says that a class has a check of its own besides."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="validate",
        request=params(
            ("output_class", "answer"),
            output_class=text("Id of the class."),
            answer={
                "type": ["object", "string"],
                "description": "A JSON object, or text that holds exactly one.",
            },
            tool=TOOL,
            consumer=text("Who is to have it; one that is not of the class is refused."),
        ),
        response=schema_of(OutputResult),
        authority=Authority.CALLER,
        effects=WRITES,
        handler=validate,
        positional=("output_class", "answer"),
        doc=(
            "Put an answer through the gate of its class, and accept it where it passes: "
            "`output_id` is what a consumer of the class gets it by. A refusal is a result, too. "
            "`tool` names the tool whose declared output schema a `tool_result` has to fit. Both "
            "are recorded with the source `holon-structured-output`."
        ),
    ),
    Operation(
        noun=NOUN,
        verb="hand-over",
        request=params(
            ("output_id", "consumer"),
            output_id=text("Id of an accepted output."),
            consumer=text("Who is to have it; one that is not of the class is refused."),
        ),
        response=schema_of(OutputResult),
        authority=Authority.CALLER,
        effects=WRITES,
        handler=hand_over,
        positional=("output_id", "consumer"),
        doc=(
            "Hand an accepted output of this workspace to a consumer of its class. A refusal is a "
            "result, too. Both are recorded with the source `holon-structured-output`."
        ),
    ),
)
