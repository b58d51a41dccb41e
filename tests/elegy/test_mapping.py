"""Every row of the mapping tables, in both spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from elegy_contracts import ContractError
from holon_core.errors import StructuredFailureKind as Kind
from holon_core.records.outcome import ExecutorStatus
from holon_core.records.words import Effect, Status
from holon_core.records.workflow import WorkflowEventKind
from holon_elegy.effects import EFFECTS
from holon_elegy.mapping import (
    EVENTS,
    KINDS,
    STATUSES,
    event_of,
    failed_step_of,
    failure_of,
    outcome_of,
    step_result_of,
)
from support import ABSENT, ROOT, label, shared_folder


def response(**changes: Any) -> dict[str, Any]:
    return {"requestId": "r1", "executionId": "e1", "status": "completed", "output": {}, **changes}


def failure(**changes: Any) -> dict[str, Any]:
    made = {"code": "X-1", "message": "It went wrong.", "category": "internal", "retryable": False}
    return {**made, **changes}


def event(**changes: Any) -> dict[str, Any]:
    return {
        "eventId": "v1",
        "requestId": "r1",
        "executionId": "e1",
        "sequence": 1,
        "timestamp": "2026-03-31T10:00:00.5Z",
        "eventType": "started",
        "status": "running",
        **changes,
    }


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_executor_status(status: str):
    """A cancelled invocation failed, with the kind that says so."""
    given = response(status=status)
    if status != "completed":
        given |= {"output": None, "failure": failure()}

    made = outcome_of(given)

    assert made.status is STATUSES[status]
    if status == "cancelled":
        assert made.failure is not None
        assert made.failure.kind is Kind.CANCELLED


@pytest.mark.parametrize("category", KINDS)
def test_every_category_has_its_kind(category: str):
    """Policy, authorization and authentication are blocked: nothing was done."""
    given = response(status="failed", output=None, failure=failure(category=category))

    made = outcome_of(given)

    assert made.failure is not None
    assert made.failure.kind is KINDS[category]
    blocked = category in ("policy", "authorization", "authentication")
    assert made.status is (ExecutorStatus.BLOCKED if blocked else ExecutorStatus.FAILED)


def test_the_output_is_output_json_and_the_run_is_evidence():
    """Run metadata goes under its own source."""
    given = response(output={"a": 1}, metadata={"k": "v"}, completedAt="2026-03-31T10:00:00Z")

    made = outcome_of(given)

    assert made.output_json == {"a": 1}
    [draft] = made.evidence
    assert draft.source == "elegy-invocation"
    assert draft.data["metadata"] == {"k": "v"}
    assert draft.data["request_id"] == "r1"


@pytest.mark.parametrize("name", ["run_metadata", "runMetadata", "metadata"])
def test_run_metadata_is_read_by_each_of_its_names(name: str):
    """The document's name, its other spelling, and the contract's."""
    assert outcome_of(response(**{name: {"k": "v"}})).evidence[0].data["metadata"] == {"k": "v"}


def test_a_failure_keeps_its_message_its_code_and_its_details():
    """Verbatim; its source and cause are evidence of their own."""
    given = failure(
        message="  as it  was ",
        details={"at": 3},
        source="tool",
        cause={"code": "E", "message": "m"},
    )

    made, [draft] = failure_of(given)

    assert (made.message, made.code, made.details) == ("  as it  was ", "X-1", {"at": 3})
    assert draft.source == "elegy-failure"
    assert (draft.data["source"], draft.data["cause"]["code"]) == ("tool", "E")


SPELLED: list[tuple[dict[str, Any], Kind, str]] = [
    ({"kind": "timeout", "message": "m"}, Kind.TIMEOUT, "timeout"),
    ({"kind": "schema_mismatch", "message": "m"}, Kind.SCHEMA_MISMATCH, "schema_mismatch"),
    ({"kind": "extractionFailure", "message": "m"}, Kind.EXTRACTION_FAILURE, "extractionFailure"),
    ({"kind": "odd", "message": "m"}, Kind.TOOL_FAILED, "odd"),
    ({"code": "E-7", "kind": "policy", "message": "m"}, Kind.POLICY_DENIED, "E-7"),
]


@pytest.mark.parametrize(("given", "kind", "code"), SPELLED, ids=label)
def test_the_documents_failures_are_read(given: dict[str, Any], kind: Kind, code: str):
    """`kind` stands for category or code; the code stays as it is."""
    made, _ = failure_of(given)

    assert (made.kind, made.code) == (kind, code)


def test_details_that_are_no_object_are_wrapped():
    """Nothing is lost, and details stay an object."""
    made, _ = failure_of(failure(details=[1, 2]))

    assert made.details == {"value": [1, 2]}


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_type_has_its_kind(name: str):
    """Six types, six kinds."""
    status = {"accepted": "pending", "started": "running", "progress": "running"}.get(name, name)
    given = event(eventType=name, status=status)
    if name in ("failed", "cancelled"):
        given["failure"] = failure()

    made = event_of(given)

    assert made.kind is EVENTS[name]
    assert set(EVENTS.values()) == set(WorkflowEventKind)


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        ("2026-03-31T10:00:00Z", 1774951200),
        ("2026-03-31T12:00:00.999+02:00", 1774951200),
        (1774951200, 1774951200),
        (1774951200.7, 1774951200),
    ],
    ids=label,
)
def test_times_become_whole_unix_seconds(moment: Any, seconds: int):
    """Texts with any offset, and numbers."""
    assert event_of(event(timestamp=moment)).created_at_unix_seconds == seconds


def test_a_payload_is_made_of_what_the_contract_has():
    """Where there is no payload: message, progress, failure, metadata."""
    given = event(message="half", progress={"current": 1, "total": 2}, metadata={"k": "v"})

    made = event_of(given)

    assert made.payload_json == {
        "message": "half",
        "progress": {"current": 1, "total": 2},
        "metadata": {"k": "v"},
    }
    assert event_of(event(payload=[1])).payload_json == [1]


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ({"source": "here", "capabilityId": "c"}, "here"),
        ({"capabilityId": "c", "traceRef": "t"}, "c"),
        ({"traceRef": "t"}, "t"),
        ({}, ""),
    ],
    ids=label,
)
def test_the_source_of_an_event_is_kept(given: dict[str, Any], source: str):
    """The document's, else the nearest that the contract has."""
    assert event_of(event(**given)).source == source


def test_events_inside_and_beside_a_response_become_evidence_in_order():
    """Those inside are completed by where they stand; others' executions are left out."""
    inside = [{"kind": "started", "timestamp": 5}, {"kind": "progress", "timestamp": 6}]
    beside = [event(sequence=3, eventType="completed", status="completed"), event(executionId="x")]

    made = outcome_of(response(events=inside), beside)

    drafts = [draft for draft in made.evidence if draft.source != "elegy-invocation"]
    kinds = [draft.data["kind"] for draft in drafts]
    assert kinds == ["step_started", "step_progress", "step_completed"]
    assert drafts[0].data["created_at_unix_seconds"] == 5


def test_both_records_become_results_of_steps():
    """A response by its outcome, a failure alone as a failed step."""
    done = step_result_of(response(output={"a": 1}))
    lost = step_result_of(response(status="failed", output=None, failure=failure()))
    alone = failed_step_of(failure(category="timeout"))

    assert (done.status, done.output_json, done.failure) == (Status.COMPLETED, {"a": 1}, None)
    assert lost.failure is not None
    assert (lost.status, lost.failure.code) == (Status.FAILED, "X-1")
    assert alone.failure is not None
    assert (alone.status, alone.failure.kind) == (Status.FAILED, Kind.TIMEOUT)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (outcome_of, response(output=None), "/output"),
    (outcome_of, response(status="failed"), "/failure"),
    (outcome_of, response(status="odd"), "/status"),
    (outcome_of, response(events=[{"kind": "odd", "timestamp": 1}]), "/events/0/eventType"),
    (failure_of, failure(message=" "), "/message"),
    (event_of, event(timestamp="yesterday"), "/timestamp"),
    (event_of, event(progress={"current": 2, "total": 1}), "/progress/total"),
]


@pytest.mark.parametrize(("reads", "given", "path"), REFUSED, ids=label)
def test_what_is_refused_says_where(reads: Any, given: dict[str, Any], path: str):
    """Nothing is guessed of data that breaks its contract."""
    with pytest.raises(ContractError) as refused:
        reads(given)

    assert path in [found.path for found in refused.value.findings]


def _outcome(**changes: Any) -> Any:
    return outcome_of({"request_id": "r", "execution_id": "e", "status": "completed"} | changes)


def _failure(**changes: Any) -> Any:
    made, drafts = failure_of({"kind": "timeout", "message": " as it was "} | changes)
    return made, {draft.source: draft.data for draft in drafts}


def _step(**changes: Any) -> Any:
    return event_of({**event(), **changes})


# Each row of the source document's tables in its own spelling: what it becomes, and as which name
# of Holon's the manual shows it.
DOCUMENT: Mapping[str, tuple[str, Callable[[], bool]]] = {
    "InvocationResponse.status": (
        "ExecutorStatus",
        lambda: _outcome(output={}).status is ExecutorStatus.COMPLETED,
    ),
    "InvocationResponse.output": (
        "ExecutorOutcome.output_json",
        lambda: _outcome(output={"a": [1]}).output_json == {"a": [1]},
    ),
    "InvocationResponse.failure": (
        "ExecutorFailure",
        lambda: (
            _outcome(status="failed", failure={"kind": "timeout", "message": "m"}).failure.kind
            is Kind.TIMEOUT
        ),
    ),
    "InvocationResponse.events": (
        "ExecutorEvidenceDraft",
        lambda: (
            [
                draft.source
                for draft in _outcome(
                    output={}, events=[{"kind": "started", "timestamp": 1, "source": "here"}]
                ).evidence
            ]
            == ["elegy-invocation", "here"]
        ),
    ),
    "InvocationResponse.run_metadata": (
        "elegy-invocation",
        lambda: (
            {
                draft.source: draft.data["metadata"]
                for draft in _outcome(output={}, run_metadata={"k": "v"}).evidence
            }
            == {"elegy-invocation": {"k": "v"}}
        ),
    ),
    "StructuredFailure.kind": (
        "StructuredFailureKind",
        lambda: _failure(kind="extraction_failure")[0].kind is Kind.EXTRACTION_FAILURE,
    ),
    "StructuredFailure.message": (
        "StructuredFailure.message",
        lambda: _failure()[0].message == " as it was ",
    ),
    "StructuredFailure.details": (
        "StructuredFailure.details",
        lambda: _failure(details={"at": 3})[0].details == {"at": 3},
    ),
    "StructuredFailure.source": (
        "elegy-failure",
        lambda: _failure(source="tool")[1]["elegy-failure"]["source"] == "tool",
    ),
    "ExecutionEvent.timestamp": (
        "created_at_unix_seconds",
        lambda: _step(timestamp="1970-01-01T00:00:05Z").created_at_unix_seconds == 5,
    ),
    "ExecutionEvent.kind": (
        "WorkflowEventKind",
        lambda: (
            event_of(
                {**{k: v for k, v in event().items() if k != "eventType"}, "kind": "started"}
            ).kind
            is WorkflowEventKind.STEP_STARTED
        ),
    ),
    "ExecutionEvent.payload": ("payload_json", lambda: _step(payload=[1]).payload_json == [1]),
    "ExecutionEvent.source": ("source", lambda: _step(source="here").source == "here"),
}


@pytest.mark.parametrize("row", DOCUMENT)
def test_every_row_of_the_document_holds(row: str):
    """In the document's own spelling."""
    assert DOCUMENT[row][1]()


def test_the_rows_are_those_of_the_document():
    """Its three tables: each field, by the name that it has there."""
    folder = shared_folder()
    if folder is None:
        pytest.skip(ABSENT)
    text = (folder / "source-documents" / "elegy-integration.md").read_text(encoding="utf-8")

    fields = re.findall(
        r"^((?:InvocationResponse|StructuredFailure|ExecutionEvent)\.\w+)", text, re.MULTILINE
    )

    assert fields == list(DOCUMENT)


def test_the_manual_shows_the_fields_by_these_names():
    """One row a field, with the name that it has in Holon first."""
    page = (ROOT / "docs" / "elegy.md").read_text(encoding="utf-8")
    part = page.split("### Fields\n")[1].split("\n## ")[0]
    shown = re.findall(r"^\| `([A-Z]\w+\.\w+)` \| [^`|]*`([\w.-]+)`", part, re.MULTILINE)

    assert dict(shown) == {row: name for row, (name, _) in DOCUMENT.items()}


def test_the_manual_shows_the_tables_as_they_are():
    """Rows of the page and of the code, both ways."""
    page = (ROOT / "docs" / "elegy.md").read_text(encoding="utf-8")

    def rows(title: str) -> dict[str, str]:
        part = page.split(f"### {title}\n")[1].split("\n### ")[0].split("\n## ")[0]
        found = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", part, re.MULTILINE)
        return {key: value.strip() for key, value in found}

    def words(effects: frozenset[Effect]) -> str:
        return ", ".join(f"`{each.value}`" for each in Effect if each in effects)

    assert rows("Side effects") == {
        f"{vocabulary}: {word}": words(effects) for (vocabulary, word), effects in EFFECTS.items()
    }
    assert rows("Categories of failures") == {
        category: f"`{kind.value}`" for category, kind in KINDS.items()
    }
    assert rows("Statuses") == {status: f"`{made.value}`" for status, made in STATUSES.items()}
    assert rows("Event types") == {name: f"`{kind.value}`" for name, kind in EVENTS.items()}


@pytest.mark.parametrize("claim", EFFECTS, ids=label)
def test_every_word_of_side_effects_has_effects(claim: tuple[str, str]):
    """Each alone gives what its row says."""
    from elegy_contracts.normal import NormalCapability
    from holon_elegy.effects import effects_of

    vocabulary, word = claim
    bare = vocabulary == "has_side_effects"
    made = NormalCapability(
        id="c",
        name="c",
        description="",
        input_schema=None,
        output_schema=None,
        claims=() if bare else (claim,),
        has_side_effects=(word == "true") if bare else None,
    )

    assert effects_of(made) == EFFECTS[claim]


def test_what_is_not_declared_or_not_known_is_unknown():
    """Absent stays unknown, and so does a word of no vocabulary."""
    from attrs import evolve

    from elegy_contracts.normal import NormalCapability
    from holon_elegy.effects import effects_of

    bare = NormalCapability(id="c", name="c", description="", input_schema=None, output_schema=None)

    assert effects_of(bare) == {Effect.UNKNOWN}
    odd = evolve(bare, claims=(("host_class", "odd"),), has_side_effects=False)
    assert effects_of(odd) == {Effect.UNKNOWN}
