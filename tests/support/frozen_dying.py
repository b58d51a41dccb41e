"""A process that dies by SIGKILL in a given phase of bringing a frozen tool to Active."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from frozen_tools import Echoes, open_runtime, proposal, recorded, settle
from holon_core import FrozenState
from holon_core.frozen.moving import Mover

# Where it dies, and at which of the moves that need an approval.
PHASES = (
    "after propose",
    "after candidate",
    "in fixture",
    "after fixtures",
    "after hold",
    "after approve",
    "before move to frozen",
    "inside move to frozen",
    "after move to frozen",
    "before move to active",
    "inside move to active",
    "after move to active",
    "after block",
    "before move to validated",
    "inside move to validated",
    "after move to validated",
)


def die() -> None:
    """End this process as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(Echoes):
    """A kind that ends the process while a fixture runs."""

    dies = False

    def execute(self, call: Any, tool: Any) -> Any:
        if self.dies:
            die()
        return super().execute(call, tool)


def main(folder: Path, phase: str) -> None:
    """Bring a tool as far as the phase, and die there."""
    kind = Dying()
    runtime = open_runtime(folder / "root", kind)
    session = runtime.session(principal="ann", workspace=folder / "place")
    frozen = runtime.tools.frozen
    record = frozen.create(proposal(), caller=session.caller, calls=recorded(session))
    if phase == "after propose":
        die()
    frozen.promote(record.id, session=session)
    if phase == "after candidate":
        die()
    kind.dies = phase == "in fixture"
    record = frozen.validate(record.id, caller=session.caller)
    if phase == "after fixtures":
        die()
    for state in (FrozenState.FROZEN, FrozenState.ACTIVE):
        asked = frozen.promote(record.id, session=session).result
        assert asked is not None
        if phase == "after hold":
            die()
        if phase == "after approve":
            assert asked.held is not None
            runtime.approvals.approve(asked.held, by="boss", reason="ok")
            die()
        if phase.endswith(state.value):
            _arm(phase.partition(" ")[0])
        settle(runtime, session, asked.held)
    frozen.block(record.id, by="op", reason="stop")
    if phase == "after block":
        die()
    back = frozen.unblock(record.id, session=session, reason="it was a mistake").result
    assert back is not None
    _arm(phase.partition(" ")[0])
    settle(runtime, session, back.held)


def _arm(when: str) -> None:
    """Let the move's executor end the process before, inside or after its transaction."""
    moving = Mover._approved

    def approved(self: Mover, call: Any, given: Any) -> Any:
        if when == "before":
            die()
        if when == "inside":
            evidence = Mover.record

            def record(*args: Any) -> int:
                evidence(*args)
                die()
                return 0

            Mover.record = record  # type: ignore[method-assign,assignment]
        moved = moving(self, call, given)
        die()
        return moved

    Mover._approved = approved  # type: ignore[method-assign]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
