"""`holon skill`: files and folders in, what came of each, approvals by the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Command

pytest.importorskip("click", reason="the command is not installed here")

TOOL = "holon-elegy.local/note-add"


@pytest.fixture
def holon(tmp_path: Path) -> Command:
    """The command, with a storage root of its own."""
    return Command(tmp_path)


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


def write(holon: Command, name: str, data: Any) -> str:
    path = holon.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return name


def test_a_skill_is_imported_shown_approved_and_dry_run(holon: Command):
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


def test_a_folder_comes_in_as_far_as_it_holds_skills(holon: Command):
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


def test_a_changed_file_shows_its_difference_and_what_it_voids(holon: Command):
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


def test_a_file_that_is_not_there_is_a_mistake_of_usage(holon: Command):
    """Nothing is opened for it."""
    done = holon("skill", "import-elegy", "nowhere.json")

    assert done.code == 2
    assert "nowhere.json: no such file or folder" in done.err


def test_the_operation_itself_is_a_command_too(holon: Command):
    """The row that the lane brings under the core's noun."""
    name = write(holon, "notes.json", skill())
    assert holon("skill-source", "register", "holon-elegy.x", "--kind", "elegy_v2").code == 0

    words = ("--source", "holon-elegy.x", "--definition", f"@{name}", "--json")
    done = holon("skill", "import-elegy-v2", *words)

    assert (done.code, done.json["skills"][0]["state"]) == (0, "added")
