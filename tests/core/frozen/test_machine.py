"""The life of frozen tools under any sequence of operations."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from frozen_tools import BOSS, Echoes, brought_to, open_runtime, proposal, recorded
from holon_core import FrozenState, Refused, Rejected
from holon_core.records.frozen import FrozenToolRecord
from holon_core.records.words import Status
from holon_core.testing import ManualClock

S = FrozenState
WHY = "a reason"


class Life(RuleBasedStateMachine):
    """Every operation on frozen tools, in any order, by people who mean well or not."""

    tools = Bundle("tools")
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.kind, self.clock = Echoes(), ManualClock()
        self.runtime = open_runtime(self.folder / "root", self.kind, clock=self.clock)
        self.frozen = self.runtime.tools.frozen
        self.sessions = [self._session("one"), self._session("two")]
        self.calls = recorded(self.sessions[0])
        self.waiting: list[str] = []

    def _session(self, name: str) -> Any:
        (self.folder / name).mkdir()
        return self.runtime.session(principal="ann", workspace=self.folder / name)

    def teardown(self) -> None:
        self.runtime.close()
        shutil.rmtree(self.folder)

    @staticmethod
    def refusable(work: Any) -> Any:
        """Do it, or let it be refused; anything else is a defect."""
        try:
            return work()
        except (Refused, Rejected):
            return None

    @rule(target=tools, suffix=st.sampled_from(["", "!"]), fixed=st.booleans(), said=st.booleans())
    def propose(self, suffix: str, fixed: bool, said: bool) -> str:
        expect = {"output": {"said": "HI" + suffix if fixed else "WRONG"}}
        fixtures = [{"name": "hi", "input": {"text": "hi"}, "expect": expect}]
        made = self.frozen.create(
            proposal(content={"suffix": suffix}, fixtures=fixtures if said else []),
            caller=self.sessions[0].caller,
            calls=self.calls if said or fixed else (),
        )
        return made.id

    @rule(target=tools, state=st.sampled_from([S.VALIDATED, S.FROZEN, S.ACTIVE]))
    def bring_up(self, state: FrozenState) -> str:
        self.kind.broken = {}
        return brought_to(self.runtime, self.sessions[0], state).id

    @rule(tool=tools, suffix=st.sampled_from(["", "?"]))
    def update(self, tool: str, suffix: str) -> None:
        expect = {"output": {"said": "HI" + suffix}}
        fixtures = [{"name": "hi", "input": {"text": "hi"}, "expect": expect}]
        body = proposal(content={"suffix": suffix}, fixtures=fixtures)
        caller = self.sessions[0].caller
        self.refusable(lambda: self.frozen.update(tool, body, caller=caller))

    @rule(tool=tools)
    def validate(self, tool: str) -> None:
        caller = self.sessions[0].caller
        self.refusable(lambda: self.frozen.validate(tool, caller=caller))

    @rule(target=held, tool=tools, where=st.sampled_from([0, 0, 0, 1]))
    def promote(self, tool: str, where: int) -> str | None:
        session = self.sessions[where]
        made = self.refusable(lambda: self.frozen.promote(tool, session=session))
        return made.result.held if made and made.result else None

    @rule(target=held, tool=tools)
    def unblock(self, tool: str) -> str | None:
        session = self.sessions[0]
        made = self.refusable(lambda: self.frozen.unblock(tool, session=session, reason=WHY))
        return made.result.held if made and made.result else None

    @rule(
        target=held, tool=tools, text=st.sampled_from(["a", "b"]), where=st.sampled_from([0, 0, 1])
    )
    def call(self, tool: str, text: str, where: int) -> str | None:
        result = self.sessions[where].call(tool, {"text": text})
        if result.status is Status.COMPLETED:
            assert result.output["said"].startswith(text.upper())
        return result.held

    @rule(
        target=held,
        tool=tools,
        other=tools,
        target_state=st.sampled_from(["validated", "frozen", "active"]),
        where=st.sampled_from([0, 0, 1]),
    )
    def ask_for_the_move_by_hand(
        self, tool: str, other: str, target_state: str, where: int
    ) -> str | None:
        given = {
            "proposal": tool,
            # Of the tool itself, or of another one: then nothing may come of it.
            "digest": self.frozen.read(other).digest,
            "artifact": "",
            "target": target_state,
            "reason": "",
        }
        return self.sessions[where].call("holon.frozen-tools/move", given).held

    @rule(call=held, yes=st.booleans())
    def decide(self, call: str | None, yes: bool) -> None:
        if call is not None:
            decide = self.runtime.approvals.approve if yes else self.runtime.approvals.deny
            self.refusable(lambda: decide(call, by=BOSS, reason=WHY))

    @rule(call=held)
    def approve_and_release(self, call: str | None) -> None:
        self.decide(call, yes=True)
        self.release(call)

    @rule(call=held)
    def decide_oneself(self, call: str | None) -> None:
        if call is not None:
            approve = self.runtime.approvals.approve
            assert self.refusable(lambda: approve(call, by="ann", reason=WHY)) is None

    @rule(call=held)
    def release(self, call: str | None) -> None:
        if call is not None:
            self.sessions[0].release(call)

    @rule(tool=tools, verb=st.sampled_from(["block", "deprecate", "archive", "withdraw"]))
    def move(self, tool: str, verb: str) -> None:
        move = getattr(self.frozen, verb)
        self.refusable(lambda: move(tool, by="op", reason=WHY))

    @rule(how=st.sampled_from(["", "", "schema", "tool_failed", "timeout"]))
    def break_or_heal(self, how: str) -> None:
        self.kind.broken = {"all": how} if how else {}

    @rule()
    def time_passes(self) -> None:
        self.clock.advance(61)

    @rule()
    def revalidate(self) -> None:
        self.frozen.revalidate(caller=self.sessions[0].caller)

    @invariant()
    def nothing_ran_that_was_not_to(self) -> None:
        for run in self.kind.runs:
            rights = ("right_state", "right_place", "right_digest", "approved")
            assert all(run[name] for name in rights), run

    @invariant()
    def active_tools_are_proven_and_approved(self) -> None:
        names = []
        for record in self.frozen.list(limit=1000):
            if record.state in (S.FROZEN, S.ACTIVE, S.DEPRECATED):
                self._proven(record)
            if record.state is S.ACTIVE:
                names.append((record.workspace, record.name))
        assert len(names) == len(set(names))

    def _proven(self, record: FrozenToolRecord) -> None:
        run = record.validation
        assert run is not None
        assert run.digest == record.digest
        assert run.fixtures
        for each in run.fixtures:
            kinds = [row.kind for row in self.runtime.evidence.read(each.call_id)]
            assert each.passed
            assert kinds == ["accepted", "completed"]
        last = {move.target: move for move in record.moves}
        for target in {S.FROZEN, S.ACTIVE} & set(last):
            approval = self.runtime.approvals.read(last[target].approval_id)
            assert last[target].approved_by == approval.decided_by == BOSS
            held = self.runtime.approvals.held_for(approval.id)
            digests = {each.arguments["digest"] for each in held}
            targets = {each.arguments["target"] for each in held}
            assert (digests, targets) == ({record.digest}, {target.value})
        assert S.FROZEN in last


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
