"""What registering a function says of what its author left out or wrote wrongly."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import holon_core as holon
from holon_core.records.words import Severity


def test_a_misspelt_option_at_registration_is_told_with_the_nearest_one() -> None:
    """The same as at the decorator, also for a function that carries options already."""

    @holon.tool(effects={"none"})
    def ping() -> int:
        return 1

    with holon.Runtime.in_memory() as rt:
        with pytest.raises(holon.Misuse, match="did you mean timeout_s"):
            rt.register(ping, timeot_s=3)
        with pytest.raises(holon.Misuse, match="did you mean effects"):
            rt.register(len, efects={"none"})

        assert len(rt.tools) == 0


def test_missing_effects_and_hints_are_found() -> None:
    """A tool whose calls are all refused says so when it is registered, not at the first call."""

    def send(to) -> str:
        return str(to)

    with holon.Runtime.in_memory() as rt:
        tool = rt.register(send)
        found = {each.path: each for each in rt.tools.findings(tool.id)}

    assert found["/effects"].code == "effects_undeclared"
    assert "no type hint" in found["/parameters/to"].message
    assert {each.severity for each in found.values()} == {Severity.WARNING}


def test_declared_effects_are_not_complained_about() -> None:
    """Where all is said, nothing is found."""
    with holon.Runtime.in_memory() as rt:
        tool = rt.register(lambda: 1, name="one", effects={"none"})

        assert rt.tools.findings(tool.id) == ()


def test_a_malformed_secret_reference_is_refused_by_its_parameter() -> None:
    """The parameter is named, and what stands there never: it may be the secret itself."""

    @holon.tool(effects={"network_read"}, secrets={"token": "hunter2-hunter2"})
    def ask(token: str) -> str:
        return token

    with holon.Runtime.in_memory() as rt, pytest.raises(holon.Rejected) as refused:
        rt.register(ask)

    assert [each.path for each in refused.value.findings] == ["/secrets/token"]
    assert "scheme:rest" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["tools", "plugins", "required_plugins"])
@pytest.mark.parametrize("given", [len, "notes", 5], ids=["function", "text", "number"])
def test_one_where_a_list_is_wanted_is_misuse(name: str, given: Any) -> None:
    """A function or a name by itself is no list of them."""
    with pytest.raises(holon.Misuse, match=f"{name} takes several"):
        holon.Runtime.in_memory(**{name: given})


def test_what_is_no_function_is_called_so() -> None:
    """A text among the tools is not taken for a class."""
    with pytest.raises(holon.Rejected, match="str is no function"):
        holon.Runtime.in_memory(tools=["x"])  # type: ignore[list-item]


def test_a_runtime_is_not_made_by_its_class() -> None:
    """Whoever calls the class is told how a runtime is opened."""
    with pytest.raises(holon.Misuse, match=r"Runtime\.open"):
        holon.Runtime("root")  # type: ignore[arg-type]


def test_a_closed_runtime_is_not_entered_again() -> None:
    """A `with` on it fails at its first line and not at the first call in it."""
    rt = holon.Runtime.in_memory()
    rt.close()

    with pytest.raises(holon.RuntimeNotOpen), rt:
        raise AssertionError("entered")


async def _enter(rt: holon.Runtime) -> None:
    async with rt:
        raise AssertionError("entered")


def test_a_closed_runtime_is_not_entered_again_by_a_coroutine() -> None:
    """As for `with`."""
    import asyncio

    rt = holon.Runtime.in_memory()
    rt.close()

    with pytest.raises(holon.RuntimeNotOpen):
        asyncio.run(_enter(rt))


@pytest.mark.parametrize("word", ["refuse", "deny", None])
def test_a_verdict_takes_decisions_alone(word: Any) -> None:
    """Anything else is refused where it is written, not when the policy is asked."""
    with pytest.raises(holon.Misuse, match=r"Decision\.ALLOW, ASK or DENY"):
        holon.Verdict(decision=word, rule="r")


def test_the_sink_for_opentelemetry_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the package the error says what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ImportError, match=r"holon-core\[otel\]"):
        holon.OpenTelemetrySink()


def test_a_bad_setting_of_the_program_is_not_blamed_on_the_file() -> None:
    """What an argument says wrongly is rejected under another name than `holon.toml`."""
    with pytest.raises(holon.Rejected) as refused:
        holon.Runtime.in_memory(config={"limits.timeout": 3})

    assert refused.value.subject == "settings"
    assert "argument limits.timeout" in str(refused.value)
