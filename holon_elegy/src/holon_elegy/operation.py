"""The operation of this lane: take definitions into a registered source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.errors import Rejected
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import params, text
from holon_core.records.operation import Operation
from holon_core.records.skill import SkillOutcome, SkillState
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params

MAX_DEFINITIONS = 10_000


@frozen(kw_only=True)
class ImportElegyV2SkillDefinitionRequest:
    """What ``skill/import-elegy-v2`` is asked: one supplied JSON object, and where it goes."""

    source: str
    definition: Mapping[str, Any]


def import_elegy_v2(door: Door, given: Params) -> Any:
    """Import one definition, or several; of one that is refused nothing is stored."""
    from holon_elegy.importing import import_each

    if "definition" in given:
        definitions = [
            ImportElegyV2SkillDefinitionRequest(
                source=given["source"], definition=given["definition"]
            ).definition
        ]
    else:
        definitions = given["definitions"]
    done = import_each(door.runtime, given["source"], definitions)
    if "definition" in given and len(done[0]) == 1 and done[0][0].state is SkillState.REJECTED:
        raise Rejected(done[0][0].id, done[0][0].findings)
    return {
        "skills": to_json(tuple(one for each in done for one in each)),
        "definitions": [at for at, each in enumerate(done) for _ in each],
    }


def rows() -> list[Operation]:
    """Return the rows of this lane."""
    definition = {
        "type": "object",
        "description": (
            "A contract of Elegy that holds skills: a skill, a capability definition, a "
            "catalogue, a package with definitions inside, a discovery index."
        ),
    }
    request = params(
        ("source",),
        source=text("Id of a registered source of kind elegy_v2."),
        definition=definition,
        definitions={
            "type": "array",
            "items": {"type": "object"},
            "minItems": 1,
            "maxItems": MAX_DEFINITIONS,
            "description": "Several at once, instead: each comes in or is rejected by itself.",
        },
    )
    request["oneOf"] = [{"required": ["definition"]}, {"required": ["definitions"]}]
    return [
        Operation(
            noun="skill",
            verb="import-elegy-v2",
            request=request,
            response=answer(
                skills=listed(schema_of(SkillOutcome)), definitions=listed({"type": "integer"})
            ),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.HOST_STATE_WRITE}),
            handler=import_elegy_v2,
            listing="skills",
            columns=("id", "state", "tools"),
            doc=(
                "Import the skills of a contract of Elegy into a registered source; "
                "`definitions` says which definition each came of, counted from 0. The same "
                "definition again changes nothing; a changed one is a new revision, shows its "
                "difference and voids approvals. What is refused is answered with the path of "
                "each finding."
            ),
        )
    ]
