"""`holon skill`: files and folders in, what came of each, approvals by the prompt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from command import Command, Done
from support import ROOT

pytest.importorskip("click", reason="the command is not installed here")

TOOL = "holon-elegy.local/note-add"


class Inside:
    """The command in this process, as people type it: `holon("skill", "list")`."""

    def __init__(self, command: Command, patch: Any, capture: Any) -> None:
        self.folder, self.command = command.folder, command
        self.patch, self.capture = patch, capture

    def __call__(self, *words: str) -> Done:
        """Run it to its end."""
        return self.command.inside(words, self.patch, self.capture)


@pytest.fixture
def holon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Inside:
    """The command, with a storage root of its own."""
    return Inside(Command(tmp_path), monkeypatch, capfd)


def skill(**changes: Any) -> dict[str, Any]:
    """Make a skill that the program `python3` would run."""
    return {
        "skillFormat": "elegy-skill-definition",
        "skillVersion": 2,
        "identity": {"namespace": "demo", "name": "notes", "version": "1.0.0"},
        "capabilities": [
            {
                "id": "note-add",
                "name": "Add Note",
                "description": "Keep a note.",
                "implementation": {
                    "executionType": "subprocess",
                    "executableName": "python3",
                    "arguments": ["add", "${text}"],
                },
                "input": {"parameters": [{"name": "text", "type": "string", "required": True}]},
                "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
                "execution": {"hasSideEffects": True},
            }
        ],
        "lifecycleState": "active",
        **changes,
    }


def write(holon: Inside, name: str, data: Any) -> str:
    path = holon.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return name


def test_a_skill_is_imported_shown_approved_and_dry_run(holon: Inside):
    """The whole way of a person at the prompt."""
    imported = holon("skill", "import-elegy", write(holon, "notes.json", skill()), "--json")
    listed = holon("skill", "list", "--json").json["skills"]
    shown = holon("skill", "show", TOOL, "--json").json
    posture = ("--posture", "adapter_forwarded", "--reason", "read it")
    approved = holon("skill", "approve", TOOL, *posture, "--json")
    dry = holon("tool", "dry-run", TOOL, "text=hi", "--json").json

    assert imported.code == 0
    assert [each["state"] for each in imported.json["skills"]] == ["added"]
    assert [each["capabilities"] for each in listed] == [[TOOL]]
    assert shown["bindings"][0]["implementation"]["executable"] == "python3"
    assert (approved.code, approved.json["approvals"][0]["tool"]) == (0, TOOL)
    assert dry["output"]["argv"] == ["python3", "add", "hi"]
    codes = [reason["code"] for reason in dry["blocking_reasons"]]
    assert codes == ["executor_unbound", "approval_required"]


def test_a_newcomer_goes_from_a_file_to_a_run_as_the_manual_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
):
    """Import, a plugin of the manual's own lines that binds, approve, call, approve, release."""
    page = (ROOT / "docs" / "elegy.md").read_text(encoding="utf-8")
    module = next(part for part in page.split("```python\n") if part.startswith("# acme_runner.py"))
    site = tmp_path / "site"
    facts = site / "acme_runner-1.dist-info"
    facts.mkdir(parents=True)
    (site / "acme_runner.py").write_text(module.split("```")[0], encoding="utf-8")
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-runner\nVersion: 1\nRequires-Dist: holon-core\n"
    )
    (facts / "entry_points.txt").write_text("[holon]\nacme = acme_runner\n")
    monkeypatch.syspath_prepend(str(site))
    holon = Inside(Command(tmp_path), monkeypatch, capfd)
    [given] = skill()["capabilities"]
    given["implementation"] = {
        "executionType": "subprocess",
        "executableName": "python3",
        "arguments": ["-c", "print('{}')", "${text}"],
    }
    name = write(holon, "notes.json", skill(capabilities=[given]))

    assert holon("skill", "import-elegy", name).code == 0
    posture = ("--posture", "adapter_forwarded", "--reason", "read it")
    assert holon("skill", "approve", TOOL, *posture).code == 0
    called = holon("tool", "call", TOOL, "text=hi", "--json")
    held = called.json["held"]
    assert held, called.out
    said = ("--actor", "bo", "--reason", "fine")
    assert holon("approval", "approve", held, *said).code == 0
    done = holon("tool", "release", held, "--json").json
    monkeypatch.delitem(sys.modules, "acme_runner")

    assert (done["status"], done["output"]) == ("completed", {})


def test_what_a_template_refuses_is_told_at_once(holon: Inside):
    """By its path, and nothing waits for an approver."""
    holon("skill", "import-elegy", write(holon, "notes.json", skill()))

    dry = holon("tool", "dry-run", TOOL, "text=--help", "--json")

    assert dry.json["failure"]["code"] == "arguments_invalid"
    assert dry.json["failure"]["details"]["path"] == "/text"


def test_a_file_of_another_contract_says_what_it_is_and_where_it_goes(holon: Inside):
    """Named itself it is refused with that; a package brings what is inside of it."""
    lock = {"schemaVersion": "agent-capability-profile/v1", "profileId": "p"}
    lists: dict[str, Any] = {"includeSkills": [], "includeCapabilities": []}
    given = {**lock, **lists, "excludeCapabilities": []}
    package = {
        "schemaVersion": "elegy-plugin-package/v1",
        "identity": {"packageId": "demo.pack", "name": "pack", "version": "1.0.0"},
        "metadata": {"description": "One skill."},
        "components": {"skillDefinitions": [{"id": "notes", "definition": skill()}]},
    }

    told = holon("skill", "import-elegy", write(holon, "profile.json", given))
    brought = holon("skill", "import-elegy", write(holon, "package.json", package), "--json")

    assert told.code == 4
    assert "agent-capability-profile/import" in " ".join(told.out.split())
    assert [each["tools"] for each in brought.json["skills"]] == [[TOOL]]


def test_a_folder_comes_in_as_far_as_it_holds_skills(holon: Inside):
    """Other contracts are left out and counted; what is broken is named, and ends with 4."""
    write(holon, "all/notes.json", skill())
    write(holon, "all/other.json", {"hello": "world"})
    write(holon, "all/broken.json", skill(lifecycleState="asleep"))
    write(holon, "all/text.json", "{")

    done = holon("skill", "import-elegy", "all", "--json")
    states = {Path(each["file"]).name: each["state"] for each in done.json["skills"]}

    assert done.code == 4
    assert states == {
        "notes.json": "added",
        "other.json": "no skill",
        "broken.json": "rejected",
        "text.json": "rejected",
    }
    told = holon("skill", "import-elegy", "all")
    assert "1 files hold no skill and were left out" in told.out
    assert "at /lifecycleState" in told.out


def test_a_changed_file_shows_its_difference_and_what_it_voids(holon: Inside):
    """Importing again is safe; what was approved is not approved any more."""
    name = write(holon, "notes.json", skill())
    holon("skill", "import-elegy", name)
    posture = ("--posture", "model_invoked", "--reason", "read it")
    assert holon("skill", "approve", TOOL, *posture).code == 0

    same = holon("skill", "import-elegy", name)
    write(holon, "notes.json", skill(metadata={"summary": "Other words."}))
    changed = holon("skill", "import-elegy", name)

    assert "unchanged" in same.out
    assert "/metadata: absent ->" in changed.out
    assert f"{TOOL}: its approval no longer holds" in changed.out


def test_a_file_that_is_not_there_is_a_mistake_of_usage(holon: Inside):
    """Nothing is opened for it."""
    done = holon("skill", "import-elegy", "nowhere.json")

    assert done.code == 2
    assert "nowhere.json: no such file or folder" in done.err


def test_the_operation_itself_is_a_command_too(holon: Inside):
    """The row that the lane brings under the core's noun."""
    name = write(holon, "notes.json", skill())
    assert holon("skill-source", "register", "holon-elegy.x", "--kind", "elegy_v2").code == 0

    words = ("--source", "holon-elegy.x", "--definition", f"@{name}", "--json")
    done = holon("skill", "import-elegy-v2", *words)

    assert (done.code, done.json["skills"][0]["state"]) == (0, "added")
