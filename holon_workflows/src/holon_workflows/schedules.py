"""Schedules: a workflow started at a time, at intervals, or by cron; once across processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused
from holon_core.governed import Facet, operation
from holon_core.ids import new_id
from holon_core.records.failure import failure
from holon_workflows.engine.starting import Starting, checked_inputs
from holon_workflows.engine.state import caller_json
from holon_workflows.kinds.timer import NotATime, duration, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.records.caller import CallerContext
    from holon_core.workbench import Change
    from holon_workflows.engine.engine import Engine
    from holon_workflows.engine.state import RunRecord

SCHEDULES = "schedules"
ONCE, SKIP = "once", "skip"
MIN_INTERVAL_S = 1.0


def _scheduled(
    *, definition: str, inputs: Mapping[str, Any], when: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    return {"definition": definition, "inputs": dict(inputs), **when, **more}


class Schedules(Facet):
    """Keeps and fires schedules.

    A schedule is bound to a version when it is made. The run of a time has an id made of the
    schedule and that time, so that two processes, or one that died in between, start it once.
    Of starts that were missed, because no process served the store, the rule ``once`` makes
    one, at the next look; ``skip`` makes none.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @operation("workflow-run/schedule", given=_scheduled)
    def add(
        self,
        definition: str,
        inputs: Mapping[str, Any],
        *,
        caller: CallerContext,
        when: Mapping[str, Any],
        missed: str = ONCE,
        version: str | None = None,
    ) -> dict[str, Any]:
        """Keep a schedule.

        Args:
            definition: What is started.
            inputs: With what.
            caller: In whose name.
            when: One of ``at`` (a time), ``every_s`` (from 1 s), ``cron`` with ``timezone``.
            missed: ``once`` or ``skip``.
            version: The newest where none is named.

        Raises:
            Refused: ``unknown_workflow``, ``arguments_invalid``.
        """
        engine = self._engine
        kept = engine.definitions.read(definition, version)
        given = checked_inputs(engine.definitions.version(kept.id, kept.version), inputs)
        now = engine.clock.now()
        try:
            due = first(when, now)
        except NotATime as error:
            raise Refused(failure("arguments_invalid", str(error), path="/when")) from None
        made = {
            "id": new_id("s"),
            "definition": kept.id,
            "version": kept.version,
            "inputs": given,
            "caller": caller_json(caller),
            "when": dict(when),
            "missed": missed,
            "next_at": due,
            "fired": 0,
            "last_run": None,
            "created_at": now,
        }
        engine.bench.change(lambda change: change.put(SCHEDULES, made["id"], made))
        return made

    def list(self, *, after: str = "", limit: int = 1000) -> Sequence[dict[str, Any]]:
        """Return schedules by id."""
        rows = self._engine.bench.read(lambda view: view.under(SCHEDULES, after=after, limit=limit))
        return [each for _, each in rows]

    def read(self, schedule: str) -> dict[str, Any]:
        """Return a schedule.

        Raises:
            Refused: ``unknown_workflow``.
        """
        found: dict[str, Any] | None = self._engine.bench.read(
            lambda view: view.get(SCHEDULES, schedule)
        )
        if found is None:
            raise Refused(failure("unknown_workflow", f"no schedule {schedule[:200]}"))
        return found

    @operation("workflow-run/unschedule")
    def remove(self, schedule: str, *, by: str | None = None) -> None:
        """Remove a schedule; runs that it started go on."""
        self.read(schedule)
        self._engine.bench.change(lambda change: change.remove(SCHEDULES, schedule))

    def fire(self) -> Sequence[RunRecord]:
        """Start what is due, here and by no other process; return the runs."""
        now = self._engine.clock.now()
        started = []
        kept = self._engine.bench.read(lambda view: list(view.every(SCHEDULES)))
        for _, each in kept:
            if each["next_at"] is None or each["next_at"] > now:
                continue
            try:
                run = self._fire(each, now)
            except Exception:
                # One schedule that cannot start keeps none of the others from it.
                self._engine.logger.exception("schedule %s", each["id"])
                continue
            if run is not None:
                started.append(run)
        return started

    def _fire(self, schedule: dict[str, Any], now: float) -> RunRecord | None:
        due, run = schedule["next_at"], None
        following, next_one = _after(schedule["when"], due, now), _after(schedule["when"], due, due)
        # Missed is what the one after it has overtaken; a look that is merely late starts it.
        missed = next_one is not None and next_one <= now
        if not (missed and schedule["missed"] == SKIP):
            run = self._started(schedule, due)

        def work(change: Change) -> bool:
            found = change.get(SCHEDULES, schedule["id"])
            if found is None or found["next_at"] != due:
                return False
            last = found["last_run"] if run is None else run.id
            fired = found["fired"] + (run is not None)
            made = {**found, "next_at": following, "fired": fired, "last_run": last}
            change.put(SCHEDULES, schedule["id"], made)
            return True

        return run if self._engine.bench.change(work) else None

    def _started(self, schedule: dict[str, Any], due: float) -> RunRecord | None:
        """Start the run of a time; one that is refused keeps no other schedule from firing."""
        from holon_core.records.caller import CallerContext

        try:
            return Starting(self._engine).start(
                schedule["definition"],
                schedule["inputs"],
                caller=CallerContext(**schedule["caller"]),
                version=schedule["version"],
                # Whoever starts it again gets the same run; no caller can give such an id.
                run_id=f"{schedule['id']}@{int(due)}",
            )
        except Refused as error:
            self._engine.logger.warning("schedule %s: %s", schedule["id"], error)
            return None


def first(when: Mapping[str, Any], now: float) -> float | None:
    """Return when a schedule fires first.

    Raises:
        NotATime: It names no usable time, interval or cron expression.
    """
    if "at" in when:
        return moment(when["at"], now=now)
    if "every_s" in when:
        every = duration(when["every_s"])
        if every < MIN_INTERVAL_S:
            raise NotATime(f"an interval is at least {MIN_INTERVAL_S:g} s")
        return now + every
    return _cron(when, now)


def _after(when: Mapping[str, Any], due: float, now: float) -> float | None:
    """Return the first time after now at which a schedule fires; ``None`` where none is left."""
    if "at" in when:
        return None
    if "every_s" in when:
        every = float(when["every_s"])
        return due + every * (math.floor(max(0.0, now - due) / every) + 1)
    return _cron(when, now)


def _cron(when: Mapping[str, Any], now: float) -> float | None:
    from zoneinfo import ZoneInfo

    from cronsim import CronSim, CronSimError

    try:
        zone = ZoneInfo(when.get("timezone", "UTC"))
        begin = datetime.fromtimestamp(now, tz=timezone.utc).astimezone(zone)
        found: float = next(CronSim(when["cron"], begin)).timestamp()
        return found
    except StopIteration:
        return None
    except CronSimError as error:
        raise NotATime(f"not a cron expression: {error}") from None
    except (KeyError, ValueError, OSError):
        raise NotATime("no such time zone") from None
