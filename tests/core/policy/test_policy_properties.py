"""Properties of any set of rules and policies."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from holon_core.config import WorkspaceConfig
from holon_core.guard.panel import NamedPolicy
from holon_core.guard.policy import PolicyEngine
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.rule import Condition, Rule
from holon_core.records.words import Decision, Effect, Posture

Make = Callable[..., PolicyRequest]
STRICTNESS = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}
IDS = ["host.shop/refund", "host.shop/list", "acme.x/y"]

conditions = st.one_of(
    st.builds(Condition, equals=st.sampled_from([1, "a", True])),
    st.builds(Condition, matches=st.sampled_from(["*", "a*", "a"])),
    st.builds(Condition, max=st.integers(-1, 2)),
    st.builds(Condition, absent=st.booleans()),
)
effects = st.lists(st.sampled_from(Effect), max_size=3, unique=True)
rules = st.lists(
    st.builds(
        Rule,
        decision=st.sampled_from(Decision),
        id=st.sampled_from(["*", "host.*", "host.shop/*", *IDS]),
        lane=st.sampled_from([None, "host", "mcp"]),
        effects=st.none() | effects.map(tuple),
        effects_used=st.none() | effects.map(tuple),
        role=st.sampled_from([None, "*", "support"]),
        posture=st.sampled_from([None, None, Posture.HOST_FUNCTION]),
        arguments=st.none() | st.dictionaries(st.sampled_from("ab"), conditions, min_size=1),
    ),
    max_size=4,
)
requests = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "effects": effects,
        "approval": st.sampled_from(["none", "required"]),
        "arguments": st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, "a", True, None])),
        "effects_used": effects,
        "digest": st.sampled_from(["", "d"]),
        "workspace": st.just("w"),
    },
    optional={"role": st.sampled_from(["support", "boss"])},
)
answers = st.lists(st.sampled_from([*Decision, None, "yes", ValueError]), min_size=1, max_size=3)


def policy(name: str, said: Any) -> NamedPolicy:
    def evaluate(request: PolicyRequest) -> Any:
        if said is ValueError:
            raise said
        return Verdict(decision=said, rule="x") if isinstance(said, Decision) else said

    return NamedPolicy(name=name, distribution="acme", evaluate=evaluate)


def decided(request: PolicyRequest, operator: list[Rule], own: Sequence[Rule]) -> int:
    config = WorkspaceConfig(rules=tuple(own))
    engine = PolicyEngine(rules=operator, workspace_config=lambda _: config)
    return STRICTNESS[engine.decide(request).decision]


@given(operator=rules, own=rules, request_of=requests)
def test_workspace_rules_never_loosen(
    make_request: Make, operator: list[Rule], own: list[Rule], request_of: dict[str, Any]
) -> None:
    """Whatever a workspace says, the decision is at least as strict as without it."""
    config = WorkspaceConfig(rules=tuple(own))
    request = make_request(**request_of)

    without = PolicyEngine(rules=operator).decide(request).decision
    within = PolicyEngine(rules=operator, workspace_config=lambda _: config).decide(request)

    assert STRICTNESS[within.decision] >= STRICTNESS[without]


@given(operator=rules, own=rules, extra=rules, request_of=requests)
def test_more_workspace_rules_never_loosen(
    make_request: Make,
    operator: list[Rule],
    own: list[Rule],
    extra: list[Rule],
    request_of: dict[str, Any],
) -> None:
    """A workspace rule put before others hides none of them."""
    request = make_request(**request_of)

    assert decided(request, operator, [*extra, *own]) >= decided(request, operator, own)


@settings(deadline=None)
@given(operator=rules, said=answers, request_of=requests)
def test_plugin_policies_never_loosen_and_the_strictest_wins(
    make_request: Make, operator: list[Rule], said: list[Any], request_of: dict[str, Any]
) -> None:
    """The decision is the strictest of the rules' and every plugin's, garbage being a deny."""
    request = make_request(**request_of)
    without = PolicyEngine(rules=operator).decide(request).decision
    engine = PolicyEngine(
        rules=operator,
        plugin_policies=[policy(f"p{at}", each) for at, each in enumerate(said)],
        budget_s=20,
    )

    outcome = engine.decide(request)

    plain = [each if isinstance(each, Decision) else Decision.DENY for each in said]
    assert outcome.decision is max([without, *plain], key=STRICTNESS.__getitem__)
    assert engine.close() == ()


@settings(deadline=None)
@given(said=st.permutations([Decision.ALLOW, Decision.ASK, Decision.DENY]), request_of=requests)
def test_the_order_of_policies_changes_nothing(
    make_request: Make, said: list[Decision], request_of: dict[str, Any]
) -> None:
    """In whatever order plugins were installed, the outcome is the same to the letter."""
    request = make_request(**request_of)
    engines = [
        PolicyEngine(plugin_policies=[policy(each, each) for each in order], budget_s=20)
        for order in (said, list(Decision))
    ]

    first, second = (engine.decide(request) for engine in engines)

    assert first == second
    assert [engine.close() for engine in engines] == [(), ()]


@given(operator=rules, own=rules, request_of=requests)
def test_unknown_effects_are_allowed_by_no_rules(
    make_request: Make, operator: list[Rule], own: list[Rule], request_of: dict[str, Any]
) -> None:
    """Undeclared is never executed, nor even held for an approval."""
    config = WorkspaceConfig(rules=tuple(own))
    request = make_request(**{**request_of, "effects": [*request_of["effects"], "unknown"]})
    engine = PolicyEngine(rules=operator, workspace_config=lambda _: config)

    assert engine.decide(request).decision is Decision.DENY


@given(operator=rules, request_of=requests)
def test_only_an_exact_id_lifts_the_requirement_of_a_tool(
    make_request: Make, operator: list[Rule], request_of: dict[str, Any]
) -> None:
    """A tool that insists on an approval is allowed by a rule with its very id alone."""
    request = make_request(**{**request_of, "approval": "required"})
    outcome = PolicyEngine(rules=operator).decide(request)

    if outcome.decision is Decision.ALLOW:
        index = int(outcome.rule.removeprefix("rules[").removesuffix("]"))
        assert operator[index].id == request.tool.id
        assert operator[index].decision is Decision.ALLOW


@given(operator=rules, own=rules, many=st.lists(requests, min_size=2, max_size=6))
def test_remembering_changes_no_decision(
    make_request: Make, operator: list[Rule], own: list[Rule], many: list[dict[str, Any]]
) -> None:
    """An engine that has seen other calls decides as a fresh one does."""
    config = WorkspaceConfig(rules=tuple(own))
    requests_made = [
        make_request(
            **{**each, "digest": f"{each['id']} {sorted(each['effects'])} {each['approval']}"}
        )
        for each in many
    ]
    used = PolicyEngine(rules=operator, workspace_config=lambda _: config)

    for request in (*requests_made, *requests_made):
        fresh = PolicyEngine(rules=operator, workspace_config=lambda _: config)
        assert used.decide(request) == fresh.decide(request)
