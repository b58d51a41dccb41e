"""A sink that emits each call as an OpenTelemetry span with the GenAI names (extra ``otel``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holon_core.records.evidence import EvidenceRecord

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

# Each of these ends an attempt; the others are steps on its way.
_ENDS = frozenset({"completed", "failed", "blocked", "refused", "interrupted"})
_MAX_OPEN = 1000


class OpenTelemetrySink:
    """Emits one span ``execute_tool {tool}`` for each attempt that ended, refused ones too.

    Evidence knows the end in whole seconds and the duration in milliseconds; the span's start is
    the one less the other. Exporting is up to the host's OpenTelemetry SDK: what it drops is not
    sent again.

    Args:
        tracer_provider: The host's; the global one where none is given.
        name: The sink's name, under which the store remembers how far it has come.
        required: Refuse calls where the sink is too far behind.
        include_content: Put (redacted) arguments and results into the spans.

    Raises:
        ImportError: ``opentelemetry-api`` is missing; install ``holon-core[otel]``.

    Source: OpenTelemetry semantic conventions for generative AI, "Execute tool span".
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        name: str = "otel",
        *,
        required: bool = False,
        include_content: bool = False,
    ) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            text = "OpenTelemetrySink needs opentelemetry-api; install holon-core[otel]"
            raise ImportError(text, name=error.name) from error
        self.name = name
        self.required = required
        self._tracer = trace.get_tracer("holon_core", tracer_provider=tracer_provider)
        self._include_content = include_content
        self._arguments: dict[str, Any] = {}

    def write(self, records: Sequence[EvidenceRecord]) -> None:
        """Emit the spans of the attempts that ended."""
        for record in records:
            if record.kind in _ENDS:
                self._emit(record)
            elif self._include_content and record.kind == "accepted":
                self._arguments[record.call_id] = record.payload
                while len(self._arguments) > _MAX_OPEN:
                    del self._arguments[next(iter(self._arguments))]

    def close(self) -> None:
        """Nothing is kept open: the SDK belongs to the host."""
        self._arguments.clear()

    def _emit(self, record: EvidenceRecord) -> None:
        from opentelemetry.context import Context
        from opentelemetry.trace import Status, StatusCode

        end_ns = record.created_at_unix_seconds * 1_000_000_000
        took_ms = record.body.get("duration_ms")
        took_ns = took_ms * 1_000_000 if isinstance(took_ms, int) else 0
        attributes = self._attributes(record)
        # An empty context: the thread's own has nothing to do with the call.
        span = self._tracer.start_span(
            f"execute_tool {attributes['gen_ai.tool.name']}",
            context=Context(),
            start_time=end_ns - took_ns,
            attributes=attributes,
        )
        if "error.type" in attributes:
            span.set_status(Status(StatusCode.ERROR, attributes["error.type"]))
        span.end(end_time=end_ns)

    def _attributes(self, record: EvidenceRecord) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": str(_mapping(record.body.get("tool")).get("id", "unknown")),
            "gen_ai.tool.call.id": record.call_id,
            "gen_ai.tool.type": "function",
            "holon.evidence.chain": record.chain,
            "holon.evidence.seq": record.seq,
            "holon.evidence.kind": record.kind,
        }
        if record.kind != "completed":
            code = _mapping(record.body.get("failure")).get("code", record.kind)
            attributes["error.type"] = str(code)
        if self._include_content:
            self._add_content(attributes, record)
        return attributes

    def _add_content(self, attributes: dict[str, Any], record: EvidenceRecord) -> None:
        # What a refused attempt keeps as its payload is what it was asked with.
        asked = record.payload if record.kind == "refused" else None
        arguments = self._arguments.pop(record.call_id, asked)
        if arguments is not None:
            attributes["gen_ai.tool.call.arguments"] = _text(arguments)
        if record.kind in ("completed", "failed") and record.payload is not None:
            attributes["gen_ai.tool.call.result"] = _text(record.payload)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
