"""Match calls against policy rules, compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.rule import Condition, Rule, argument_path, glob
from holon_core.records.words import Decision

Test = Callable[[Any], bool]

_ABSENT = object()
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_CLIMBS = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)")
_CALLER_FIELDS = ("principal", "workspace", "role", "profile", "plan_step")


class CompiledRule:
    """A rule ready to match: ``concerns`` looks at all but the arguments, ``fits`` at those."""

    __slots__ = ("_caller", "_conditions", "_id", "_lane", "label", "rule", "verdict")

    def __init__(self, rule: Rule, label: str) -> None:
        self.rule = rule
        self.label = f'{label} "{rule.name}"' if rule.name else label
        self.verdict = Verdict(
            decision=rule.decision, rule=self.label, reason=rule.reason, confined=rule.confined
        )
        self._id = None if rule.id == "*" else glob(rule.id)
        self._lane = None if rule.lane is None else glob(rule.lane)
        self._caller = [
            (name, glob(pattern))
            for name in _CALLER_FIELDS
            if (pattern := getattr(rule, name)) is not None
        ]
        self._conditions = [
            (argument_path(key), _compile(condition, rule.decision))
            for key, condition in (rule.arguments or {}).items()
        ]

    @property
    def needs_arguments(self) -> bool:
        """Whether the rule depends on the arguments of a call."""
        return bool(self._conditions)

    def concerns(self, request: PolicyRequest) -> bool:
        """Tell whether every field but ``arguments`` matches."""
        rule, tool = self.rule, request.tool
        return (
            (self._id is None or self._id(tool.id))
            and (self._lane is None or self._lane(tool.lane))
            and (rule.posture is None or rule.posture == request.posture)
            and _effects_match(rule.decision, rule.effects, tool.effects)
            and _effects_match(rule.decision, rule.effects_used, request.effects_used)
            and all(
                (value := getattr(request.caller, name)) is not None and matches(value)
                for name, matches in self._caller
            )
        )

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        """Tell whether the arguments satisfy every condition."""
        return all(holds(_find(arguments, path)) for path, holds in self._conditions)


def compile_rules(rules: Sequence[Rule], *, prefix: str = "") -> tuple[CompiledRule, ...]:
    """Compile rules in their order.

    Args:
        rules: As configured.
        prefix: Put before ``rules[N]`` in the label of a rule, instead of its own ``origin``.

    Raises:
        ValueError: A glob or an argument's key of a rule made in Python is not usable.
    """
    return tuple(
        CompiledRule(rule, f"{prefix}rules[{index}]" if prefix or not rule.origin else rule.origin)
        for index, rule in enumerate(rules)
    )


def _effects_match(
    decision: Decision, listed: Collection[Any] | None, actual: frozenset[Any]
) -> bool:
    if listed is None:
        return True
    if decision is Decision.ALLOW:
        return actual.issubset(listed)
    return not actual.isdisjoint(listed)


def _find(arguments: Mapping[str, Any], path: tuple[str, ...]) -> object:
    node: Any = arguments
    for part in path:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
        elif isinstance(node, list) and _INDEX.fullmatch(part) and int(part) < len(node):
            node = node[int(part)]
        else:
            return _ABSENT
    return node


def _compile(condition: Condition, decision: Decision) -> Test:
    if condition.absent:
        return lambda value: value is _ABSENT
    tests = _tests(condition, decision)
    return lambda value: value is not _ABSENT and all(test(value) for test in tests)


def _tests(condition: Condition, decision: Decision) -> list[Test]:
    tests: list[Test] = []
    if (equals := condition.equals) is not None:
        tests.append(lambda value: _same(value, equals))
    if (one_of := condition.one_of) is not None:
        tests.append(lambda value: any(_same(value, each) for each in one_of))
    if condition.matches is not None:
        tests.append(_text_test(glob(condition.matches), decision))
    if (most := condition.max) is not None:
        tests.append(lambda value: _is_number(value) and value <= most)
    if (least := condition.min) is not None:
        tests.append(lambda value: _is_number(value) and value >= least)
    return tests


def _text_test(matches: Callable[[str], bool], decision: Decision) -> Test:
    if decision is Decision.ALLOW:
        return lambda value: isinstance(value, str) and matches(value) and not _CLIMBS.search(value)
    return lambda value: isinstance(value, str) and matches(value)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _same(value: object, expected: object) -> bool:
    # Python takes True for 1, JSON does not.
    alike = type(value) is type(expected) or (_is_number(value) and _is_number(expected))
    return alike and value == expected
