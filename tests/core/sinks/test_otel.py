"""The OpenTelemetry sink: one span for each attempt that ended, with the GenAI names."""

import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from holon_core.records.evidence import EvidenceRecord
from holon_core.sinks.otel import OpenTelemetrySink

TOOL = {"id": "host.shop/refund"}


def record(kind: str, payload: Any = None, call: str = "c1", **body: Any) -> EvidenceRecord:
    return EvidenceRecord(
        chain="w",
        seq=4,
        call_id=call,
        kind=kind,
        created_at_unix_seconds=1_700_000_000,
        body={"tool": TOOL, **body},
        hash="ab",
        payload=payload,
    )


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_call_is_one_span_with_the_genai_names(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    """Name, operation, tool and call; no arguments and no result."""
    sink = OpenTelemetrySink(provider)

    sink.write([record("accepted", {"cents": 500}), record("completed", "ok", duration_ms=1500)])
    sink.close()

    (span,) = exporter.get_finished_spans()
    assert span.name == "execute_tool host.shop/refund"
    assert attributes(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "host.shop/refund",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "holon.evidence.chain": "w",
        "holon.evidence.seq": 4,
        "holon.evidence.kind": "completed",
    }
    assert span.end_time == 1_700_000_000 * 10**9
    assert span.start_time == span.end_time - 1_500_000_000
    assert span.status.status_code is StatusCode.UNSET
    assert span.parent is None


@pytest.mark.parametrize("kind", ["failed", "blocked", "refused"])
def test_what_did_not_complete_carries_its_code(
    exporter: InMemorySpanExporter, provider: TracerProvider, kind: str
) -> None:
    """Refusals are spans like runs."""
    OpenTelemetrySink(provider).write([record(kind, failure={"code": "policy_denied"})])

    (span,) = exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "policy_denied"
    assert span.status.status_code is StatusCode.ERROR
    assert span.start_time == span.end_time


def test_an_interrupted_call_without_a_code_is_named_by_its_kind(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    """Its record was made by another process, which knew no failure and no tool."""
    OpenTelemetrySink(provider).write([record("interrupted", tool=None)])

    (span,) = exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "interrupted"
    assert span.name == "execute_tool unknown"


def test_steps_on_the_way_are_no_spans(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    """Held, approved, rehearsed: nothing was executed."""
    OpenTelemetrySink(provider).write([record("held"), record("accepted"), record("dry_run")])

    assert exporter.get_finished_spans() == ()


def test_content_is_added_only_where_it_is_asked_for(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    """Arguments from the accepted record, the result from the closing one, as JSON."""
    sink = OpenTelemetrySink(provider, "content", required=True, include_content=True)

    sink.write([record("accepted", {"cents": 500})])
    sink.write([record("completed", ["ok", "é"])])
    sink.write([record("refused", {"cents": -1}, "c2"), record("blocked", None, "c3")])

    ran, refused, bare = exporter.get_finished_spans()
    assert attributes(ran)["gen_ai.tool.call.arguments"] == '{"cents":500}'
    assert attributes(ran)["gen_ai.tool.call.result"] == '["ok","é"]'
    assert attributes(refused)["gen_ai.tool.call.arguments"] == '{"cents":-1}'
    assert "gen_ai.tool.call.result" not in attributes(refused)
    assert not {name for name in attributes(bare) if name.startswith("gen_ai.tool.call.a")}
    assert (sink.name, sink.required) == ("content", True)


def test_calls_that_never_end_do_not_fill_the_memory(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    """The oldest arguments are forgotten beyond a thousand open calls."""
    sink = OpenTelemetrySink(provider, include_content=True)
    sink.write([record("accepted", {"n": i}, f"c{i}") for i in range(1001)])

    sink.write([record("completed", None, "c0"), record("completed", None, "c1")])

    forgotten, kept = exporter.get_finished_spans()
    assert "gen_ai.tool.call.arguments" not in attributes(forgotten)
    assert attributes(kept)["gen_ai.tool.call.arguments"] == '{"n":1}'


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core itself does not need it."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ImportError):
        OpenTelemetrySink()
