"""From a held write to what a search finds: by Python, by the command, over the protocol."""

from __future__ import annotations

import json
import re

import pytest

import holon_core as holon
from command import Command
from memory_lane import REQUEST, SEARCH, WRITE, code_of
from terminal import terminal


def test_a_write_is_held_approved_released_and_found(rt, project):
    """The same approval serves no other payload, and no second write."""
    session = rt.session(principal="ann", workspace=project)
    held = session.call(WRITE, {"content": "Deploys happen on Tuesdays", "type": "procedure"})
    assert code_of(held) == "approval_required"
    assert session.call(SEARCH, {"query": "deploys"}).output["results"] == []

    rt.approvals.approve(held.held, by="bob", reason="true")
    changed = session.call(WRITE, {"content": "Deploys happen on Fridays", "type": "procedure"})
    written = session.release(held.held)
    again = session.call(WRITE, {"content": "Deploys happen on Tuesdays", "type": "procedure"})
    found = session.call(SEARCH, {"query": "deploys"}).output["results"]

    assert code_of(changed) == "approval_mismatch"
    assert (written.output["action"], written.output["gate_result"]) == ("added", "accepted")
    assert code_of(again) == "approval_consumed"
    assert [hit["id"] for hit in found] == [written.output["memory"]["id"]]
    assert found[0]["snippet"] == "Deploys happen on Tuesdays"


def test_a_request_creates_the_approval_and_finds_it_again(rt, project):
    """Asked twice it is one pending approval; approved, the write runs without being held."""
    session = rt.session(principal="ann", workspace=project)
    payload = {"content": "The port is 8080", "tags": ["net"]}
    asked, again = (session.call(REQUEST, payload) for _ in range(2))

    assert asked.output["state"] == again.output["state"] == "pending"
    assert asked.output["approval"] == again.output["approval"]
    rt.approvals.approve(asked.output["approval"], by="bob", reason="true")
    assert session.call(REQUEST, payload).output["state"] == "approved"

    written = session.call(WRITE, payload)
    assert written.status is holon.Status.COMPLETED
    assert written.output["memory"]["tags"] == ["net"]


@pytest.mark.parametrize(
    "other",
    [{"content": "The port is 8081"}, {"content": "The port is 8080", "importance": 0.9}],
    ids=["content", "importance"],
)
def test_an_approval_is_of_the_exact_payload(rt, project, other):
    """Whatever differs is held, and the approval stays unspent."""
    session = rt.session(principal="ann", workspace=project)
    asked = session.call(REQUEST, {"content": "The port is 8080"})
    rt.approvals.approve(asked.output["approval"], by="bob", reason="true")

    assert code_of(session.call(WRITE, other)) == "approval_mismatch"
    assert session.call(WRITE, {"content": "The port is 8080"}).status is holon.Status.COMPLETED


def test_an_approval_is_of_one_workspace(rt, project, tmp_path):
    """Another workspace's write is held, and its memory is another."""
    (tmp_path / "other").mkdir()
    here, there = (
        rt.session(principal="ann", workspace=folder) for folder in (project, tmp_path / "other")
    )
    asked = here.call(REQUEST, {"content": "The port is 8080"})
    rt.approvals.approve(asked.output["approval"], by="bob", reason="true")

    assert code_of(there.call(WRITE, {"content": "The port is 8080"})) == "approval_wrong_scope"
    here.call(WRITE, {"content": "The port is 8080"})
    assert there.call(SEARCH, {"query": "port"}).output["results"] == []


@pytest.mark.parametrize("verdict", ["deny", "revoke"])
def test_a_denied_or_revoked_approval_writes_nothing(rt, project, verdict):
    """The write is refused and the store has nothing of it."""
    session = rt.session(principal="ann", workspace=project)
    held = session.call(WRITE, {"content": "The port is 8080"}).held
    if verdict == "deny":
        rt.approvals.deny(held, by="bob", reason="no")
    else:
        rt.approvals.approve(held, by="bob", reason="yes")
        rt.approvals.revoke(held, by="bob", reason="no")

    result = session.call(WRITE, {"content": "The port is 8080"})

    assert code_of(result) in ("approval_denied", "approval_revoked")
    assert session.call(SEARCH, {"query": "port"}).output["results"] == []


def test_evidence_has_action_and_gate_result_of_a_write(rt, project, write):
    """They are drafts of the lane, apart from the host's own fields."""
    result = write(rt, content="perhaps", importance=0.1)

    workspace = rt.session(principal="ann", workspace=project).caller.workspace
    records = rt.evidence.list(workspace=workspace)
    text = " ".join(str(each) for each in records if each.call_id == result.call_id)

    assert result.output["gate_result"] == "archived"
    assert "elegy-memory" in text
    assert "'gate_result': 'archived'" in text
    assert "holon-process" in text


def test_the_command_line_goes_the_same_way(tmp_path, monkeypatch, capfd):
    """Held with exit 3, approved, released, found; a changed write is held anew."""
    command = Command(tmp_path)
    here = ["--workspace", str(command.folder), "--json"]

    def run(*words: str):
        return command.inside([*words, *here], monkeypatch, capfd)

    held = run("memory", "write", "Deploys happen on Tuesdays", "--type", "procedure")
    assert held.code == 3
    call_id = held.json["held"]
    assert run("approval", "approve", call_id, "--reason", "true").code == 0
    changed = run("memory", "write", "Deploys happen on Fridays", "--type", "procedure")
    released = run("tool", "release", call_id)
    found = run("memory", "search", "deploys")

    assert changed.json["failure"]["code"] == "approval_mismatch"
    assert released.json["status"] == "completed"
    assert [hit["snippet"] for hit in found.json["output"]["results"]] == [
        "Deploys happen on Tuesdays"
    ]


def test_operators_list_read_export_and_import(tmp_path, monkeypatch, capfd):
    """What was exported comes back into another workspace; bad lines are named, not lost."""
    command = Command(tmp_path)
    (tmp_path / "second").mkdir()
    lines = tmp_path / "in.jsonl"
    lines.write_text('"one note"\n{"content": "two", "tags": ["x"]}\nbroken\n', encoding="utf-8")

    def run(*words: str, at=command.folder):
        done = command.inside([*words, "--workspace", str(at), "--json"], monkeypatch, capfd)
        assert done.code == 0, done.out + done.err
        return done.json

    taken = run("memory", "import", str(lines))
    listed = run("memory", "list")["memories"]
    one = run("memory", "show", listed[0]["id"])
    out = tmp_path / "out.jsonl"
    assert run("memory", "export", str(out))["memories"] == 2
    moved = run("memory", "import", str(out), at=tmp_path / "second")

    assert (taken["imported"], taken["skipped"]) == (2, 1)
    assert taken["problems"][0].startswith("line 3: ")
    assert one["content"] == "one note"
    assert moved["imported"] == 2
    assert run("memory", "health", at=tmp_path / "second")["active"] == 2


def test_an_import_shows_how_far_it_is_where_a_person_watches(tmp_path):
    """On a terminal a bar counts the lines; programs and pipes get the answer alone."""
    command = Command(tmp_path)
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(f'"note {n}"\n' for n in range(1200)), encoding="utf-8")
    words = ("memory", "import", str(lines), "--workspace", str(command.folder))

    piped = command(*words)
    argv = command.argv(*words)
    with terminal(argv, cwd=command.folder, environment=command.environment) as made:
        code = made.end()

    assert (piped.code, code) == (0, 0)
    assert re.search(r"(500|1000|1200)/1200", made.seen)
    assert "lines imported" in made.seen
    assert "lines imported" not in piped.out + piped.err


def test_every_command_has_text_for_people_and_json_for_programs(tmp_path, monkeypatch, capfd):
    """`list` is a table, the others are facts; `--json` is exactly one document."""
    command = Command(tmp_path)
    lines, out = _lines(tmp_path), tmp_path / "out.jsonl"
    where = ("--workspace", str(command.folder))

    def run(*words: str):
        done = command.inside([*words, *where], monkeypatch, capfd)
        assert done.code == 0, done.out + done.err
        return done.out

    imported = run("memory", "import", str(lines))
    listed = run("memory", "list")
    (row,) = json.loads(run("memory", "list", "--json"))["memories"]
    words = [("show", row["id"]), ("health",), ("search", "note"), ("export", str(out))]
    shown = {each[0]: run("memory", *each) for each in words}
    told = {
        each[0]: json.loads(run("memory", *each, "--json"))
        for each in [*words[:-1], ("export", str(out), "--replace"), ("import", str(lines))]
    }

    assert "imported: 1" in imported
    assert listed.splitlines()[0].split("\t") == [
        "id", "type", "state", "updated at", "preview"
    ]  # fmt: skip
    assert row["id"] in listed.splitlines()[1]
    assert "content: note" in shown["show"]
    assert "active: 1" in shown["health"]
    assert "note" in shown["search"]
    assert "memories: 1" in shown["export"]
    assert set(told) == {"show", "health", "search", "export", "import"}
    assert told["show"]["content"] == "note"


def test_an_export_replaces_no_file_unasked(tmp_path, monkeypatch, capfd):
    """The file stays as it was until --replace says otherwise."""
    command = Command(tmp_path)
    out = tmp_path / "out.jsonl"
    out.write_text("mine", encoding="utf-8")

    def run(*words: str):
        words = (*words, "--workspace", str(command.folder), "--json")
        return command.inside(words, monkeypatch, capfd)

    run("memory", "import", str(_lines(tmp_path)))
    refused = run("memory", "export", str(out))

    assert refused.code == 3
    assert json.loads(refused.out)["failure"]["code"] == "file_exists"
    assert out.read_text(encoding="utf-8") == "mine"
    assert run("memory", "export", str(out), "--replace").code == 0


def _lines(folder):
    lines = folder / "in.jsonl"
    lines.write_text('"note"\n', encoding="utf-8")
    return lines
