"""A package's hint of a binding: taken one at a time, with the word of a named operator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_adapters.plugin as adapters
import holon_core as holon
from holon_core import Rejected, Status
from holon_core.records.rule import Rule
from hostile_http import Hostile, hostile
from plugin_packages import Asked, capability, manifest, opened, write_package

SAY = "holon-plugin-packages.acme.tools/say"
OTHER = "https://other.example"
DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "operations": [
        {
            "id": "say",
            "method": "POST",
            "path": "/say-back",
            "description": "Say it back.",
            "body": {"schema": {"type": "object"}},
            "responses": {"200": {"schema": {"type": "object"}}},
        }
    ],
}


@pytest.fixture
def api() -> Iterator[Hostile]:
    """The API that the package would use."""
    with hostile() as server:
        yield server


@pytest.fixture
def ask(tmp_path: Path, api: Hostile) -> Iterator[Asked]:
    """Both lanes, the package installed and the adapter registered; nothing is bound."""
    hints = [
        {"adapter": "voice", "server": api.url, "capability": SAY, "operation": "say"},
        {"adapter": "shop", "server": OTHER},
        {"adapter": "shop", "server": f"{OTHER}/v2"},
    ]
    offered = capability(lane="api", effects=["network_write"])
    given = manifest(capabilities=[offered], adapter_bindings=hints)
    rules = [Rule(name="all", decision=holon.Decision.ALLOW)]
    with opened(tmp_path / "root", adapters, config={"rules": rules}) as rt:
        ask = Asked(rt)
        ask.installed(write_package(tmp_path / "acme", given))
        for name in ("voice", "shop"):
            ask("adapter/register", name=name, document=DOCUMENT)
        yield ask


def test_a_hint_is_accepted_step_by_step_until_the_capability_runs(ask, api) -> None:
    """The server by one word of the operator's, the capability by another; each is recorded."""
    (hint, *_) = ask("plugin-package/read", package="acme.tools")["adapter_bindings"]
    loopback = ["loopback"]

    bound = ask(
        "adapter/bind", server=api.url, allow_addresses=loopback, hint=hint, reason="read it"
    )["adapter"]
    before = ask.session.call(SAY, {"text": "hi"})
    ask("adapter/bind", name="voice", capability=SAY, operation="say", hint=hint, reason="same")
    ask("skill/approve-execution", skill=SAY, posture="adapter_forwarded", reason="reviewed")
    after = ask.session.call(SAY, {"text": "hi"})

    assert (bound["bound_by"], bound["binding"]["proposed_by"]) == ("ann", "acme.tools")
    assert before.status is Status.BLOCKED
    assert after.output == {"text": "hi"}
    assert len(api.seen) == 1


def test_the_package_alone_tells_its_one_proposal_for_an_adapter(ask, api) -> None:
    """The operator still says the server, and it has to be the proposed one."""
    words = {"name": "voice", "allow_addresses": ["loopback"], "reason": "read it"}

    with pytest.raises(Rejected) as rejected:
        ask("adapter/bind", **words, server=OTHER, hint={"package": "acme.tools"})
    made = ask("adapter/bind", **words, server=api.url, hint={"package": "acme.tools"})

    assert [each.path for each in rejected.value.findings] == ["/hint/server"]
    assert made["adapter"]["binding"]["proposed_by"] == "acme.tools"


HINTS: dict[str, tuple[Any, str]] = {
    "of a package that is not there": ({"package": "acme.other"}, "/hint/package"),
    "that the package does not make": (
        {"package": "acme.tools", "server": "https://evil.example"}, "/hint/package"
    ),
    "that may be either of two": ({"package": "acme.tools"}, "/hint/package"),
    "with a secret": ({"package": "acme.tools", "secrets": {"t": "env:T"}}, "/hint/secrets"),
    "with addresses": ({"allow_addresses": ["loopback"]}, "/hint/allow_addresses"),
    "of another adapter": ({"adapter": "voice", "server": OTHER}, "/hint/adapter"),
}  # fmt: skip


@pytest.mark.parametrize("case", HINTS)
def test_a_hint_that_is_no_proposal_binds_nothing(ask, case) -> None:
    """It is rejected with its place, and the adapter stays as it was."""
    hint, path = HINTS[case]

    with pytest.raises(Rejected) as rejected:
        ask("adapter/bind", name="shop", server=OTHER, hint=hint, reason="read it")

    assert path in [each.path for each in rejected.value.findings]
    assert ask("adapter/read", name="shop")["bound_to"] is None


def test_hints_are_taken_one_at_a_time(ask) -> None:
    """A list of them is no hint."""
    hints = ask("plugin-package/read", package="acme.tools")["adapter_bindings"]

    with pytest.raises(holon.Refused) as refused:
        ask("adapter/bind", name="shop", server=OTHER, hint=hints, reason="read it")

    assert refused.value.failure.details["path"] == "/hint"


def test_a_hint_is_an_operators_to_take(ask) -> None:
    """Whoever has no such authority binds nothing, whatever a package proposes."""
    params = {"name": "shop", "server": OTHER, "hint": {"adapter": "shop"}, "reason": "x"}

    with pytest.raises(holon.Refused) as refused:
        ask.rt.dispatch("adapter/bind", params, caller=ask.session.caller, authorities=())

    assert refused.value.failure.code == "not_allowed"
