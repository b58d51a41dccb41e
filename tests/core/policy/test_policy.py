"""The engine: what tightens, what is remembered, who is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holon_core.config import WorkspaceConfig, load_workspace
from holon_core.guard.panel import NamedPolicy
from holon_core.guard.policy import PolicyEngine
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.rule import Condition, Rule
from holon_core.records.words import Decision

Make = Callable[..., PolicyRequest]
ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def test_a_missing_guard_denies_every_call(make_request: Make) -> None:
    """A guard that is absent counts as deny, by its own code and with its name."""
    engine = PolicyEngine(missing_guards=lambda: ["acme-policy", "acme-review"])

    outcome = engine.decide(make_request())

    assert (outcome.decision, outcome.code) == (DENY, "guard_missing")
    assert outcome.reason == "missing guards: acme-policy, acme-review"
    assert [verdict.rule for verdict in outcome.trail] == ["guard:acme-policy", "guard:acme-review"]


def test_a_guard_that_goes_missing_denies_what_was_allowed(make_request: Make) -> None:
    """What was decided before is not remembered past the loss of a guard."""
    missing: list[str] = []
    engine = PolicyEngine(missing_guards=lambda: missing)
    request = make_request(digest="d")
    assert engine.decide(request).decision is ALLOW

    missing.append("acme-policy")

    assert engine.decide(request).code == "guard_missing"


def test_workspace_rules_tighten(make_request: Make, tmp_path: Path) -> None:
    """The strictest of all matching rules of the workspace wins over the operator's allow."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.holon]\nrules = [{decision = "ask"}, {name = "no", decision = "deny"}]\n'
    )
    engine = PolicyEngine(
        rules=[Rule(decision=ALLOW)], workspace_config=lambda _: load_workspace(tmp_path)
    )

    outcome = engine.decide(make_request(workspace="w1"))

    assert (outcome.decision, outcome.rule) == (DENY, 'workspace:w1:rules[1] "no"')
    assert [verdict.decision for verdict in outcome.trail] == [ALLOW, ASK, DENY]
    assert engine.decide(make_request()).decision is ALLOW


def test_an_allow_of_a_workspace_loosens_nothing(make_request: Make) -> None:
    """Even a record that holds an allow rule against the rules of the file is without effect."""
    config = WorkspaceConfig(rules=(Rule(decision=ALLOW),))
    engine = PolicyEngine(workspace_config=lambda _: config)

    assert engine.decide(make_request(workspace="w", effects=["process"])).decision is ASK


@pytest.mark.parametrize(
    "text", ["[tool.holon", '[tool.holon]\nrules = [{decision = "allow"}]'], ids=["toml", "allow"]
)
def test_a_broken_workspace_file_denies(make_request: Make, tmp_path: Path, text: str) -> None:
    """Rules that cannot be known deny every call in that workspace, with the finding."""
    (tmp_path / "pyproject.toml").write_text(text)
    engine = PolicyEngine(workspace_config=lambda _: load_workspace(tmp_path))

    outcome = engine.decide(make_request(workspace="w"))

    assert (outcome.decision, outcome.rule) == (DENY, "workspace:config")
    assert outcome.reason.startswith("pyproject.toml:")


def test_a_workspace_whose_configuration_raises_denies(make_request: Make) -> None:
    """A fault in finding the workspace's rules is no permission."""

    def lost(workspace: str) -> WorkspaceConfig:
        raise OSError("gone")

    outcome = PolicyEngine(workspace_config=lost).decide(make_request(workspace="w", digest="d"))

    assert (outcome.decision, outcome.rule) == (DENY, "workspace:config")
    assert outcome.reason == "its configuration raised OSError"


def test_a_change_of_the_workspace_rules_counts_at_once(make_request: Make) -> None:
    """A decision is remembered for one reading of the workspace's configuration only."""
    configs = [WorkspaceConfig()]
    engine = PolicyEngine(workspace_config=lambda _: configs[-1])
    request = make_request(workspace="w", digest="d")
    first = engine.decide(request)
    assert first.decision is ALLOW
    assert engine.decide(request) is first

    configs.append(WorkspaceConfig(rules=(Rule(decision=DENY),)))

    assert engine.decide(request).decision is DENY


def test_a_decision_is_remembered_by_all_that_rules_look_at(make_request: Make) -> None:
    """Another caller, posture, run history or definition is decided anew."""
    engine = PolicyEngine(
        rules=[
            Rule(decision=DENY, principal="bob"),
            Rule(decision=DENY, role="r"),
            Rule(decision=DENY, profile="p"),
            Rule(decision=DENY, plan_step="s"),
            Rule(decision=DENY, workspace="w"),
            Rule(decision=DENY, posture="dry_run"),
            Rule(decision=DENY, effects_used=("process",)),
        ]
    )
    assert engine.decide(make_request(digest="d")).decision is ALLOW

    for other in (
        {"principal": "bob"},
        {"role": "r"},
        {"profile": "p"},
        {"plan_step": "s"},
        {"workspace": "w"},
        {"posture": "dry_run"},
        {"effects_used": ["process"]},
    ):
        assert engine.decide(make_request(digest="d", **other)).decision is DENY, other
    assert engine.decide(make_request(digest="e", effects=["unknown"])).decision is DENY
    assert engine.decide(make_request(digest="d")).decision is ALLOW


def test_a_tool_without_digest_is_never_remembered(make_request: Make) -> None:
    """Nothing tells two tools apart that carry no digest."""
    engine = PolicyEngine()

    assert engine.decide(make_request(effects=["none"])).decision is ALLOW
    assert engine.decide(make_request(effects=["process"])).decision is ASK


@pytest.mark.parametrize("place", ["operator", "workspace"])
def test_a_decision_by_arguments_is_not_remembered(make_request: Make, place: str) -> None:
    """A rule on arguments is matched on every call, whoever wrote it."""
    rule = Rule(decision=DENY, arguments={"n": Condition(min=10)})
    config = WorkspaceConfig(rules=(rule,) if place == "workspace" else ())
    engine = PolicyEngine(
        rules=[rule] if place == "operator" else [], workspace_config=lambda _: config
    )

    said = [
        engine.decide(make_request(digest="d", workspace="w", arguments={"n": n})).decision
        for n in (1, 10, 1)
    ]

    assert said == [ALLOW, DENY, ALLOW]


def test_what_is_remembered_is_bounded(make_request: Make) -> None:
    """Callers and workspaces without end push the oldest out, and are decided rightly."""
    config = WorkspaceConfig()
    engine = PolicyEngine(workspace_config=lambda _: config)
    first = make_request(digest="d", workspace="w0")
    before = engine.decide(first)

    for number in range(5000):
        engine.decide(make_request(digest="d", workspace=f"w{number % 300}", role=str(number)))

    after = engine.decide(first)
    assert after == before
    assert after is not before


def test_an_engine_without_plugin_policies_needs_no_thread(make_request: Make) -> None:
    """Only the policies of plugins may wait."""
    engine = PolicyEngine()

    assert not engine.needs_thread
    assert engine.close() == ()


def test_every_plugin_policy_is_asked_and_named_in_order(make_request: Make) -> None:
    """The trail holds one verdict each, sorted by distribution and name."""
    said = {("b", "x"): DENY, ("a", "z"): ASK, ("a", "y"): ALLOW}

    def policy(distribution: str, name: str, decision: Decision) -> NamedPolicy:
        verdict = Verdict(decision=decision, rule="own", reason="because")
        return NamedPolicy(name=name, distribution=distribution, evaluate=lambda _: verdict)

    engine = PolicyEngine(plugin_policies=[policy(*key, said[key]) for key in said])

    outcome = engine.decide(make_request(digest="d"))

    assert engine.needs_thread
    assert (outcome.decision, outcome.rule, outcome.reason) == (DENY, "plugin:b/x", "because")
    assert [v.rule for v in outcome.trail[1:]] == ["plugin:a/y", "plugin:a/z", "plugin:b/x"]
    assert engine.close() == ()


def test_the_exact_rule_that_lifts_a_requirement_is_shown(make_request: Make) -> None:
    """The trail says by which rule the tool's own requirement was lifted."""
    engine = PolicyEngine(rules=[Rule(decision=ALLOW, id="host.shop/refund", name="ok")])

    trail = engine.decide(make_request(approval="required")).trail

    assert [(v.decision, v.rule) for v in trail] == [
        (ALLOW, 'rules[0] "ok"'),
        (ALLOW, "tool:approval"),
    ]
    assert trail[1].reason == 'lifted by rules[0] "ok", which names it exactly'
