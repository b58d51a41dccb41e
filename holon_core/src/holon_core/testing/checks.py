"""The table of checks, and running them on one lane."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import evolve, frozen

from holon_core.plugins.loader import core_version
from holon_core.testing import (
    check_calls,
    check_definitions,
    check_limits,
    check_machine,
    check_offers,
)
from holon_core.testing.bench import Bench, Lane
from holon_core.testing.check_offers import bad, skip
from holon_core.testing.offering import loaded
from holon_core.testing.report import Report, Result, Verdict


@frozen(kw_only=True)
class Check:
    """One rule that every lane keeps: its name, and what yields a row for each tool.

    ``since`` is the version of the core that brought it, empty for those of the first: in that
    minor release what it finds warns, from the next one on it fails.
    """

    name: str
    run: Callable[[Bench], Iterator[Result]]
    since: str = ""

    @property
    def about(self) -> str:
        """What the rule says, in one sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def is_new(self) -> bool:
        """Whether it came with the minor release that runs."""
        here = core_version() or ""
        return bool(self.since) and self.since.split(".")[:2] == here.split(".")[:2]


class NewCheck(DeprecationWarning):
    """A check that is new in this version found something: in the next one that fails."""


def _check(run: Callable[[Bench], Iterator[Result]]) -> Check:
    return Check(name=run.__name__.replace("_", "-"), run=run)


CHECKS: tuple[Check, ...] = tuple(
    map(
        _check,
        (
            check_offers.loads,
            check_machine.import_does_no_io,
            check_offers.hooks_match,
            check_offers.ids_belong,
            check_offers.offers_accepted,
            check_machine.opening_starts_nothing,
            check_offers.definitions_accepted,
            check_offers.definitions_stable,
            check_definitions.schemas_valid,
            check_definitions.schemas_projectable,
            check_definitions.effects_declared,
            check_definitions.executors_present,
            check_offers.operations_own,
            check_calls.preview_starts_nothing,
            check_calls.outputs_validate,
            check_calls.reasons_listed,
            check_calls.no_secret_kept,
            check_limits.keeps_time,
            check_limits.keeps_output,
            check_limits.ends_on_cancel,
            check_machine.memory_hosts,
            check_machine.nothing_leaks,
        ),
    )
)


def run_check(check: Check, bench: Bench) -> tuple[Result, ...]:
    """Run one check; a lane that breaks the check itself fails it.

    A lane that does not load fails ``loads`` and is skipped by the rest.
    """
    broken = not bench.folder.is_dir() or any(each.problem for each in loaded(bench))
    if check.name != "loads" and (broken or not loaded(bench)):
        rows = [skip("the lane does not load")]
    else:
        rows = _rows(check, bench)
    return tuple(_said(row, check, bench) for row in rows)


def _said(row: Result, check: Check, bench: Bench) -> Result:
    """Return a row as the report has it."""
    if row.verdict is Verdict.FAIL and check.is_new:
        row = evolve(row, verdict=Verdict.WARN)
    if row.verdict is Verdict.SKIP and check.name in bench.lane.unchecked:
        row = evolve(row, reason=bench.lane.unchecked[check.name])
    return evolve(row, check=check.name)


def _rows(check: Check, bench: Bench) -> list[Result]:
    rows: list[Result] = []
    try:
        rows.extend(check.run(bench))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        rows.append(bad(f"the check was broken off by {type(error).__name__}: {error}"))
    return rows or [skip("it has no tools")]


def check_lane(lane: Lane, *, folder: Path | None = None) -> Report:
    """Run the whole conformance suite on a lane.

    Args:
        lane: What to check, with sample calls of its tools.
        folder: An empty folder for storage roots and workspaces; else a temporary one.

    Returns:
        A row for each check and tool, in the order of ``CHECKS``.
    """
    with tempfile.TemporaryDirectory(prefix="holon-lane-") as made:
        bench = Bench(lane, Path(made) if folder is None else folder)
        rows = [row for check in CHECKS for row in run_check(check, bench)]
    return Report(distribution=lane.distribution, results=tuple(rows))
