"""Make rules of their tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from holon_core.config import checks
from holon_core.config.checks import Check
from holon_core.config.document import Findings
from holon_core.config.lines import Path
from holon_core.records.rule import Condition, Rule, argument_path
from holon_core.records.words import Decision, Effect, Posture

_EFFECTS = checks.list_of(checks.word(Effect), least=1)


def conditions(value: Any, path: Path, findings: Findings) -> Mapping[str, Condition] | None:
    """Accept the argument conditions of a rule."""
    table = checks.table(value, path, findings)
    if table is None:
        return None
    if not table:
        findings.add(path, "is empty; leave it out to match calls with any arguments")
        return None
    made = {key: _condition(key, item, (*path, key), findings) for key, item in table.items()}
    return {key: condition for key, condition in made.items() if condition is not None} or None


_CONDITION: dict[str, Check] = {
    "equals": checks.scalar,
    "one_of": checks.list_of(checks.scalar, least=1),
    "matches": checks.pattern,
    "max": checks.number,
    "min": checks.number,
    "absent": checks.flag,
}
_RULE: dict[str, Check] = {
    "name": checks.text,
    "decision": checks.word(Decision),
    "id": checks.pattern,
    "lane": checks.pattern,
    "effects": _EFFECTS,
    "role": checks.pattern,
    "profile": checks.pattern,
    "plan_step": checks.pattern,
    "principal": checks.pattern,
    "workspace": checks.pattern,
    "posture": checks.word(Posture),
    "effects_used": _EFFECTS,
    "arguments": conditions,
    "reason": checks.text,
    "confined": checks.flag,
}


def rules_of(file: str, decisions: Collection[Decision] = tuple(Decision)) -> Check:
    """Make a check for rules: the tables of a file, or records made in Python.

    Args:
        file: Where the tables stand, for the origin of each rule.
        decisions: What the rules may decide.
    """

    def check(value: Any, path: Path, findings: Findings) -> tuple[Rule, ...] | None:
        if not isinstance(value, list | tuple):
            findings.add(path, "must be an array of tables, each headed [[rules]]")
            return None
        rules = [
            item
            if isinstance(item, Rule)
            else _rule(item, (*path, at), findings, origin=f"{file}:rules[{at}]")
            for at, item in enumerate(value)
        ]
        for at, rule in enumerate(rules):
            if rule is not None and rule.decision not in decisions:
                findings.add((*path, at, "decision"), f"may only be {' or '.join(decisions)} here")
        return tuple(rule for rule in rules if rule is not None)

    return check


def _rule(value: Any, path: Path, findings: Findings, *, origin: str) -> Rule | None:
    fields = _fields(value, _RULE, path, findings)
    if fields is None:
        return None
    if "decision" not in value:
        findings.add(path, f"a rule needs a decision: {', '.join(Decision)}")
    if "decision" not in fields:
        return None
    rule = Rule(**fields, origin=origin)
    if rule.decision is Decision.ALLOW and Effect.UNKNOWN in (rule.effects or ()):
        findings.add((*path, "effects"), "no rule can allow unknown effects")
    return rule


def _condition(key: str, value: Any, path: Path, findings: Findings) -> Condition | None:
    before = len(findings.found)
    try:
        argument_path(key)
    except ValueError as error:
        findings.add(path, str(error))
    fields = _fields(value, _CONDITION, path, findings)
    if fields is None or len(findings.found) > before:
        return None
    try:
        return Condition(**fields)
    except ValueError as error:
        findings.add(path, str(error))
        return None


def _fields(
    value: Any, known: Mapping[str, Check], path: Path, findings: Findings
) -> dict[str, Any] | None:
    table = checks.table(value, path, findings)
    if table is None:
        return None
    findings.unknown_keys(table, known, path)
    read = {
        key: known[key](item, (*path, key), findings) for key, item in table.items() if key in known
    }
    return {key: item for key, item in read.items() if item is not None}
