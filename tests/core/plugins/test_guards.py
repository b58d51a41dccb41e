"""Guards that belong to a storage root: one that is missing denies every call, with its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from door import answer_of, kinds
from sample_lanes import Lane, Site, plugin, problems

ALLOW = """
import holon_core as holon

class Allow:
    name = "allow"
    def evaluate(self, request):
        return holon.Verdict(decision=holon.Decision.ALLOW, rule="r")

@holon.hookimpl
def holon_policies(host):
    return [Allow()]
"""


class Policy:
    name = "allow"

    def evaluate(self, request):
        return holon.Verdict(decision=holon.Decision.ALLOW, rule="r")


class Sink:
    def __init__(self, *, required: bool) -> None:
        self.name = "sink"
        self.required = required

    def write(self, records):
        pass


class Provider:
    scheme = "vault"

    def resolve(self, ref):
        return "x"


def policies(host: Any) -> list[Any]:
    return [Policy()]


def review(candidate: Any, previous: Any) -> list[Any]:
    return []


GUARDS = {
    "policy acme/allow": plugin("acme", policies=policies),
    "reviewer acme": plugin("acme", review_registration=review),
    "secret provider acme/vault": plugin("acme", secret_providers=lambda host: [Provider()]),
    "sink acme/sink": plugin("acme", evidence_sinks=lambda host: [Sink(required=True)]),
}


def read() -> int:
    """Read nothing."""
    return 1


READ = holon.tool(effects={"none"})(read)


def call(rt: holon.Runtime) -> Any:
    return rt.session(principal="p").call("host.app/read")


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_that_was_active_and_is_gone_denies(open_runtime, name: str) -> None:
    """Policy, reviewer, secret provider or required sink: each belongs to the root from then on."""
    with open_runtime(GUARDS[name], discover=False, tools=[READ]) as first:
        assert call(first).status is holon.Status.COMPLETED

    rt = open_runtime(discover=False, tools=[READ])

    result = call(rt)
    assert rt.plugins.missing_guards() == (name,)
    assert (result.status, result.failure.code) == (holon.Status.BLOCKED, "guard_missing")
    assert str(result.failure.kind) == "policy_denied"
    assert name in result.failure.message


def test_a_sink_that_nobody_requires_is_no_guard(open_runtime) -> None:
    """Only one marked required belongs to the root."""
    sinking = plugin("acme", evidence_sinks=lambda host: [Sink(required=False)])
    open_runtime(sinking, discover=False).close()

    assert call(open_runtime(discover=False, tools=[READ])).status is holon.Status.COMPLETED


def test_an_operator_retires_a_guard(open_runtime) -> None:
    """From then on calls go on, here and after the next opening; evidence says who and why."""
    open_runtime(GUARDS["policy acme/allow"], discover=False).close()
    rt = open_runtime(discover=False, tools=[READ])

    rt.plugins.retire("policy acme/allow", by="olga", reason="replaced")

    assert call(rt).status is holon.Status.COMPLETED
    records = rt.evidence.list(workspace=None, limit=100)
    record = next(each for each in records if each.kind == "guard_retired")
    assert (record.body["by"], record.body["reason"], record.body["guard"]) == (
        "olga",
        "replaced",
        "policy acme/allow",
    )
    assert open_runtime(discover=False).plugins.missing_guards() == ()


def test_what_is_not_missing_can_not_be_retired(open_runtime) -> None:
    """Neither an unknown guard nor one that is active, nor without a name and reason."""
    rt = open_runtime(GUARDS["policy acme/allow"], discover=False)

    for guard, code in (
        ("policy nobody/x", "unknown_guard"),
        ("policy acme/allow", "guard_active"),
    ):
        with pytest.raises(holon.Refused) as caught:
            rt.plugins.retire(guard, by="olga", reason="r")
        assert caught.value.failure.code == code
        assert "key" not in caught.value.failure.next_action
    for by, reason in (("", "r"), ("olga", " "), (None, "r")):
        with pytest.raises(holon.Misuse):
            rt.plugins.retire("policy acme/allow", by=by, reason=reason)
    assert "guard_retired" not in kinds(rt)


@pytest.mark.parametrize("named", ["acme", "acme-dist"])
def test_a_required_plugin_that_is_absent_denies(site: Site, open_runtime, named: str) -> None:
    """By the plugin's name or its distribution's, whether or not it was ever there."""
    rt = open_runtime(tools=[READ], required_plugins=[named])
    assert named in call(rt).failure.message
    rt.close()
    site.add("acme-dist", points={"acme": "acme_dist"})

    assert call(open_runtime(tools=[READ], required_plugins=[named])).failure is None


def test_holon_toml_may_require_a_plugin(open_runtime, tmp_path: Path) -> None:
    """The operator's file counts beside the host's argument."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "holon.toml").write_text('required_plugins = ["acme"]\n', encoding="utf-8")

    rt = open_runtime(discover=False, tools=[READ], required_plugins=["other"])

    assert rt.plugins.missing_guards() == ("acme", "other")
    assert "holon.toml:1" in rt.plugins.remedy("acme")
    assert "given by the program" in rt.plugins.remedy("other")


def test_a_required_name_is_corrected_where_it_stands(site: Site, open_runtime) -> None:
    """It never belonged to the root, so that no advice is to retire it, and retiring says so."""
    site.add("acme-guard")
    rt = open_runtime(tools=[READ], required_plugins=["acme-gaurd"])

    assert "retire" not in call(rt).failure.next_action
    remedy = rt.plugins.remedy("acme-gaurd")
    assert "did you mean acme-guard" in remedy
    with pytest.raises(holon.Refused) as refused:
        rt.plugins.retire("acme-gaurd", by="olga", reason="r")
    assert refused.value.failure.code == "unknown_guard"
    assert remedy in refused.value.failure.message
    caller = rt.session(principal="olga").caller
    listed = rt.dispatch("plugin/list", {}, caller=caller, authorities=[holon.Authority.OPERATOR])
    assert listed["remedies"] == {"acme-gaurd": remedy}


def test_a_setting_that_lets_in_nobody_is_named(site: Site, open_runtime) -> None:
    """A part of a name is no name; what the setting leaves out is not said to be missing."""
    site.add("acme-guard")
    with open_runtime() as rt:
        assert rt.plugins.unmatched() == ()

    rt = open_runtime(config={"plugins": ["guard", "first-party"]})

    assert rt.plugins.unmatched() == ("guard",)
    left_out = rt.session(principal="p").call("acme-guard/say").failure
    assert left_out.code == "dependency_missing"
    assert "the setting plugins (argument) leaves it out" in left_out.message


@pytest.mark.parametrize(
    "damage",
    [
        "raise SystemExit",
        ALLOW + "\n@holon.hookimpl\ndef holon_services(host, nosuch): ...\n",
        ALLOW.replace("return [Allow()]", "raise RuntimeError('later')"),
        ALLOW.replace("return [Allow()]", "return [None]"),
        ALLOW.replace('name = "allow"', 'name = "other"'),
    ],
    ids=["import", "signature", "hook", "garbage", "renamed"],
)
def test_a_guard_whose_plugin_breaks_counts_as_missing(
    site: Site, open_runtime, damage: str
) -> None:
    """Quarantined, raising or without its policy: the calls wait for an operator."""
    import sys

    module = site.add("acme", ALLOW)
    assert call(open_runtime(tools=[READ])).status is holon.Status.COMPLETED
    site.add("acme", damage)
    del sys.modules[module]

    rt = open_runtime(tools=[READ])

    result = call(rt)
    assert result.failure.code == "guard_missing"
    assert "policy acme/allow" in result.failure.message


def test_a_guard_switched_off_counts_as_missing(site: Site, open_runtime) -> None:
    """discover=False and HOLON_PLUGINS turn no policy off."""
    site.add("acme", ALLOW)
    open_runtime().close()

    for options in ({"discover": False}, {"config": {"plugins": []}}):
        result = call(open_runtime(tools=[READ], **options))
        assert result.failure.code == "guard_missing"


def late(host: Any) -> Any:
    """Offer one of each and raise afterwards: how many there would have been is not known."""
    yield type("Both", (Policy, Provider, Sink), {})(required=False)
    raise LookupError


@pytest.mark.parametrize("answer", [lambda host: 1 // 0, lambda host: [object()], late])
@pytest.mark.parametrize(
    ("hook", "kind"),
    [
        ("policies", "policy"),
        ("evidence_sinks", "sink"),
        ("secret_providers", "secret provider"),
    ],
)
def test_a_guard_that_never_could_be_had_denies_while_it_is_here(
    open_runtime, hook: str, kind: str, answer: Any
) -> None:
    """A plugin that means to guard and can't is a no; without the plugin it never belonged."""
    trying = plugin("trying", **{hook: answer})
    with open_runtime(trying, discover=False, tools=[READ]) as rt:
        assert f"{kind} trying" in rt.plugins.missing_guards()
        assert call(rt).failure.code == "guard_missing"
    if answer is late:
        # What it offered before is a guard by itself.
        return

    assert call(open_runtime(discover=False, tools=[READ])).failure is None


def test_a_retirement_by_another_process_is_noticed(open_runtime, tmp_path: Path) -> None:
    """A runtime that denies for a guard goes on once an operator retired it elsewhere."""
    open_runtime(GUARDS["policy acme/allow"], discover=False).close()
    rt = open_runtime(discover=False, tools=[READ])
    assert call(rt).failure.code == "guard_missing"

    code = """
import json, sys, holon_core as holon
with holon.Runtime.open(sys.argv[1], discover=False) as rt:
    rt.plugins.retire("policy acme/allow", by="olga", reason="gone")
    print(json.dumps(rt.plugins.missing_guards()))
"""
    assert answer_of(code, str(tmp_path / "root")) == []

    assert call(rt).status is holon.Status.COMPLETED


def test_a_guard_that_comes_in_another_process_binds_this_one(open_runtime, tmp_path: Path) -> None:
    """Who opened the root before the guard came does not go on without it."""
    rt = open_runtime(discover=False, tools=[READ])
    assert call(rt).status is holon.Status.COMPLETED

    code = f"""
import json, sys, types
module = types.ModuleType("acme")
exec({ALLOW!r}, module.__dict__)
import holon_core as holon
with holon.Runtime.open(sys.argv[1], discover=False, plugins=[module]) as rt:
    print(json.dumps([each.active for each in rt.plugins.list()]))
"""
    assert answer_of(code, str(tmp_path / "root")) == [True]

    result = call(rt)
    assert result.failure.code == "guard_missing"
    assert "policy acme/allow" in result.failure.message


@pytest.mark.parametrize(
    ("hook", "offered", "said"),
    [
        ("policies", Sink(required=True), "no attribute 'evaluate'"),
        ("policies", plugin("x", services=policies), "it has no evaluate"),
        ("evidence_sinks", Policy(), "no attribute 'required'"),
        ("evidence_sinks", Sink(required=1), "required is true or false"),  # type: ignore[arg-type]
        ("secret_providers", Policy(), "no attribute 'scheme'"),
        ("secret_providers", None, "no attribute 'scheme'"),
    ],
)
def test_what_is_no_guard_is_reported(open_runtime, hook: str, offered: Any, said: str) -> None:
    """Objects of another shape are refused with what they lack."""
    if hook == "policies" and not hasattr(offered, "required"):
        offered.evaluate = None

    rt = open_runtime(plugin("acme", **{hook: lambda host: [offered]}), discover=False)

    assert said in problems(rt, "acme")


@pytest.mark.parametrize("scheme", ["env", "file", "keyring", "secret", "", "Bad", 5])
def test_reserved_and_malformed_schemes_are_refused(open_runtime, scheme: Any) -> None:
    """The core's own schemes are nobody else's."""

    class Other(Provider):
        pass

    Other.scheme = scheme
    rt = open_runtime(plugin("acme", secret_providers=lambda host: [Other()]), discover=False)

    assert "it offered Other" in problems(rt, "acme")


def test_a_scheme_that_two_offer_is_refused_for_both(open_runtime) -> None:
    """Which of them would see the reference is nothing to decide by order."""
    one, two = (plugin(name, secret_providers=lambda host: [Provider()]) for name in ("a", "b"))

    rt = open_runtime(one, two, Lane("c", "x"), discover=False)

    said = "the secret scheme vault is offered more than once, by a, b"
    assert (problems(rt, "a"), problems(rt, "b")) == (said, said)


def test_an_interrupt_while_a_guard_is_looked_at_passes(open_runtime) -> None:
    """The user's interrupt ends the opening."""

    class Interrupting:
        @property
        def scheme(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_runtime(plugin("x", secret_providers=lambda host: [Interrupting()]), discover=False)
