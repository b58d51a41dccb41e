"""What time and other processes change about approvals and workspaces."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import holon_core as holon
from door import HandClock
from holon_core.records.words import ApprovalState


@holon.tool(effects={"network_write"})
def send(text: str) -> str:
    """Send a text."""
    return text


def test_an_expired_approval_is_not_listed_as_pending(tmp_path):
    """The list says what can still be decided, also when nobody looked since."""
    clock = HandClock()
    with holon.Runtime.open(tmp_path / "root", tools=[send], discover=False, clock=clock) as rt:
        held = rt.session(principal="ann").call("host.app/send", {"text": "hi"}).held
        assert held is not None
        assert [a.state for a in rt.approvals.list()] == [ApprovalState.PENDING]

        clock.advance(31 * 86_400)

        assert rt.approvals.list() == ()
        assert [a.state for a in rt.approvals.list(state=ApprovalState.EXPIRED)] == ["expired"]
        assert [a.state for a in rt.approvals.list(state=None)] == ["expired"]
        assert rt.approvals.read(held).state is ApprovalState.EXPIRED


def test_a_principal_removed_by_another_process_is_refused(tmp_path):
    """Who may use a workspace is read anew when another runtime changed it."""

    @holon.tool(effects={"none"})
    def add(a: int) -> int:
        return a

    folder = tmp_path / "work"
    folder.mkdir()
    root = tmp_path / "root"
    with holon.Runtime.open(root, tools=[add], discover=False) as one:
        workspace = one.workspaces.open(folder, principals=["ann", "bob"]).id
        bob = one.session(principal="bob", workspace=workspace)
        assert bob.call("host.app/add", {"a": 1}).status == "completed"

        with holon.Runtime.open(root, discover=False) as other:
            other.workspaces.open(folder, principals=["ann"])

        result = bob.call("host.app/add", {"a": 1})

    assert result.failure is not None
    assert result.failure.code == "wrong_workspace"


async def _cancelled(root: Path) -> tuple[str, ...]:
    import sys

    @holon.tool(effects={"none"})
    def sleep(call: holon.SealedCall) -> str:
        call.draft("sleeper", {"went": "to bed"})
        call.run_process((sys.executable, "-c", "import time; time.sleep(60)"))
        return "woke"

    with holon.Runtime.open(root, tools=[sleep], discover=False) as rt:
        task = asyncio.ensure_future(rt.session(principal="ann").acall("host.app/sleep"))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        last = rt.evidence.list(workspace=None, newest=True, limit=1)[0]
        return tuple(each["source"] for each in last.body["from_tool"])


def test_a_cancelled_call_keeps_what_its_tool_and_its_process_left(tmp_path):
    """Evidence of a run does not get lost because its caller went away."""
    assert asyncio.run(_cancelled(tmp_path / "root")) == ("sleeper", "holon-process")
