"""A run's timeline: when each step ran, as lines for a terminal and as HTML."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape
from typing import TYPE_CHECKING, Any

from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_workflows.views import RunView, StepView

WIDTH = 40
_MARKS = {
    "completed": "█",
    "failed": "✗",
    "running": "▒",
    "waiting": "░",
    "blocked": "!",
    "interrupted": "?",
}
_COLOURS = {
    "completed": "#4caf50",
    "failed": "#e53935",
    "running": "#1e88e5",
    "waiting": "#fdd835",
    "blocked": "#fb8c00",
    "interrupted": "#fb8c00",
}


def event_line(event: Mapping[str, Any]) -> str:
    """Write one event as a line."""
    at = datetime.fromtimestamp(event["at"], tz=timezone.utc).strftime("%H:%M:%S")
    where = event["run"].partition(":")[2]
    step = "/".join(part for part in (where, event["step"]) if part) or "run"
    said = [part for part in (event["note"], event["code"], event["by"]) if part]
    line = f"{at}  {step:<24.60}  {event['state']:<12}{'  ' + '; '.join(said) if said else ''}"
    return escape_controls(line)


def lines(run: RunView, *, now: float) -> list[str]:
    """Draw a run as a bar for each step, over the time that it took so far."""
    begin, span = _span(run, now)
    made = []
    for step in run.steps:
        left, long = _bar(step, begin, span, now, WIDTH)
        bar = " " * left + _MARKS.get(step.state, "·") * long
        made.append(f"{step.id:<24.24}  {step.state:<12}|{bar:<{WIDTH}}|")
    return made


def html(run: RunView, *, now: float) -> str:
    """Draw the same as HTML; every text in it is escaped, and shows what cannot be seen."""
    begin, span = _span(run, now)
    rows = []
    for step in run.steps:
        left, long = _bar(step, begin, span, now, 1000)
        colour = _COLOURS.get(step.state, "#bdbdbd")
        said = step.note or (step.failure or {}).get("code", "")
        bar = (
            '<div style="position:relative;width:20em;height:1em;background:#f5f5f5">'
            f'<div style="position:absolute;left:{left / 10}%;width:{long / 10}%;height:1em;'
            f'background:{colour}"></div></div>'
        )
        cells = "".join(f"<td>{_shown(each)}</td>" for each in (step.id, step.kind, step.state))
        rows.append(f"<tr>{cells}<td>{bar}</td><td>{_shown(said)}</td></tr>")
    head = escape(f"{run.definition}@{run.version}: {run.state}")
    names = "".join(f"<th>{each}</th>" for each in ("step", "kind", "state", "when", ""))
    return f"<table><caption>{head}</caption><tr>{names}</tr>{''.join(rows)}</table>"


def _shown(text: object) -> str:
    return escape(escape_controls(str(text)))


def _span(run: RunView, now: float) -> tuple[float, float]:
    end = run.ended_at or now
    return run.created_at, max(end - run.created_at, 1e-9)


def _bar(step: StepView, begin: float, span: float, now: float, width: int) -> tuple[int, int]:
    if step.started_at is None:
        return 0, 0
    left = min(width - 1, max(0, int((step.started_at - begin) / span * width)))
    end = now if step.ended_at is None else step.ended_at
    long = int((end - step.started_at) / span * width)
    return left, max(1, min(width - left, long))
