"""The operation of this lane: take definitions into a registered source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Rejected
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import params, text
from holon_core.records.operation import Operation
from holon_core.records.skill import SkillOutcome, SkillState
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params

MAX_DEFINITIONS = 10_000


def import_elegy_v2(door: Door, given: Params) -> Any:
    """Import one definition, or several; of one that is refused nothing is stored."""
    from holon_elegy.importing import import_definition

    source = given["source"]
    skills = door.runtime.skills
    # Before any is read: a source that is not there refuses all of them.
    skills.source(source)
    several = "definitions" in given
    outcomes: list[SkillOutcome | None] = []
    made = []
    for each in given["definitions"] if several else [given["definition"]]:
        try:
            made.append(import_definition(source, each))
            outcomes.append(None)
        except Rejected as rejected:
            if not several:
                raise
            name = rejected.subject[:200]
            outcomes.append(
                SkillOutcome(id=name, state=SkillState.REJECTED, findings=rejected.findings)
            )
    stored = iter(skills.store(source, made))
    done = [next(stored) if each is None else each for each in outcomes]
    if not several and done[0].state is SkillState.REJECTED:
        raise Rejected(done[0].id, done[0].findings)
    return {"skills": to_json(done)}


def rows() -> list[Operation]:
    """Return the rows of this lane."""
    definition = {
        "type": "object",
        "description": "A definition of Elegy: a skill, a capability definition or a catalogue.",
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
            response=answer(skills=listed(schema_of(SkillOutcome))),
            authority=Authority.OPERATOR,
            effects=frozenset({Effect.HOST_STATE_WRITE}),
            handler=import_elegy_v2,
            listing="skills",
            columns=("id", "state", "tools"),
            doc=(
                "Import a skill of Elegy into a registered source. The same definition again "
                "changes nothing; a changed one is a new revision, shows its difference and voids "
                "approvals. What is refused is answered with the path of each finding."
            ),
        )
    ]
