"""Failures name places in a value: never a secret that stands there, nor what is marked."""

from pathlib import Path
from typing import Any

import pytest

import holon_core as holon

SECRET = "s3cr3t/Valu~3"
POINTED = "s3cr3t~1Valu~03"
INTEGERS = {"type": "object", "additionalProperties": {"type": "integer"}}

# What a tool does with the secret, and the schema that its output breaks by it.
ANSWERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "path": (
        lambda key: {"a": {key: {"b": "x"}}},
        {"properties": {"a": {"additionalProperties": INTEGERS}}},
    ),
    "unexpected": (lambda key: {key: 1}, {"properties": {"q": {}}, "additionalProperties": False}),
    "unevaluated": (lambda key: {key: 1}, {"unevaluatedProperties": False}),
    "cut": (
        lambda key: {"x" * 250 + key + "y" * 99: 1},
        {"properties": {"q": {}}, "additionalProperties": False},
    ),
    "names": (lambda key: {key: 1}, {"propertyNames": {"maxLength": 3}}),
    "number": (lambda key: {key: float("nan")}, {}),
    "large": (lambda key: {"a": [{key: 2**60}]}, {}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_output_that_does_not_fit_keeps_the_secret(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AB-EVIDENCE-001: not in the answer, nor in what is kept for the key, nor in the store."""
    monkeypatch.setenv("SHOP_KEY", SECRET)
    answer, schema = ANSWERS[name]

    def leak(key: str) -> Any:
        """Answer with the secret as a name."""
        return answer(key)

    with holon.Runtime.open(tmp_path / "root", discover=False) as rt:
        rt.register(
            leak,
            effects={"none"},
            secrets={"key": "env:SHOP_KEY"},
            output_schema={"type": "object", **schema},
        )
        session = rt.session(principal="ann")
        first = session.call("host.app/leak", {}, key="k")
        again = session.call("host.app/leak", {}, key="k")
    assert first.failure is not None
    assert first.failure.code in ("output_schema", "output_not_json")
    assert again.failure is not None
    for shown in (repr(first), first._repr_html_(), repr(again)):
        assert "s3cr3t" not in shown
    assert all(b"s3cr3t" not in file.read_bytes() for file in (tmp_path / "root").glob("holon.db*"))


MARKED = {"type": "object", "x-holon-secret": True}
INSIDE: dict[str, tuple[dict[str, Any], Any, str]] = {
    "value": ({**MARKED, "additionalProperties": {"type": "integer"}}, {"TOPSECRET": "x"}, "/p"),
    "unexpected": (
        {**MARKED, "properties": {"q": {}}, "additionalProperties": False},
        {"TOPSECRET": "x"},
        "/p",
    ),
    "names": ({**MARKED, "propertyNames": {"maxLength": 2}}, {"TOPSECRET": "x"}, "/p"),
    "item": ({"type": "array", "items": INTEGERS | MARKED}, [{}, {"TOPSECRET": "x"}], "/p/1"),
    "key": (
        INTEGERS | {"additionalProperties": INTEGERS | MARKED},
        {"7": {"TOPSECRET": "x"}},
        "/p/7",
    ),
    "number": (MARKED, {"TOPSECRET": 2**60}, "/p"),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_is_wrong_inside_a_marked_field_is_told_of_the_field(name: str) -> None:
    """Neither answer, evidence nor explanation repeats a name that the field holds."""
    schema, value, path = INSIDE[name]
    whole = {"type": "object", "properties": {"p": schema}}
    with holon.Runtime.in_memory() as rt:
        rt.register(lambda **_: None, name="take", effects={"none"}, input_schema=whole)
        rt.register(lambda: {"p": value}, name="give", effects={"none"}, output_schema=whole)
        session = rt.session(principal="ann")
        for result in (
            session.call("host.app/take", {"p": value}),
            session.call("host.app/give"),
        ):
            assert result.failure is not None
            told = result.failure.details
            assert told.get("path", told.get("errors", [{}])[0].get("path")) == path
            kept = [(each.body, each.payload) for each in rt.evidence.read(result.call_id)]
            assert "TOPSECRET" not in repr(result) + repr(kept)
        assert "TOPSECRET" not in repr(session.explain("host.app/take", {"p": value}))


def test_a_key_that_appears_twice_inside_a_marked_field_is_not_named() -> None:
    """The text of the arguments is refused before there is a value to mask."""
    whole = {"type": "object", "properties": {"p": MARKED}}
    with holon.Runtime.in_memory() as rt:
        rt.register(lambda **_: None, name="take", effects={"none"}, input_schema=whole)
        text = '{"p": {"TOPSECRET": 1, "TOPSECRET": 2}}'
        result = rt.session(principal="ann").call("host.app/take", text)
    assert result.failure is not None
    assert result.failure.message == "what it holds breaks duplicate_key at /p"


def test_a_fault_outside_a_marked_field_is_told_in_full() -> None:
    """The name that is one too many helps whoever calls."""
    whole = {"type": "object", "properties": {"p": MARKED}, "additionalProperties": False}
    with holon.Runtime.in_memory() as rt:
        rt.register(lambda **_: None, name="take", effects={"none"}, input_schema=whole)
        wrong = rt.session(principal="ann").call("host.app/take", {"p": {}, "q": 1}).failure
        kind = rt.session(principal="ann").call("host.app/take", {"p": 3}).failure
    assert wrong is not None
    assert "'q' was unexpected" in wrong.message
    assert kind is not None
    assert kind.message == 'the value is not of type "object" at /p'


def test_no_record_holds_a_secret_that_a_caller_or_operator_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ids that nothing has, runs, reasons: a known value is found in each, the cached too."""
    monkeypatch.setenv("SHOP_KEY", SECRET)

    def take(key: str) -> None:
        """Take it."""

    with holon.Runtime.in_memory() as rt:
        rt.register(take, effects={"none"}, secrets={"key": "env:SHOP_KEY"})
        session = rt.session(principal="ann", run=SECRET)
        # The first call is accepted before the value is fetched, and so known.
        first = session.call("host.app/take")
        known = [session.call("host.app/take"), session.call(f"host.app/{SECRET}")]
        rt.tools.pin("host.app/take", by="op", reason=f"uses {SECRET}")
        rt.tools.unpin("host.app/take", by="op", reason=f"used {SECRET}")
        records = rt.evidence.list(workspace=None, limit=1000)
    later = [each for each in records if each.call_id != first.call_id]
    assert {"accepted", "refused", "pinned", "unpinned"} <= {each.kind for each in later}
    assert SECRET not in repr([each.body for each in later])
    assert [bool(each) for each in known] == [True, False]
    assert later[0].body["caller"]["run"] == "[redacted:key]"


def test_who_calls_is_told_whatever_secrets_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record without its principal would be nobody's."""
    monkeypatch.setenv("SHOP_KEY", "anna")

    def take(key: str) -> None:
        """Take it."""

    with holon.Runtime.in_memory() as rt:
        rt.register(take, effects={"none"}, secrets={"key": "env:SHOP_KEY"})
        session = rt.session(principal="anna")
        results = [session.call("host.app/take") for _ in range(3)]
        callers = [rt.evidence.read(each.call_id)[0].body["caller"] for each in results]
    assert [each["principal"] for each in callers] == ["anna"] * 3


def test_a_long_name_or_message_is_not_told_in_part() -> None:
    """A part of a name could be of a secret; what a schema says may be cut."""
    whole = {"type": "object", "properties": {"p": {"enum": ["x" * 400]}}}
    with holon.Runtime.in_memory() as rt:
        rt.register(lambda **_: None, name="take", effects={"none"}, input_schema=whole)
        session = rt.session(principal="ann")
        twice = session.call("host.app/take", f'{{"{"y" * 81}": 1, "{"y" * 81}": 2}}').failure
        cut = session.call("host.app/take", {"p": 1}).failure
    assert twice is not None
    assert twice.message.startswith("the key of 81 characters appears twice at ")
    assert cut is not None
    assert "…" in cut.message
