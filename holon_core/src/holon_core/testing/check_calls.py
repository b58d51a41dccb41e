"""Checks of calls: outputs, refusals, previews, and that no secret stays anywhere."""

from __future__ import annotations

import base64
import json
import logging
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.errors import FAILURES, StructuredFailureKind
from holon_core.testing.bench import CANARY, call, calls_of
from holon_core.testing.check_offers import bad, ok, skip
from holon_core.testing.reader import EvidenceReader
from holon_core.testing.spying import spied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.failure import StructuredFailure
    from holon_core.records.result import ToolResult
    from holon_core.testing.bench import Bench
    from holon_core.testing.report import Result

NO_SAMPLE = "no sample call is known: give one in `samples`"
OWN_CODE = re.compile(r"[a-z][a-z0-9_]{0,99}")
# What the core says of an executor that raised or answered something else than an outcome.
NOT_SAID = frozenset({"tool_raised", "lane_protocol", "internal"})


def outputs_validate(bench: Bench) -> Iterator[Result]:
    """Sample calls complete with an output that fits the declared schema."""
    with bench.open() as runtime:
        session = bench.session(runtime)
        for tool_id, tool in bench.tools.items():
            results = [call(runtime, session, tool_id, args) for args in bench.samples(tool_id)]
            failures = [str(_told(result)) for result in results if result.failure is not None]
            if not results:
                yield skip(NO_SAMPLE, tool=tool_id)
            elif failures:
                yield bad("; ".join(failures), tool=tool_id)
            elif tool.output_schema is None:
                yield skip("it declares no output schema", tool=tool_id)
            else:
                yield ok(tool=tool_id)


def _told(result: ToolResult) -> str:
    assert result.failure is not None
    return f"{result.failure.code}: {result.failure.message}"


def reasons_listed(bench: Bench) -> Iterator[Result]:
    """What a tool refuses or fails with is of the failure table, or a code of its own."""
    with bench.open() as runtime:
        session = bench.session(runtime)
        for tool_id in bench.tools:
            given = calls_of(bench.lane.failing, tool_id)
            if not given:
                yield skip("no failing call is known: give one in `failing`", tool=tool_id)
                continue
            for arguments in given:
                yield _judge_failure(call(runtime, session, tool_id, arguments), tool_id)


def _judge_failure(result: ToolResult, tool_id: str) -> Result:
    if result.failure is None:
        return bad("a call given as failing completed", tool=tool_id)
    fault = _fault(result.failure)
    return bad(fault, tool=tool_id) if fault else ok(result.failure.code, tool=tool_id)


def _fault(failure: StructuredFailure) -> str:
    code = failure.code
    if code in NOT_SAID or (code == "tool_failed" and failure.message == "the tool gave no reason"):
        return f"{code}: {failure.message}"
    if code in FAILURES and FAILURES[code][0] is not failure.kind:
        return f"the code {code} is of kind {FAILURES[code][0]}, and it answered {failure.kind}"
    if code not in FAILURES and not OWN_CODE.fullmatch(code):
        return f"{code!r} is neither of the failure table nor of a-z 0-9 _"
    if failure.kind is StructuredFailureKind.INTERNAL:
        return "internal is for faults of the core"
    return ""


def preview_starts_nothing(bench: Bench) -> Iterator[Result]:
    """A preview shows the request; it starts no process, connects nowhere, writes no file."""
    with bench.open() as runtime:
        session = bench.session(runtime)
        for tool_id in bench.tools:
            given = bench.samples(tool_id)
            if not given:
                yield skip(NO_SAMPLE, tool=tool_id)
                continue
            with spied(runtime, tool_id) as spy:
                result = session.dry_run(tool_id, given[0])
            yield _judge_preview(spy, result, tool_id)


def _judge_preview(spy: Any, result: ToolResult, tool_id: str) -> Result:
    if spy.deeds:
        return bad("; ".join(str(deed) for deed in spy.deeds[:5]), tool=tool_id)
    if spy.preview_errors:
        return bad(f"it raised {type(spy.preview_errors[0]).__name__}", tool=tool_id)
    if result.failure is not None or not spy.previews:
        return bad(f"the dry run did not come to it: {result.failure}", tool=tool_id)
    try:
        json.dumps(dict(spy.previews[0]), allow_nan=False)
    except (TypeError, ValueError) as error:
        return bad(f"the preview is no JSON object: {error}", tool=tool_id)
    return ok(tool=tool_id)


def no_secret_kept(bench: Bench) -> Iterator[Result]:
    """No secret is in results, evidence, log records, or any file of the storage root."""
    tools = bench.tools
    if not bench.canaries():
        yield skip("it has no secret slot bound to a variable, and `secrets` names none")
        return
    forms = (CANARY, base64.b64encode(CANARY.encode()).decode().rstrip("="))
    with _log_records() as records, bench.open() as runtime:
        session = bench.session(runtime)
        for tool_id in tools:
            for arguments in (*bench.samples(tool_id), *calls_of(bench.lane.failing, tool_id)):
                result = call(runtime, session, tool_id, arguments)
                said = f"{result.output!r} {result.failure!r}"
                if any(form in said for form in forms):
                    yield bad("a secret is in the result", tool=tool_id)
        reader = EvidenceReader(runtime)
        kept = reader.text(session.caller.workspace) + reader.text()
    places = {"evidence": kept, "log records": "\n".join(records)}
    found = [place for place, text in places.items() if any(form in text for form in forms)]
    found += [f"the file {name}" for name in _files_with(bench.folder, forms)]
    yield bad(f"a secret is in {', '.join(found)}") if found else ok()


@contextmanager
def _log_records() -> Iterator[list[str]]:
    """Gather what is logged, at every level, by whatever logger passes records on."""
    texts: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    root, handler = logging.getLogger(), Keep(level=logging.NOTSET)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield texts
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _files_with(folder: Path, forms: tuple[str, ...]) -> list[str]:
    wanted = [form.encode() for form in forms]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in wanted)
    ]
