"""What the kit gives to tests: fixtures, a clock, an approver with a script, a reader."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from broken_lanes import NAME, Plugin
from door import environment
from holon_core.testing import EvidenceReader, ManualClock, ScriptedApprover, named
from holon_core.testing.sampling import sample_of
from holon_core.testing.watching import ANY, watching
from support import ROOT

pytest_plugins = ["holon_core.testing.plugin"]


@holon.tool(id="pay", effects={"network_write"})
def pay(cents: int) -> int:
    """Pay."""
    return cents


def test_the_runtime_in_memory_goes_by_the_clock_of_the_test(
    holon_runtime: holon.Runtime, holon_clock: ManualClock
) -> None:
    """Records carry the time that the test set."""
    holon_runtime.register(pay)
    holon_clock.advance(60)

    result = holon_runtime.session(principal="ann").call("host.app/pay", {"cents": 1})

    record = EvidenceReader(holon_runtime).records(result)[0]
    assert record.created_at_unix_seconds == 1_800_000_060


def test_the_runtime_on_disk_opens_again_on_the_same_root(
    holon_open: Callable[..., holon.Runtime], holon_workspace: Path
) -> None:
    """What the first kept, the second reads."""
    first = holon_open(tools=[pay])
    session = first.session(principal="ann", workspace=holon_workspace)
    held = session.call("host.app/pay", {"cents": 1}).held
    first.close()

    assert [call.call_id for call in holon_open().approvals.held()] == [held]


def test_fixtures_open_without_discovery(
    holon_disk_runtime: holon.Runtime, holon_runtime: holon.Runtime
) -> None:
    """What is installed on the machine does not change a test."""
    assert holon_disk_runtime.plugins.list() == holon_runtime.plugins.list() == ()


def test_an_approver_follows_its_script_and_keeps_what_it_saw(
    holon_runtime: holon.Runtime, holon_approver: type[ScriptedApprover]
) -> None:
    """Denied stays held, approved is released; each view is kept."""
    holon_runtime.register(pay)
    session = holon_runtime.session(principal="ann")
    approver = holon_approver(holon_runtime, [holon.Decision.DENY, holon.Decision.ALLOW])

    denied = approver.settle(session, session.call("host.app/pay", {"cents": 1}))
    paid = approver.settle(session, session.call("host.app/pay", {"cents": 2}))

    assert denied.output is None
    assert paid.output == {"result": 2}
    assert len(approver.seen) == 2


def test_an_approver_without_a_script_approves_everything(holon_runtime: holon.Runtime) -> None:
    """The short form for tests that are about something else."""
    holon_runtime.register(pay)
    session = holon_runtime.session(principal="ann")

    result = ScriptedApprover(holon_runtime).settle(
        session, session.call("host.app/pay", {"cents": 3})
    )

    assert result.output == {"result": 3}


@pytest.mark.parametrize("script", [[], [holon.Decision.ASK]], ids=["at its end", "undecided"])
def test_a_script_that_gives_no_answer_is_a_mistake(
    holon_runtime: holon.Runtime, script: list[holon.Decision]
) -> None:
    """A test never goes on by accident."""
    holon_runtime.register(pay)
    held = holon_runtime.session(principal="ann").call("host.app/pay", {"cents": 1})
    approver = ScriptedApprover(holon_runtime, script)

    with pytest.raises(holon.Misuse):
        approver.decide(held.held or "")


def test_answers_are_added_to_a_script(holon_runtime: holon.Runtime) -> None:
    """The script may grow while the test goes on."""
    holon_runtime.register(pay)
    session = holon_runtime.session(principal="ann")
    approver = ScriptedApprover(holon_runtime)
    approver.answer(holon.Decision.DENY)

    result = approver.settle(session, session.call("host.app/pay", {"cents": 1}))

    assert result.output is None


def test_the_reader_finds_the_trail_and_the_text(
    holon_runtime: holon.Runtime, holon_evidence: type[EvidenceReader]
) -> None:
    """Kinds by call, and all of a chain to search in."""
    holon_runtime.register(pay)
    session = holon_runtime.session(principal="ann")
    result = ScriptedApprover(holon_runtime).settle(
        session, session.call("host.app/pay", {"cents": 31415926})
    )

    reader = holon_evidence(holon_runtime)

    assert reader.trail(result)[-2:] == ["accepted", "completed"]
    assert reader.trail(result.call_id) == reader.trail(result)
    assert "31415926" in reader.text()
    assert "27182818" not in reader.text()


def test_the_reader_finds_what_a_tool_wanted_kept(holon_runtime: holon.Runtime) -> None:
    """Drafts come with their source."""

    @holon.tool(id="note", effects={"none"})
    def note(call: holon.SealedCall) -> None:
        call.draft("notes", {"seen": 1})

    holon_runtime.register(note)
    result = holon_runtime.session(principal="ann").call("host.app/note")

    assert EvidenceReader(holon_runtime).drafts(result) == [
        {"source": "notes", "data": {"seen": 1}}
    ]


def test_a_clock_goes_forward_and_its_wall_side_can_be_turned() -> None:
    """No time passes when the wall clock is set."""
    clock = ManualClock(100)
    clock.advance(5)
    clock.set(50)

    assert (clock.now(), clock.monotonic()) == (50, 5)
    with pytest.raises(holon.Misuse):
        clock.advance(-1)


def test_a_plugin_object_goes_by_the_name_that_it_is_given(
    holon_open: Callable[..., holon.Runtime],
) -> None:
    """Its source ids begin with that name, so its tools come in."""
    runtime = holon_open(plugins=[named(Plugin(), NAME)])

    assert [tool.id for tool in runtime.tools.list()] == [f"{NAME}/work"]


@pytest.mark.parametrize(
    ("schema", "sample"),
    [
        ({"examples": [{"a": 1}], "required": ["b"]}, {"a": 1}),
        ({"default": {}}, {}),
        ({"properties": {"a": {"const": 2}}, "required": ["a"]}, {"a": 2}),
        ({"properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}, {"a": "x"}),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, None),
        ({"properties": {"a": {"type": "string"}}}, {}),
        ({"required": ["a"]}, None),
    ],
)
def test_a_sample_is_made_of_stated_values_alone(schema: Any, sample: Any) -> None:
    """Nothing is invented; what is optional is left out."""
    assert sample_of(schema) == sample


def test_deeds_of_the_watched_code_are_seen_and_no_others(tmp_path: Path) -> None:
    """Files written, read and removed, connections, processes; before and after count for none."""
    (tmp_path / "before").touch()
    with watching(ANY) as deeds:
        (tmp_path / "made").write_text("x", encoding="utf-8")
        (tmp_path / "made").read_text(encoding="utf-8")
        (tmp_path / "made").unlink()
        subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    (tmp_path / "after").touch()

    assert [deed.kind for deed in deeds][:3] == ["write", "read", "write"]
    assert "process" in {deed.kind for deed in deeds}
    assert not any("before" in deed.detail or "after" in deed.detail for deed in deeds)


def test_importing_the_kit_loads_neither_pytest_nor_a_runtime() -> None:
    """A program that only takes the clock pays for nothing else."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import holon_core.testing as t; t.ManualClock\n"
        "heavy = {'pytest', 'holon_core.runtime', 'sqlite3'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_every_public_name_of_the_kit_is_there() -> None:
    """The list is sorted, each of its names loads, and the manual has a line for it."""
    import holon_core.testing as kit

    page = (ROOT / "docs" / "lanes" / "conformance.md").read_text(encoding="utf-8")
    assert [name for name in kit.__all__ if f"`{name}" not in page] == []
    assert kit.__all__ == sorted(kit.__all__)
    assert all(getattr(kit, name) is not None for name in kit.__all__)
    with pytest.raises(AttributeError):
        kit.nothing  # noqa: B018
