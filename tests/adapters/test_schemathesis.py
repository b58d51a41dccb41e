"""Requests that Schemathesis thought of: what reaches the service is valid by its own document.

``schemathesis_cases.jsonl`` is what ``schemathesis_cases.py make`` wrote of the shop's document,
12 examples for each operation and mode. ``HOLON_SCHEMATHESIS`` names the Python of an environment
that has Schemathesis and openapi-core: then fresh cases are made, and openapi-core judges, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvicorn

import holon_adapters.plugin as lane
import holon_core as holon
from adapter_shop import app
from holon_adapters.records import Binding
from holon_core.records.rule import Rule
from openapi_judge import Recording, Seen, problems

HERE = Path(__file__).parent
CASES = HERE / "schemathesis_cases.jsonl"
PYTHON = os.environ.get("HOLON_SCHEMATHESIS")
FRESH = os.environ.get("HOLON_SCHEMATHESIS_EXAMPLES", "100")
# Where the lane is stricter than a document: members that it does not name, numbers that JSON does
# not carry safely, and values that have no form in a URL or a header.
STRICTER = {"additionalProperties", "unevaluatedProperties", "number_range", "request"}


class Called(NamedTuple):
    """A case, what became of it, and what reached the service."""

    case: dict[str, Any]
    result: holon.ToolResult
    seen: list[Seen]


@pytest.fixture(scope="module")
def recording() -> Iterator[tuple[str, Recording]]:
    """The shop on loopback, and a record of what it is asked."""
    kept = Recording(app())
    server = uvicorn.Server(uvicorn.Config(kept, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", kept
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def cases(tmp_path_factory, document) -> list[dict[str, Any]]:
    """The cases: those that are kept, or fresh ones."""
    if PYTHON is None:
        text = CASES.read_text(encoding="utf-8")
    else:
        text = _asked(tmp_path_factory.mktemp("made"), document, "make", FRESH)
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def called(tmp_path_factory, recording, document, cases) -> list[Called]:
    """Every case called once, by the tool of its operation."""
    url, kept = recording
    rules = [Rule(name="all", lane="adapter", decision=holon.Decision.ALLOW)]
    root = tmp_path_factory.mktemp("schemathesis")
    with holon.Runtime.open(root, discover=False, plugins=[lane], config={"rules": rules}) as rt:
        adapters = rt.service("adapters")
        adapters.register("shop", document, by="olga")
        binding = Binding(
            origin=url,
            allow_addresses=("loopback",),
            max_retries=0,
            by="olga",
            reason="ours",
            at_unix_seconds=1,
        )
        adapters.bind("shop", binding)
        session, made = rt.session(principal="ann"), []
        for case in cases:
            before = len(kept.seen)
            result = session.call(f"holon-adapters.shop/{case['operation']}", case["arguments"])
            made.append(Called(case, result, kept.seen[before:]))
        return made


def _asked(folder: Path, document: dict[str, Any], *words: str, stdin: str = "") -> str:
    """Ask the environment that has Schemathesis."""
    assert PYTHON is not None
    file = folder / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    argv = [PYTHON, str(HERE / "schemathesis_cases.py"), words[0], str(file), *words[1:]]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout


def test_every_operation_is_called_in_both_modes(called) -> None:
    """As it should be called and as it should not be, a dozen times each or more."""
    counts = Counter((each.case["operation"], each.case["mode"]) for each in called)

    assert len(counts) == 16
    assert min(counts.values()) >= 12


def test_what_reaches_the_service_is_valid_by_its_own_document(called, document) -> None:
    """Whatever the case was: a judge that knows nothing of the lane finds nothing against it."""
    found = [
        (each.case, said)
        for each in called
        for seen in each.seen
        for said in problems(document, seen)
    ]

    assert found == []


def test_what_should_work_is_sent_once_and_taken(called) -> None:
    """Each positive case is answered with success, or refused by a rule that the page names."""
    positive = [each for each in called if each.case["mode"] == "positive"]
    refused = [each for each in positive if not each.seen]
    rules = {error["rule"] for each in refused for error in _errors(each.result)}

    for each in positive:
        if each.seen and not _is_empty_field(each):
            assert each.result.failure is None, (each.case, each.result.failure)
    assert all(len(each.seen) <= 1 for each in positive)
    assert rules <= STRICTER, rules
    assert len(positive) > 2 * len(refused)


def test_what_should_not_work_is_refused_before_it_is_sent(called) -> None:
    """Each negative case breaks the input schema, with its place, and nothing leaves."""
    negative = [each for each in called if each.case["mode"] == "negative"]
    codes = Counter(each.result.failure.code for each in negative if each.result.failure)

    assert [each.case for each in negative if each.seen] == []
    assert codes == {"arguments_invalid": len(negative)}


@pytest.mark.skipif(PYTHON is None, reason="HOLON_SCHEMATHESIS names no Python")
def test_openapi_core_finds_nothing_either(called, document, tmp_path) -> None:
    """A second judge, of other authors."""
    sent = [seen for each in called for seen in each.seen]
    lines = [
        json.dumps(
            {
                "method": seen.method,
                "path": seen.path,
                "query": seen.query,
                "headers": seen.headers,
                "body": b64encode(seen.body).decode(),
            }
        )
        for seen in sent
    ]
    said = _asked(tmp_path, document, "judge", stdin="\n".join(lines)).splitlines()
    verdicts = [json.loads(line) for line in said]

    assert len(verdicts) == len(sent)
    for seen, verdict in zip(sent, verdicts, strict=True):
        assert verdict == "", seen


def _is_empty_field(called: Called) -> bool:
    """Tell the one place where the service is stricter than its document: empty form fields."""
    body = called.case["arguments"].get("body", {})
    return called.case["operation"] == "add-photo" and body.get("title") == ""


def _errors(result: holon.ToolResult) -> list[dict[str, Any]]:
    assert result.failure is not None
    details = result.failure.details
    return list(details.get("errors") or [details])


DOCUMENT = {
    "paths": {
        "/x/{n}": {
            "get": {
                "parameters": [
                    {"name": "n", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "q", "in": "query", "required": True, "schema": {"maxLength": 2}},
                ]
            }
        }
    }
}


@pytest.mark.parametrize(
    ("path", "query", "body"),
    [
        ("/y", "q=a", b""),
        ("/x/a", "q=a", b""),
        ("/x/1", "", b""),
        ("/x/1", "q=abc", b""),
        ("/x/1", "q=a&r=b", b""),
        ("/x/1", "q=a", b"more"),
    ],
)
def test_the_judge_finds_what_is_wrong(path, query, body) -> None:
    """One that never finds anything would prove nothing."""
    assert list(problems(DOCUMENT, Seen("GET", "/x/1", "q=a", (), b""))) == []
    assert list(problems(DOCUMENT, Seen("GET", path, query, (), body))) != []
