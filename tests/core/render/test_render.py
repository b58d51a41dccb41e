"""Records in a notebook: self-contained HTML in which no text becomes markup."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holon_core as holon
from holon_core.guard.approval_view import build_view
from holon_core.guard.results import blocking_of
from holon_core.records.approval import ApprovalRecord, HeldCall
from holon_core.records.caller import CallerContext
from holon_core.records.discovery import DiscoveredTool, DiscoveryPage
from holon_core.records.evidence import EvidenceRecord, Verification
from holon_core.records.explanation import ExplainStep, Explanation
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.listing import Listing
from holon_core.records.result import EvidenceRef, ToolResult
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import (
    ApprovalRequirement,
    ApprovalState,
    Availability,
    Effect,
    HeldState,
    Origin,
    Posture,
    Readiness,
    Status,
)
from holon_core.render import result_html, text_html
from holon_core.visible import has_unseen

ELEMENTS = {"div", "strong", "table", "tr", "td", "th", "pre", "p"}


class Markup(HTMLParser):
    """Collects elements, attributes and text of some HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.others: list[str] = []
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        self.open.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)


def read(markup: str) -> Markup:
    """Parse HTML to its end, every element closed."""
    parser = Markup()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    return parser


def safe(markup: str) -> Markup:
    """Hold that only our elements, no event and no unseen character is in some HTML."""
    found = read(markup)
    assert set(found.elements) <= ELEMENTS
    assert found.attributes <= {"style"}
    assert found.others == []
    assert not has_unseen(markup.replace("\n", ""))
    assert not has_unseen(found.text.replace("\n", ""))
    return found


def _result(text: str, value: Any) -> Any:
    return ToolResult(
        status=Status.BLOCKED,
        output=value,
        failure=failure("tool_raised", text, detail=text),
        blocking_reasons=(blocking_of(failure("policy_denied", text)),),
        held=text,
        evidence_refs=(EvidenceRef(chain=text, seq=1),),
        call_id=text,
        replayed_from=text,
    )


def _explanation(text: str, value: Any) -> Any:
    step = ExplainStep(step=text, verdict=text, detail=text)
    return Explanation(tool=text, outcome=text, steps=(step,))


def _tool(text: str, value: Any) -> Any:
    return RuntimeToolDescriptor(
        id=text,
        lane=text,
        origin=Origin.HOST,
        posture=Posture.HOST_FUNCTION,
        version=text,
        name=text,
        description=text,
        input_schema={"type": "object", "title": text, "default": value},
        effects=frozenset({Effect.NONE}),
        digest=text,
    )


def _approval(text: str, value: Any) -> Any:
    return ApprovalRecord(
        id=text,
        state=ApprovalState.APPROVED,
        tool=text,
        definition=text,
        fingerprint=text,
        arguments_digest=text,
        workspace=text,
        principal=text,
        role=text,
        profile=text,
        pattern={text: value},
        requested_at_unix_seconds=1,
        expires_at_unix_seconds=2,
        decided_by=text,
        reason=text,
    )


def _held(text: str, value: Any) -> Any:
    return HeldCall(
        call_id=text,
        approval_id=text,
        state=HeldState.HELD,
        caller=CallerContext(principal=text, workspace=text, role=text),
        tool={"id": text, "description": text, "effects": [text], "input_schema": {}},
        arguments={text: value},
        preview={text: text},
        idempotency_key=text,
        held_at_unix_seconds=1,
    )


def _view(text: str, value: Any) -> Any:
    return build_view(_held(text, value), _approval(text, value), last_arguments={"x": text}, now=1)


def _evidence(text: str, value: Any) -> Any:
    return EvidenceRecord(
        chain=text,
        seq=1,
        call_id=text,
        kind=text,
        created_at_unix_seconds=1,
        body={text: value},
        hash=text,
        payload=value,
        preview=text,
        verified=False,
    )


def _verification(text: str, value: Any) -> Any:
    return Verification(chain=text, records=1, consistent=False, matches_head=None, message=text)


def _page(text: str, value: Any) -> Any:
    item = DiscoveredTool(
        id=text,
        name=text,
        title=text,
        description=text,
        lane=text,
        origin=Origin.HOST,
        version=text,
        side_effect_class=Effect.NONE,
        approval=ApprovalRequirement.NONE,
        readiness=Readiness.CATALOG_ONLY,
        digest=text,
        availability=Availability.BLOCKED,
        blocking_reasons=(blocking_of(failure("policy_denied", text)),),
    )
    return DiscoveryPage(items=(item,), next_cursor=text, total_hint=1, none_fits=False)


def _listings(make: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda text, value: Listing((make(text, value), make(text, value)))


RECORDS: dict[str, Callable[[str, Any], Any]] = {
    "result": _result,
    "explanation": _explanation,
    "tool": _tool,
    "approval": _approval,
    "held": _held,
    "view": _view,
    "evidence": _evidence,
    "page": _page,
    "verification": _verification,
    "tools": _listings(_tool),
    "records": _listings(_evidence),
    "approvals": _listings(_approval),
    "mixed": lambda text, value: Listing((text, _approval(text, value))),
}
pieces = st.sampled_from(
    [
        "<script>",
        "</pre>",
        "<img src=x onerror=alert(1)>",
        '" onload="x',
        "&lt;",
        "<!--",
        "]]>",
        "'",
    ]
)
texts = st.lists(pieces | st.text(max_size=6), min_size=1, max_size=4).map("".join)


@pytest.mark.parametrize("kind", RECORDS)
@given(text=texts, value=texts | st.lists(texts, max_size=3) | st.dictionaries(texts, texts))
def test_no_text_of_any_field_becomes_markup(kind, text, value):
    """Whatever stands in whichever field, only our own elements come out."""
    safe(RECORDS[kind](text, value)._repr_html_())


@pytest.mark.parametrize("kind", RECORDS)
def test_each_record_shows_its_text(kind):
    """Escaped is not lost: the reader sees the text as it was written."""
    assert "a<b>&c" in safe(RECORDS[kind]("a<b>&c", 1)._repr_html_()).text


@pytest.mark.parametrize("status", Status)
def test_a_result_is_true_where_the_call_completed(status):
    """``if result`` must not take a refusal for a success."""
    assert bool(ToolResult(status=status, call_id="c1")) is (status is Status.COMPLETED)


def test_a_completed_result_shows_its_output():
    """The output is indented JSON."""
    found = safe(ToolResult(status=Status.COMPLETED, output={"n": [1]}, call_id="c1")._repr_html_())

    assert '"n": [\n' in found.text
    assert "completed" in found.text


def test_a_blocked_result_says_what_would_lift_it():
    """The next action stands beside the reason."""
    result = ToolResult(
        status=Status.BLOCKED,
        blocking_reasons=(blocking_of(failure("policy_denied")),),
        call_id="c1",
    )

    assert "ask an operator" in safe(result._repr_html_()).text


def test_a_held_call_whose_schema_marks_secrets_shows_no_values():
    """Alone, a held call shows names; its view shows what is not marked."""
    held = HeldCall(
        call_id="c1",
        approval_id="a1",
        state=HeldState.HELD,
        caller=CallerContext(principal="ann"),
        tool={
            "id": "acme/login",
            "effects": ["network_write"],
            "input_schema": {
                "properties": {"password": {"type": "string", "x-holon-secret": True}}
            },
        },
        arguments={"password": "hunter2-hunter2", "user": "ann"},
        preview={"arguments": {"password": "hunter2-hunter2"}},
        held_at_unix_seconds=1,
    )
    view = build_view(held, _approval("a", 1), last_arguments=None, now=1)

    assert "hunter2" not in held._repr_html_() + view._repr_html_()
    assert "arguments password, user" in held._repr_html_()
    assert "[redacted]" in view._repr_html_()


def test_a_view_shows_flags_difference_and_untrusted_text():
    """The sections of the view are all there, and what is compared is said."""
    shown = safe(_view("a\u202eb", 1)._repr_html_()).text

    for title in ("Payload", "Difference", "Flags", "Untrusted", "bidirectional", "U+202E"):
        assert title in shown
    first = build_view(_held("a", 1), _approval("a", 1), last_arguments=None, now=1)
    assert "nothing was approved before" in first._repr_html_()


def test_a_pattern_of_a_grant_shows_no_values():
    """A grant's pattern may hold what a schema marks, so only its presence is shown."""
    assert "hunter2" not in _approval("a", {"equals": "hunter2"})._repr_html_()


@pytest.mark.parametrize("kind", ["tool", "evidence", "approval"])
def test_a_long_listing_is_bounded(kind):
    """Fifty are shown and the others counted."""
    shown = Listing(RECORDS[kind](f"{n}", 1) for n in range(60))._repr_html_()

    assert "and 10 more" in safe(shown).text


def test_a_long_text_and_a_large_output_are_cut_with_their_size():
    """A notebook stays usable, and nothing is cut silently."""
    assert text_html("x" * 600).endswith("… and 100 characters more")
    result = ToolResult(status=Status.COMPLETED, output="y" * 100_000, call_id="c1")
    assert len(result_html(result)) < 10_000
    assert "characters more" in result_html(result)


def test_a_listing_is_the_tuple_of_its_items():
    """Code that expects a tuple notices nothing."""
    listing = Listing((1, 2))

    assert listing == (1, 2)
    assert hash(listing) == hash((1, 2))
    assert isinstance(listing, tuple)


def test_a_full_page_says_that_more_may_follow():
    """A listing that ends at its limit is not taken for all there is."""
    page, whole = Listing.page((1, 2), 2), Listing.page((1, 2), 3)

    assert (page.more, whole.more, Listing((1, 2)).more) == (True, False, False)
    assert "more may follow" in page._repr_html_()
    assert "more may follow" not in whole._repr_html_()


def test_tools_and_evidence_are_listed_by_pages_that_say_so():
    """Sixty functions are a full page, and ten."""
    tools = [holon.tool(effects={"none"}, name=f"t{n}")(lambda: 1) for n in range(60)]
    with holon.Runtime.in_memory(app="x", tools=tools) as rt:
        first = rt.tools.list()
        rest = rt.tools.list(after=first[-1].id)
        evidence = rt.evidence.list(workspace=None)

    assert (len(first), first.more, len(rest), rest.more) == (50, True, 10, False)
    assert isinstance(evidence, Listing)
    assert not evidence.more


def test_an_empty_listing_says_so():
    """Nothing is an answer too."""
    assert safe(Listing()._repr_html_()).text == "nothing"


def test_items_without_html_of_their_own_are_shown_as_text():
    """A listing takes records that have no special look."""
    shown = Listing((Finding(code="x", message="<b>"),))._repr_html_()

    assert "&lt;b&gt;" in shown


def test_an_output_that_is_no_json_shows_its_type_or_text():
    """What a host puts together by hand never breaks the display."""
    endless: list[Any] = []
    endless.append(endless)

    assert (
        "&lt;list&gt;"
        in ToolResult(status=Status.COMPLETED, output=endless, call_id="c")._repr_html_()
    )


def test_a_verified_record_says_so():
    """Three states of one column: not asked, verified, does not fit."""
    assert "does not fit" in _evidence("a", 1)._repr_html_()


def test_a_page_without_a_fit_and_one_without_tools_say_so():
    """How near the best came, or nothing."""
    empty: dict[str, Any] = {"items": (), "next_cursor": None, "total_hint": 0}
    unfit = DiscoveryPage(**empty, none_fits=True, best_confidence=0.25)
    bare = DiscoveryPage(**empty, none_fits=False)

    assert "none fits; the nearest has the confidence 0.25" in unfit._repr_html_()
    assert bare._repr_html_() == "<p>nothing</p>"


@pytest.mark.parametrize(("head", "said"), [(None, "none was given"), (True, "matches")])
def test_a_verification_says_whether_an_earlier_head_was_compared(head, said):
    """A chain that fits itself shows nothing of a tail that was cut."""
    found = Verification(chain="w", records=3, consistent=True, matches_head=head)

    assert "chain w: consistent" in found._repr_html_()
    assert said in found._repr_html_()
