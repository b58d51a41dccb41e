"""What a run waits for, each with the command that lets it go on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


def show_waits(view: Any, notes: Console) -> None:
    """Show what keeps a run from going on, and what to type."""
    for waits in view.waits_for:
        place = escape_controls(str(waits["step"]))
        said = waits.get("message") or _SAID.get(waits.get("for", ""), "waits")
        notes.print(Text(escape_controls(f"{place}: {said}")))
        for line in _commands(view.id, waits):
            notes.print(Text(f"  {escape_controls(line)}", "dim"))


_SAID = {
    "person": "waits for the answer of a person",
    "approval": "waits for an approval of its call",
    "time": "waits for its time",
    "retry": "failed, and is tried again",
}


def _commands(run: str, waits: Mapping[str, Any]) -> list[str]:
    run, step = shlex.quote(run), shlex.quote(str(waits["step"]))
    what, code = waits.get("for"), waits.get("code")
    if what == "person":
        gate = shlex.quote(waits["gate"])
        return [f"holon human-gate list --run {run}", f"holon human-gate answer {gate} CHOICE"]
    if what == "approval":
        return [f"holon approval approve {shlex.quote(waits['call'])} --reason TEXT"]
    if what == "interrupted":
        own = shlex.quote(str(waits["run"]))
        return [f"holon workflow-step resolve {own} {step} rerun|complete|fail --reason TEXT"]
    if code == "unknown_tool":
        return [
            f"holon workflow-run resume {run} --tools FILE   (and --app NAME, as it was started)"
        ]
    if what == "blocked":
        return [f"next: {waits['next_action']}", f"holon workflow-run resume {run}"]
    return []
