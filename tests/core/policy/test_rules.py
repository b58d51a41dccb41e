"""Rules and defaults: which verdict each gives, over the table beside this file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holon_core.config import load
from holon_core.guard.policy import PolicyEngine
from holon_core.records.policy import PolicyRequest
from holon_core.records.rule import Condition, Rule, argument_path, glob
from holon_core.records.words import Decision

CASES = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))


def toml(value: Any) -> str:
    """Write JSON as an inline TOML value."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_a_case_of_the_table(
    case: dict[str, Any], tmp_path: Path, make_request: Callable[..., PolicyRequest]
) -> None:
    """Rules as they stand in holon.toml give the verdict of the table, and name who gave it."""
    (tmp_path / "holon.toml").write_text(f"rules = {toml(case['rules'])}\n", encoding="utf-8")
    engine = PolicyEngine(rules=load(tmp_path, {}).rules)

    outcome = engine.decide(make_request(**case["request"]))

    assert (outcome.decision, outcome.rule) == (case["decision"], case["rule"])
    assert outcome.code == ("policy_denied" if outcome.decision is Decision.DENY else None)
    assert outcome.reason or outcome.rule.startswith("holon.toml:")


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Condition, "needs one of"),
        (lambda: Condition(absent=True, equals=1), "leaves nothing"),
        (lambda: Condition(one_of=()), "one_of is empty"),
        (lambda: Condition(min=2, max=1), "min is above max"),
        (lambda: Rule(decision=Decision.ALLOW, arguments={}), "arguments is empty"),
        (lambda: argument_path(""), "needs a name"),
        (lambda: argument_path("/a~2"), "JSON pointer"),
    ],
    ids=["empty", "contradiction", "nothing", "crossed", "no-arguments", "no-name", "pointer"],
)
def test_a_rule_that_says_nothing_clear_is_refused(made: Callable[[], object], text: str) -> None:
    """What would match everything, or nothing, by mistake is refused where it is made."""
    with pytest.raises(ValueError, match=text):
        made()


def test_one_of_may_hold_null(make_request: Callable[..., PolicyRequest]) -> None:
    """A rule made in Python can ask for a JSON null."""
    rule = Rule(decision=Decision.DENY, arguments={"x": Condition(one_of=(None,))})
    engine = PolicyEngine(rules=[rule])

    assert engine.decide(make_request(arguments={"x": None})).decision is Decision.DENY
    assert engine.decide(make_request(arguments={"x": 0})).decision is Decision.ALLOW


def test_a_rule_made_in_python_is_named_by_its_place(
    make_request: Callable[..., PolicyRequest],
) -> None:
    """Without a file the label is the position, with the name beside it."""
    rules = [Rule(decision=Decision.ASK, id="x/*"), Rule(decision=Decision.DENY, name="all")]

    assert PolicyEngine(rules=rules).decide(make_request()).rule == 'rules[1] "all"'


def test_a_glob_of_many_stars_stays_quick() -> None:
    """A hostile pattern cannot make matching explode: this ends, or the suite times out."""
    assert not glob("*a" * 60 + "b")("a" * 20_000)


@pytest.mark.parametrize("pattern", ["a[", "host.m/[e", "[!e", "[]", "[!]", "[e]x["])
def test_a_glob_whose_bracket_is_never_closed_is_refused(pattern: str) -> None:
    """As a rule that denies it would match nothing that its writer meant."""
    with pytest.raises(ValueError, match="never closed"):
        glob(pattern)
    assert glob("a[[]b")("a[b")
    assert glob("[]]")("]")
    assert glob("a]*")("a]b")
