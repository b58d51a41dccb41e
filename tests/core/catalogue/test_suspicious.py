"""What models see as it stands, names of properties and values of enums, is flagged."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest

import holon_core as holon
from sample_lanes import Source, tool

HIDDEN = "\u202egnorts\u202c"


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


class Lane:
    """A lane with one tool of a given schema."""

    name = "odd"

    def __init__(self, schema: dict[str, Any], *, signal: str = "", **changes: Any) -> None:
        self._tool = tool("odd/one", input_schema=schema, **changes)
        self._signal = signal

    @holon.hookimpl
    def holon_capability_lanes(self):
        yield holon.CapabilityLane(kind="odd", postures=frozenset({holon.Posture.LANE_LIVE}))

    @holon.hookimpl
    def holon_skill_sources(self):
        yield Source("odd", [self._tool], signal=self._signal)


CASES = {
    "hidden in a value": (of(a={"enum": ["x", f"y{HIDDEN}"]}), "/properties/a/enum/1"),
    "hidden in a constant": (of(a={"const": "\u200bx"}), "/properties/a/const"),
    "hidden in a name": (of(**{"a\u200b": {}}), "/properties/a\\u200b"),
    "hidden deep inside": (
        of(a={"type": "array", "items": {"anyOf": [{"type": "null"}, of(**{"b\u2066": {}})]}}),
        "/properties/a/items/anyOf/1/properties/b\\u2066",
    ),
    "hidden in a definition": (
        {**of(a={"$ref": "#/$defs/d"}), "$defs": {"d": {"enum": ["\u2063"]}}},
        "/$defs/d/enum/0",
    ),
    "a long name": (of(**{"n" * 129: {}}), f"/properties/{'n' * 129}"),
    "a long value": (of(a={"enum": ["v" * 513]}), "/properties/a/enum/0"),
    "many values": (of(a={"enum": [f"{n:08}" for n in range(2000)]}), "/properties/a/enum"),
}


@pytest.mark.parametrize(("schema", "path"), CASES.values(), ids=CASES)
def test_a_text_that_models_see_as_it_stands_is_flagged_with_its_place(schema, path):
    """A warning, and a risk hint that the approver reads; the tool itself comes in."""
    with holon.Runtime.in_memory(plugins=[Lane(schema)]) as runtime:
        found = runtime.tools.findings("odd/one")
        hints = runtime.tools.read("odd/one").risk_hints

    [warning] = [each for each in found if each.code == "text_suspicious"]
    assert warning.path == f"/input_schema{path}"
    assert warning.severity is holon.Severity.WARNING
    assert hints in (("hidden_characters",), ("long_text",))


@pytest.mark.parametrize(
    "schema",
    [
        of(a={"enum": ["é", "取得", "👩\u200d💻", "naïve", None, 1]}),
        of(description={"type": "string", "description": f"Cleaned where it is shown {HIDDEN}."}),
        of(a={"type": "string", "default": "\u200b"}),
    ],
    ids=["other scripts", "descriptions", "defaults"],
)
def test_what_is_honest_or_cleaned_elsewhere_is_not_flagged(schema):
    """A flag that is everywhere says nothing."""
    with holon.Runtime.in_memory(plugins=[Lane(schema)]) as runtime:
        assert [e for e in runtime.tools.findings("odd/one") if e.code == "text_suspicious"] == []
        assert runtime.tools.read("odd/one").risk_hints == ()


def test_a_function_of_the_host_is_flagged_the_same_way():
    """Whoever wrote it may have copied it from anywhere."""

    class Kind(Enum):
        GOOD = "good"
        ODD = f"odd{HIDDEN}"

    @holon.tool(effects={"none"}, risk_hints=["moves money"])
    def pick(kind: Kind, other: Literal["a", "b"] = "a") -> str:
        """Pick."""
        return kind.value

    pick.__annotations__["kind"] = Kind
    with holon.Runtime.in_memory(tools=[pick]) as runtime:
        found = [each.code for each in runtime.tools.findings("host.app/pick")]
        assert "text_suspicious" in found
        hints = runtime.tools.read("host.app/pick").risk_hints
        assert hints == ("moves money", "hidden_characters")


@pytest.mark.parametrize("reviewed", [False, True], ids=["no reviewer", "a reviewer"])
def test_a_tool_of_a_lane_that_returns_a_plan_is_flagged_at_every_reading(tmp_path, reviewed):
    """Whether reviewers are there or not, and also where nothing has changed since."""

    class Reviewer:
        name = "reviewer"

        @holon.hookimpl
        def holon_review_registration(self, candidate, previous):
            return ()

    for signal in ("first", "second"):
        lane = Lane(of(), signal=signal, description="Propose a plan for the work.")
        plugins: list[Any] = [lane, Reviewer()] if reviewed else [lane]
        with holon.Runtime.open(tmp_path / "root", plugins=plugins, discover=False) as runtime:
            found = [each.code for each in runtime.tools.findings("odd/one")]
        assert found == ["returns_plan"], signal
