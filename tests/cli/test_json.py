"""`--json`: exactly one JSON document on standard output, whatever else prints."""

from __future__ import annotations

import pytest

from holon_cli.host import RECORDED
from holon_core.operations.table import OPERATIONS
from holon_core.wire.schema_engine import compiled

ADD = ["host.cli/add", "a=1", "b=2"]
# A way to ask each command; ID and CALL stand for a held call.
ASKED: dict[str, list[str]] = {
    "runtime-capability/discover": ["add numbers"],
    "runtime-tool/list": [],
    "runtime-tool/read": ["host.cli/add"],
    "runtime-tool/call": ADD,
    "runtime-tool/dry-run": ADD,
    "runtime-tool/explain": ADD,
    "runtime-tool/release": ["CALL"],
    "runtime-tool/refresh": [],
    "runtime-tool/pin": ["host.cli/add", "--reason", "r"],
    "runtime-tool/list-pins": [],
    "runtime-tool/diff": ["host.cli/add"],
    "policy/explain": ADD,
    "execution-approval/request": ["host.cli/write", "path=a", "text=b"],
    "execution-approval/list": [],
    "execution-approval/read": ["CALL"],
    "execution-approval/approve": ["CALL", "--reason", "ok"],
    "execution-approval/deny": ["CALL", "--reason", "no"],
    "execution-approval/edit": ["CALL", "text=z", "--reason", "ok"],
    "execution-approval/grant": [
        *("host.cli/write", "--pattern", "{}", "--principal", "ann", "--uses", "1"),
        *("--ttl-s", "9", "--reason", "r"),
    ],
    "execution-approval/revoke": ["CALL", "--reason", "no"],
    "execution-approval/wait": ["CALL", "--timeout-s", "0"],
    "evidence/list": ["--newest"],
    "evidence/read": ["CALL"],
    "evidence/verify": [],
    "evidence/head": [],
    "evidence/export": ["bundle.jsonl"],
    "evidence/erase": ["--call-id", "CALL", "--reason", "r"],
    "agent-profile/create": ["PROFILE", "--reason", "r"],
    "agent-profile/list": [],
    "agent-session/list": [],
    "structured-output/classes": [],
    "structured-output/validate": [
        "reviewer_output",
        '{"verdict": "approve", "summary": "ok", "findings": []}',
    ],
    "frozen-tool-proposal/list": [],
    "frozen-tool-proposal/revalidate": [],
    "skill-source/list": [],
    "skill-source/register": ["holon-elegy.x", "--kind", "elegy_v2"],
    "skill/list": [],
    "workspace/open": ["."],
    "workspace/list": [],
    "plugin/list": [],
    "protocol/list": [],
}
# These need something that a fresh storage root has not; their refusal is a document, too.
REFUSED = {
    "runtime-tool/unpin": ["host.cli/add", "--reason", "r"],
    "workspace/read": ["w"],
    "skill-source/read": ["holon-elegy.nobody"],
    "skill-source/remove": ["holon-elegy.nobody"],
    "skill/read": ["holon-elegy.nobody/s"],
    "skill/approve-execution": [
        *("holon-elegy.nobody/s", "--posture", "model_invoked", "--reason", "r"),
    ],
    "skill/revoke-execution": ["holon-elegy.nobody/s", "--reason", "r"],
    "runtime-skill/load": ["holon-elegy.nobody/s"],
    "plugin/retire": ["g", "--reason", "r"],
    "structured-output/hand-over": ["o", "plan_approval_gate"],
    "agent-profile/read": ["p"],
    "agent-profile/update": ["PROFILE", "--reason", "r"],
    "agent-profile/archive": ["p", "--reason", "r"],
    "agent-session/open": [],
    "agent-session/read": ["s"],
    "agent-session/finish": ["{}"],
    "agent-session/close": [],
    **{
        f"frozen-tool-proposal/{verb}": ["frozen.w/t~1"]
        for verb in ("read", "diff", "validate", "promote")
    },
    **{
        f"frozen-tool-proposal/{verb}": ["frozen.w/t~1", "--reason", "r"]
        for verb in ("withdraw", "deprecate", "block", "unblock", "archive")
    },
    "frozen-tool-proposal/create": ["--proposal", "{}"],
    "frozen-tool-proposal/update": ["frozen.w/t~1", "--proposal", "{}"],
}


def test_every_operation_is_asked_here():
    """No command escapes this page of tests."""
    assert {*ASKED, *REFUSED} == set(OPERATIONS)


@pytest.fixture
def profile(tmp_path):
    """A file with an agent profile; PROFILE stands for it."""
    file = tmp_path / "profile.json"
    file.write_text('{"id": "p1"}', encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("method", ASKED)
def test_the_document_is_the_answer_of_the_operation(holon, method, profile):
    """A tool's own printing goes to standard error; the answer fits its schema."""
    call = ("tool", "call", "host.cli/write", "path=x", "text=y", "--json")
    recorded = OPERATIONS[method].noun in RECORDED or "CALL" in ASKED[method]
    held = holon(*call).json["held"] if recorded else ""
    words = [{"CALL": held, "PROFILE": profile}.get(word, word) for word in ASKED[method]]

    done = holon(*method.split("/"), *words, "--json")

    assert compiled(OPERATIONS[method].response, f"answer {method}").errors(done.json) == ()
    assert done.code in (0, 3)


@pytest.mark.parametrize("method", REFUSED)
def test_a_refused_operation_is_a_document(holon, method, profile):
    """Status and failure; the exit code is that of the status."""
    words = [profile if word == "PROFILE" else word for word in REFUSED[method]]

    done = holon(*method.split("/"), *words, "--json")

    assert done.code == {"blocked": 3, "failed": 1}[done.json["status"]]
    assert done.json["failure"]["code"]


@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_the_option_stands_anywhere(holon, where):
    """Before the noun, before the verb, or at the end."""
    words = {
        "before": ["--json", "tool", "list"],
        "between": ["tool", "--json", "list"],
        "after": ["tool", "list", "--json"],
    }[where]

    assert holon(*words).json["next_after"] is None


def test_what_a_tool_prints_is_not_in_the_document(holon):
    """It is on standard error, for people who look."""
    done = holon("tool", "call", *ADD, "--json")

    assert done.json["output"] == {"sum": 3}
    assert "noise on standard output" in done.err


@pytest.mark.parametrize(
    ("words", "member"),
    [
        (["--help"], "help"),
        (["tool", "call", "--help"], "help"),
        (["--version"], "version"),
        (["completion", "zsh"], "script"),
        (["doctor"], "checks"),
        (["doctor", "--config"], "settings"),
        (["demo"], "steps"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_a_command_without_a_row_answers_with_a_document(holon, words, member):
    """Help, version, script, checks and the demo's facts."""
    done = holon(*words, "--json")

    assert done.code == 0
    assert done.json[member]
