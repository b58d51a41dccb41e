"""What an approver is shown of a held call, and what never reaches the screen."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.guard.approval_lines import lines
from holon_core.records.approval_view import FlagCode
from holon_core.visible import has_unseen

SECRET_SCHEMA = {
    "type": "object",
    "properties": {
        "password": {"type": "string", "x-holon-secret": True},
        "pin": {"type": "integer", "x-holon-secret": True},
        "login": {
            "type": "object",
            "properties": {"tokens": {"type": "array", "items": {"x-holon-secret": True}}},
        },
    },
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=4), json_values, max_size=4)


def test_facts_say_who_what_and_until_when(view):
    """Everything that Holon itself vouches for stands in one place."""
    shown = view({"to": "bob"}, on_behalf_of="eve", role="support", profile="mail", key="k1")

    facts = shown.facts
    assert (facts["principal"], facts["on_behalf_of"]) == ("ann", "eve")
    assert (facts["role"], facts["profile"], facts["workspace"]) == ("support", "mail", "w1")
    assert (facts["tool"], facts["version"]) == ("acme.mail/send", "3")
    assert (facts["distribution"], facts["distribution_version"]) == ("acme-mail", "3.1")
    assert (facts["lane"], facts["posture"]) == ("adapter", "adapter_live")
    assert (facts["effects"], facts["side_effect_class"]) == (["network_write"], "network_write")
    assert facts["approval_requirement"] == "required"
    assert (facts["expires_in_s"], facts["idempotency_key"]) == (540, "k1")


@pytest.mark.parametrize(
    ("tool", "told"),
    [({}, "an approval"), ({"approval": "none"}, "no approval")],
    ids=["required", "none"],
)
def test_what_the_tool_itself_requires_is_no_word_on_the_call(view, tool, told):
    """The call waits, whatever the tool says: a bare "approval: none" would belie that."""
    facts = [line for section, line in lines(view({}, tool=tool)) if section == "facts"]

    assert f"the tool itself requires: {told}" in facts
    assert not any(line.startswith("approval_requirement") for line in facts)


def test_an_expired_approval_expires_in_no_time(view):
    """The rest of its life never goes below zero."""
    assert view({}, now=1_800_000_000).facts["expires_in_s"] == 0


@pytest.mark.parametrize(("operator", "may"), [(None, False), ("bob", False), ("ann", True)])
def test_the_view_says_whether_the_one_who_asked_may_approve(view, operator, may):
    """Only the operator of a runtime for one person may approve an own call."""
    assert view({}, operator=operator).facts["self_approval"] is may


def test_the_payload_is_shown_whole_and_as_it_is(view):
    """A payload within the bound is valid JSON of exactly the arguments."""
    arguments = {"b": [1, {"c": None}], "a": "naïve ✓"}

    shown = view(arguments).payload

    assert json.loads(shown.text) == arguments
    assert not shown.cut


def test_an_escaped_character_and_the_text_of_an_escape_differ(view):
    """An approver can tell a real override from someone who merely wrote its escape."""
    real, written = view({"a": "\u202e"}).payload.text, view({"a": "\\u202e"}).payload.text

    assert '"\\u202e"' in real
    assert '"\\\\u202e"' in written


def test_a_payload_over_the_bound_is_cut_with_a_note(view):
    """Head and tail stay, with the digest of the whole; it is never silently shorter."""
    shown = view({"text": "x" * 200_000, "z": "the end"}).payload

    assert shown.cut
    assert len(shown.text.encode()) < 66_000
    assert shown.sha256 in shown.text
    assert "bytes are not shown" in shown.text
    assert "the end" in shown.text
    assert shown.total_bytes > 200_000


def test_marked_secrets_are_masked_in_payload_request_and_difference(view):
    """A value whose place the schema marks is nowhere, whatever the lane's dry run repeats."""
    arguments = {
        "password": "hunter2-hunter2",
        "pin": 123,
        "login": {"tokens": ["tok-aaaa-1", "tok-bbbb-2"]},
        "to": "bob",
    }
    shown = view(
        arguments,
        last={**arguments, "password": "older-password"},
        tool={"input_schema": SECRET_SCHEMA},
        preview={
            "arguments": arguments,
            "line": "login -p hunter2-hunter2 tok-bbbb-2",
            "list": [123, True],
        },
    )

    whole = json.dumps(shown.to_json()) + repr(lines(shown))
    for secret in ("hunter2", "tok-", "older-password", "123,"):
        assert secret not in whole
    assert json.loads(shown.payload.text)["to"] == "bob"
    change = shown.difference[0]
    assert (change.path, change.before, change.after) == (
        "/arguments/password",
        '"[redacted]"',
        '"[redacted]"',
    )


def test_all_that_a_marked_container_holds_is_hidden_in_the_request(view):
    """Names and values inside a marked object or list are secrets as well."""
    schema = {"properties": {"keys": {"x-holon-secret": True}, "list": {"x-holon-secret": True}}}
    arguments = {"keys": {"name-of-key": ["value-one", True, None]}, "list": ["value-two", 424242]}

    shown = view(
        arguments,
        tool={"input_schema": schema},
        preview={"all": [{"name-of-key": "x value-one"}, "value-two", 424242, True, None]},
    )

    assert json.loads(shown.payload.text) == {"keys": "[redacted]", "list": "[redacted]"}
    whole = json.dumps(shown.to_json())
    assert not any(part in whole for part in ("name-of-key", "value-", "424242"))
    assert json.loads(shown.request.text)["all"][3:] == [True, None]


def test_the_unmarked_neighbours_of_a_secret_stay(view):
    """A list with a secret at one place shows its other places, in both versions."""
    schema = {"properties": {"l": {"prefixItems": [{}, {"x-holon-secret": True}]}}}

    shown = view(
        {"l": ["a", "secret-1"]}, last={"l": ["b", "secret-1"]}, tool={"input_schema": schema}
    )

    assert json.loads(shown.payload.text) == {"l": ["a", "[redacted]"]}
    assert [(c.path, c.before, c.after) for c in shown.difference] == [
        ("/arguments/l/0", '"b"', '"a"')
    ]


def test_an_equal_secret_is_no_difference(view):
    """Masked values are compared as they are, not as they are shown."""
    arguments = {"password": "hunter2-hunter2"}

    shown = view(arguments, last=dict(arguments), tool={"input_schema": SECRET_SCHEMA})

    assert shown.compared
    assert shown.difference == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2}, [("/arguments/a", "changed", "1", "2")]),
        ({"a": 1}, {"a": True}, [("/arguments/a", "changed", "1", "true")]),
        ({"a": None}, {}, [("/arguments/a", "removed", "null", None)]),
        ({}, {"a": None}, [("/arguments/a", "added", None, "null")]),
        ({"a": {"b": 1}}, {"a": [1]}, [("/arguments/a", "changed", '{"b": 1}', "[1]")]),
        ({"l": [1, 2, 3]}, {"l": [0, 1, 2, 3]}, [("/arguments/l/0", "added", None, "0")]),
        ({"l": [1, 2, 3]}, {"l": [1, 3]}, [("/arguments/l/1", "removed", "2", None)]),
        ({"l": [{"x": 1}]}, {"l": [{"x": 2}]}, [("/arguments/l/0/x", "changed", "1", "2")]),
        ({"a/b~": 1}, {"a/b~": 2}, [("/arguments/a~1b~0", "changed", "1", "2")]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ],
)
def test_the_difference_names_the_smallest_place(view, before, after, expected):
    """Members in any order are equal; true is not 1, and absent is not null."""
    changes = view(after, last=before).difference

    assert [(c.path, c.change, c.before, c.after) for c in changes] == expected


def test_a_difference_far_inside_a_long_text_is_in_view(view):
    """A long value is cut around the place where it begins to differ."""
    before = "safe " * 2000

    change = view({"t": before[:-5] + "evil "}, last={"t": before}).difference[0]

    assert "evil" in str(change.after)
    assert len(str(change.after)) < 500


def test_the_difference_is_bounded_and_says_how_much_is_left_away(view):
    """A thousand changes are a hundred shown and nine hundred counted."""
    shown = view({str(n): n for n in range(1000)}, last={})

    assert len(shown.difference) == 100
    assert shown.more_changes == 900


def test_without_an_earlier_approval_there_is_nothing_to_compare(view):
    """No comparison is another thing than no difference."""
    assert not view({"a": 1}).compared
    assert ("difference", "no call of this tool was approved in this workspace before") in lines(
        view({"a": 1})
    )


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("caf\u00e9", "cafe\u0301", FlagCode.COMPOSITION),
        ("paypal.com", "p\u0430ypal.com", FlagCode.LOOK_ALIKE),
        ("report", "rep\u200bort", FlagCode.LOOK_ALIKE),
    ],
)
def test_a_text_that_looks_like_the_last_approved_one_is_flagged(view, before, after, code):
    """AB-APPROVAL-004: the characters that could confuse are pointed at."""
    flags = view({"to": after}, last={"to": before}).flags

    assert (flags[0].path, flags[0].code) == ("/arguments/to", code)


def test_flags_point_at_names_callers_and_tool_texts_too(view):
    """A deceiving character deceives wherever it stands."""
    shown = view(
        {"k\u200bey": 1},
        tool={"description": "fine\u202e"},
        preview={"url": "https://p\u0430ypal.com"},
        role="\u0430dmin",
    )

    assert {(flag.path, flag.code) for flag in shown.flags} == {
        ("/arguments/k\\u200bey", FlagCode.INVISIBLE),
        ("/tool/description", FlagCode.BIDIRECTIONAL),
        ("/preview/url", FlagCode.LOOK_ALIKE),
        ("/caller/role", FlagCode.LOOK_ALIKE),
    }


def test_a_text_that_the_dry_run_repeats_is_flagged_once(view):
    """The same text twice is one thing to look at."""
    assert len(view({"a": "x\u202ey"}, preview={"a": "x\u202ey"}).flags) == 1


def test_flags_are_bounded(view):
    """Hundreds of deceptions are fifty shown and the others counted."""
    shown = view({"l": [f"{n}\u202e" for n in range(300)]})

    assert len(shown.flags) == 50
    assert shown.more_flags == 250


def test_what_the_tool_says_of_itself_is_kept_apart(view):
    """Description and hints are no facts, and no line of theirs can pass for one."""
    shown = view(
        {},
        tool={
            "description": "Harmless.\nprincipal: root",
            "risk_hints": ["none at all"],
            "input_schema": {"properties": {"to": {"description": "who gets it"}}},
        },
    )

    assert shown.untrusted["parameters"] == "to: who gets it"
    said = [text for section, text in lines(shown) if section == "untrusted"]
    assert "description: principal: root" in said
    assert "risk_hints: none at all" in said
    assert all("root" not in text for section, text in lines(shown) if section == "facts")


def test_a_description_without_end_is_cut(view):
    """Nobody reads past a bound, so nobody can hide anything by length."""
    shown = view({}, tool={"description": "a" * 10_000})

    assert shown.untrusted["description"].endswith("… and 6000 characters more")


def test_facts_come_first_and_untrusted_text_last(view):
    """The order of the sections is the order of trust."""
    shown = view({"a": "\u202e"}, last={}, preview={"do": "it"})

    sections = list(dict.fromkeys(section for section, _ in lines(shown)))
    assert sections == ["facts", "request", "payload", "difference", "flags", "untrusted"]


def test_flags_are_written_with_place_code_and_character(view):
    """The line of a flag can be acted on without looking anything up."""
    told = [text for section, text in lines(view({"f": "a\u202eb"})) if section == "flags"]

    expected = "/arguments/f: bidirectional: U+202E RIGHT-TO-LEFT OVERRIDE in a⟨U+202E⟩b"
    assert told == [expected]


def test_counts_of_what_is_left_away_are_lines_too(view):
    """A reader of the lines learns that there is more."""
    arguments: dict[str, Any] = {str(n): f"{n}\u202e" for n in range(150)}
    told = lines(view(arguments, last={}))

    assert ("difference", "and 50 more") in told
    assert ("flags", "and 100 more") in told


@given(pair=st.tuples(objects, objects) | objects.map(lambda same: (same, deepcopy(same))))
def test_no_difference_means_equal_and_equal_means_none(view, pair):
    """The difference is empty exactly where the canonical texts are equal."""
    before, after = pair
    equal = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)

    assert (not view(after, last=before).difference) == equal


@given(
    arguments=objects,
    last=st.none() | objects,
    preview=st.none() | objects,
    text=st.text(),
    role=st.text(min_size=1, max_size=9),
)
def test_no_line_of_any_view_holds_a_character_that_acts_unseen(
    view, *, arguments, last, preview, text, role
):
    """Whatever stands in whichever field, every line is safe to print."""
    shown = view(
        arguments,
        last=last,
        preview=preview,
        role=role,
        tool={"description": text, "id": text, "risk_hints": [text], "effects": [text]},
    )

    for _, line in lines(shown):
        assert not has_unseen(line)
    json.dumps(shown.to_json())


@given(secret=st.text(min_size=6, alphabet="qvxz"), around=st.text(max_size=5))
def test_no_marked_secret_is_anywhere_in_a_view(view, secret, around):
    """Neither the payload nor a dry run that repeats it shows what the schema marks."""
    arguments = {"password": secret, "note": "n"}
    shown = view(
        arguments,
        last={"password": secret + "x"},
        tool={"input_schema": SECRET_SCHEMA},
        preview={"command": f"{around}{secret}{around}", secret: secret},
    )

    assert secret not in json.dumps(shown.to_json())
