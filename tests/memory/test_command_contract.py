"""The contract of the memory command, on the default one and on any that is named.

``HOLON_MEMORY_COMMAND`` names another command, as JSON list or as one path; whoever has the
real one checks it so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holon_builtin_memory.answers import opened, seconds, word

DEFAULT = [sys.executable, "-I", "-m", "elegy_memory"]


def _commands() -> list[list[str]]:
    named = os.environ.get("HOLON_MEMORY_COMMAND")
    if not named:
        return [DEFAULT]
    return [DEFAULT, json.loads(named) if named.startswith("[") else [named]]


class Answer(NamedTuple):
    """How a run ended and what it said."""

    code: int
    text: str
    said: str

    @property
    def whole(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        value = json.loads(self.text)
        assert isinstance(value, dict)
        return value

    @property
    def data(self) -> Any:
        """The data of a successful answer, held against what the lane relies on."""
        assert self.code == 0, self.text
        return opened(self.whole, self.whole["command"][0].partition(".")[0])


Run = Callable[..., Answer]


@pytest.fixture(params=_commands(), ids=lambda command: Path(command[-1]).name)
def run(request, tmp_path) -> Run:
    """Run a subcommand on the test's file, as the lane does."""

    def run(subcommand: str, *words: str, text: str | None = None, stdin: str = "") -> Answer:
        options = ["--format", "json", "--non-interactive", "--db", str(tmp_path / "m.db")]
        positional = [] if text is None else ["--", text]
        done = subprocess.run(
            [*request.param, subcommand, *options, *words, *positional],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


def add(run: Run, content: str, *words: str) -> dict[str, Any]:
    """Add a memory and return it."""
    memory = run("add", *words, text=content).data["memory"]
    assert isinstance(memory, dict)
    return memory


def test_an_answer_is_the_envelope_with_the_subcommand(run):
    """Version, correlation, command, status and data stand in one object."""
    answer = run("add", "--correlation-id", "mine", text="a note").whole

    assert answer["schemaVersion"] == "elegy.cli/v1"
    assert answer["correlationId"] == "mine"
    assert answer["command"] == ["add"]
    assert answer["status"] == "ok"
    assert answer["nonInteractive"] is True


def test_a_full_memory_has_the_contract_s_spelling(run):
    """Scope, type, provenance and state are in the spelling of full objects."""
    memory = add(run, "Tabs, not spaces", "--type", "preference", "--importance", "0.8")

    assert memory["content"] == "Tabs, not spaces"
    assert (memory["scope"], memory["memoryType"]) == ("Workspace", "Preference")
    assert (memory["provenance"], memory["state"]) == ("UserStated", "Active")
    assert memory["importanceScore"] == pytest.approx(0.8, abs=1e-6)
    assert memory["reliabilityScore"] == pytest.approx(1.0)
    assert seconds(memory["createdAt"]) is not None


@pytest.mark.parametrize(
    ("words", "gate", "state"),
    [
        (["--importance", "0.2"], "accepted", "Active"),
        (["--importance", "0.19"], "archived", "Dormant"),
        (["--provenance", "agent-inferred", "--importance", "0.5"], "accepted", "Active"),
        (["--provenance", "agent-inferred", "--importance", "0.4"], "archived", "Dormant"),
    ],
    ids=["at-the-threshold", "unimportant", "inferred", "inferred-and-unimportant"],
)
def test_the_gate_keeps_the_unimportant_dormant(run, words, gate, state):
    """The action is added in any case; the gate's result tells."""
    data = run("add", *words, text="perhaps").data

    assert (data["action"], data["gateResult"], data["memory"]["state"]) == ("added", gate, state)


@pytest.mark.parametrize("text", ["-x", "--help", "-", "--db=/etc/passwd"])
def test_a_text_that_looks_like_an_option_is_a_text(run, text):
    """What stands after -- is taken as it is, in both subcommands with a text."""
    assert add(run, text)["content"] == text
    assert run("search", text=text).code == 0


@pytest.mark.parametrize(
    ("subcommand", "words", "text"),
    [
        ("add", [], "  "),
        ("add", ["--importance", "1.5"], "x"),
        ("search", [], " "),
        ("search", ["--limit", "0"], "x"),
    ],
    ids=["empty-content", "importance", "empty-query", "no-limit"],
)
def test_bad_input_is_invalid_and_exits_with_1(run, subcommand, words, text):
    """The failure is an envelope on standard output."""
    answer = run(subcommand, *words, text=text)

    assert answer.code == 1
    assert answer.whole["status"] == "invalid"
    assert answer.whole["failure"]["code"] == "CLI-INVALID-INPUT"
    assert answer.whole["failure"]["category"] == "invalidInput"


def test_what_the_store_lacks_is_a_runtime_failure(run):
    """An unknown id is an error of the store, not of the request."""
    answer = run("inspect", text="00000000-0000-4000-8000-000000000000")

    assert answer.code == 1
    assert answer.whole["status"] == "error"
    assert answer.whole["failure"]["code"] == "CLI-RUNTIME-FAILURE"


def test_wrong_usage_exits_with_2_and_prints_no_answer(run):
    """The argument parser speaks on standard error."""
    answer = run("search", "--no-such-option", text="x")

    assert (answer.code, answer.text) == (2, "")
    assert answer.said != ""


def test_search_wants_all_words_and_scales_the_best_to_one(run):
    """A hit has all terms; the best similarity is 1, the worst of several 0."""
    add(run, "retry budget of the client")
    add(run, "retry budget retry budget: the budget of retries is three")
    add(run, "budget of the month")

    data = run("search", text="retry budget").data
    fits = [hit["similarity"] for hit in data["results"]]

    assert len(fits) == 2
    assert fits[0] == pytest.approx(1.0)
    assert fits[1] == pytest.approx(0.0)
    assert data["keywordOnly"] is True


def test_identifiers_are_found_by_their_parts(run):
    """Borders of case, acronyms and digits split what is indexed."""
    made = add(run, "parseHTTPRequest2 is slow")

    hits = [run("search", text=text).data["results"] for text in ("http request", "parse 2")]

    assert [[hit["id"] for hit in each] for each in hits] == [[made["id"]]] * 2


@pytest.mark.parametrize("text", ['"', "a OR b", "NEAR(x y)", "col:x", "*", "'); DROP TABLE x"])
def test_operators_of_the_index_are_words(run, text):
    """No query is an expression of the index's own language."""
    add(run, "something else")

    assert run("search", text=text).data["results"] == []


def test_dormant_memories_are_found_only_when_asked_for(run):
    """The same search with --include-dormant finds them."""
    made = add(run, "trivia of the day", "--importance", "0.1")

    assert run("search", text="trivia").data["results"] == []
    found = run("search", "--include-dormant", text="trivia").data["results"]
    assert [(hit["id"], hit["state"]) for hit in found] == [(made["id"], "dormant")]


def test_a_hit_counts_as_a_use(run):
    """A search writes: the access count grows by one for each hit."""
    made = add(run, "the port is 8080")

    run("search", text="port")

    assert run("inspect", text=made["id"]).data["memory"]["accessCount"] == 1


def test_a_scope_sees_itself_and_those_above_it(run):
    """A workspace sees what users keep, not what a session keeps."""
    add(run, "shared by users", "--scope", "user")
    add(run, "shared by a session", "--scope", "session")

    found = run("search", text="shared").data["results"]

    assert [hit["preview"] for hit in found] == ["shared by users"]


def test_list_shows_one_scope_oldest_first(run):
    """Short rows have the spelling of flags."""
    for content in ("first", "second"):
        add(run, content)
    add(run, "elsewhere", "--scope", "user")

    data = run("list").data

    assert [row["preview"] for row in data["memories"]] == ["first", "second"]
    assert data["count"] == 2
    assert {word(row["memoryType"]) for row in data["memories"]} == {"observation"}
    assert data["memories"][0]["updatedAt"].endswith("+00:00")


def test_a_preview_is_one_line_of_80_characters(run):
    """Line ends become blanks, the cut is marked."""
    add(run, "line one\n" + "x" * 100)

    (row,) = run("list").data["memories"]

    assert row["preview"] == "line one " + "x" * 71 + "…"


def test_health_counts_by_scope_and_type(run):
    """The report is of the scope that was asked for; all four are listed."""
    add(run, "a", "--type", "fact")
    add(run, "b", "--importance", "0.1")

    data = run("health").data

    assert (data["report"]["activeCount"], data["report"]["dormantCount"]) == (1, 1)
    assert data["typeCounts"] == {"fact": 1, "observation": 1}
    assert len(data["perScopeReports"]) == 4


def test_an_export_comes_back_as_it_was(run, tmp_path):
    """Import keeps ids; what is there already is not doubled."""
    made = add(run, "kept", "--importance", "0.8")
    out = tmp_path / "out.json"
    assert run("export", "--output", str(out)).data["memoryCount"] == 1
    assert run("purge", "--yes").code == 0

    first = run("import", "--input", str(out)).data
    again = run("import", "--input", str(out)).data

    assert (first["imported"], again["imported"]) == (1, 0)
    assert run("inspect", text=made["id"]).data["memory"]["content"] == "kept"


def test_an_import_takes_texts_and_short_objects(run):
    """Defaults are observation, 0.5 and imported; words are read in any spelling."""
    given = ["plain", {"content": "typed", "type": "PREFERENCE", "importance": 0.9}]

    data = run("import", stdin=json.dumps(given)).data
    rows = run("list").data["memories"]

    assert (data["total"], data["imported"]) == (2, 2)
    assert {(row["memoryType"], row["provenance"]) for row in rows} == {
        ("observation", "imported"),
        ("preference", "imported"),
    }


@pytest.mark.parametrize("given", ["{", "[", "3", '{"memories": 3}'])
def test_a_malformed_import_is_invalid(run, given):
    """Nothing of it is kept."""
    answer = run("import", stdin=given)

    assert (answer.code, answer.whole["status"]) == (1, "invalid")


def test_purge_empties_all_scopes_and_only_when_confirmed(run):
    """Without --yes and with nobody to ask it fails."""
    add(run, "here")
    add(run, "there", "--scope", "agent")

    assert run("purge").whole["status"] == "invalid"
    assert run("list").data["count"] == 1
    data = json.loads(run("purge", "--yes").text)["data"]

    assert data["report"]["memoriesDeleted"] == 2
    assert run("search", text="here").data["results"] == []


def test_contradictions_are_a_list(run):
    """There are none without an embedding provider; an unknown one can't be resolved."""
    assert json.loads(run("contradictions").text)["data"] == []
    answer = run("contradictions", "resolve", "--id", "x", "--keep-both")

    assert (answer.code, answer.whole["status"]) == (1, "invalid")


def test_a_provider_that_is_not_there_is_no_silent_nothing(run):
    """Either it works or it says so; no run pretends to have used one."""
    answer = run("search", "--embedding-provider", "openai", text="x")

    assert answer.code == 1
