"""The conformance suite proves itself: each check fails on a lane that breaks its rule."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from broken_lanes import (
    BROKEN,
    END,
    NAME,
    SOUND_MODULE,
    TOOL,
    WORK,
    Asynchronous,
    Plugin,
    installed,
    lane,
)
from holon_core import hookimpl
from holon_core.plugins.loader import core_version
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.words import Origin
from holon_core.testing import CHECKS, Lane, LaneSuite, Report, Verdict, check_lane
from holon_core.testing.bench import Bench
from holon_core.testing.checks import NewCheck, run_check
from holon_core.testing.watching import watching
from support import ROOT

BY_NAME = {check.name: check for check in CHECKS}
PAIRS = [
    pytest.param(name, make, id=f"{name}-{make.__name__}")
    for name, makers in BROKEN.items()
    for make in makers
]


@pytest.fixture(autouse=True)
def _end() -> Iterator[None]:
    """End what a broken lane leaves behind."""
    END.clear()
    yield
    END.set()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, for lanes that have to be installed."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_every_check_has_a_lane_that_breaks_it() -> None:
    """No check is only believed to find something."""
    assert set(BROKEN) == set(BY_NAME)


@pytest.mark.parametrize(("name", "make"), PAIRS)
def test_a_check_fails_on_the_lane_that_breaks_its_rule(
    place: Path, tmp_path: Path, name: str, make: Any
) -> None:
    """The broken lane fails the check made for it, with a reason."""
    bench = Bench(make(place), tmp_path / "bench")
    bench.folder.mkdir()

    failed = [row for row in run_check(BY_NAME[name], bench) if row.verdict is Verdict.FAIL]

    assert failed
    assert all(row.reason for row in failed)
    assert not any("broken off" in row.reason for row in failed)


def test_a_sound_lane_passes_every_check_but_those_of_a_module(tmp_path: Path) -> None:
    """Where samples for all of it are given, nothing fails and nothing is left unchecked."""
    report = check_lane(lane(), folder=tmp_path)

    assert report.conforms, report.text()
    assert {row.check for row in report.of(Verdict.SKIP)} == {"import-does-no-io"}


def test_a_sound_lane_of_coroutines_passes_too(tmp_path: Path) -> None:
    """Its runs are seen to end by cancelling, at the limit and when the caller goes away."""
    report = check_lane(lane(Plugin(executor=Asynchronous())), folder=tmp_path)

    assert report.conforms, report.text()
    assert {row.check for row in report.of(Verdict.SKIP)} == {"import-does-no-io"}


def test_a_sound_lane_that_is_installed_passes_its_import(place: Path, tmp_path: Path) -> None:
    """The plugin's module is imported in a process of its own."""
    name = installed(place, "acme_sound", SOUND_MODULE)
    (tmp_path / "bench").mkdir()

    rows = run_check(
        BY_NAME["import-does-no-io"], Bench(Lane(distribution=name), tmp_path / "bench")
    )

    assert [(row.verdict, row.reason) for row in rows] == [(Verdict.PASS, "acme_sound")]


def test_a_lane_that_does_not_load_is_checked_no_further(tmp_path: Path) -> None:
    """One failure says it; the rest is skipped."""
    report = check_lane(Lane(distribution="acme-nowhere"), folder=tmp_path)

    assert [row.check for row in report.of(Verdict.FAIL)] == ["loads"]
    assert len(report.of(Verdict.SKIP)) == len(CHECKS) - 1


def test_a_tool_without_samples_is_named_as_unchecked(tmp_path: Path) -> None:
    """What the author has to give is in the reason."""
    report = check_lane(lane(samples={}, failing={}, slow={}, large={}), folder=tmp_path)

    skipped = {row.check: row.reason for row in report.of(Verdict.SKIP) if row.tool == TOOL}
    assert "`samples`" in skipped["outputs-validate"]
    assert "`slow`" in skipped["keeps-time"]
    assert "`large`" in skipped["keeps-output"]
    assert "`failing`" in skipped["reasons-listed"]


@pytest.mark.parametrize(
    ("since", "verdict", "conforms"),
    [(core_version(), Verdict.WARN, True), ("0.0", Verdict.FAIL, False), ("", Verdict.FAIL, False)],
    ids=["this version", "an earlier one", "the first"],
)
def test_a_new_check_warns_for_one_minor_release(
    tmp_path: Path, since: str, verdict: Verdict, conforms: bool
) -> None:
    """In the release that brought it, what it finds is a row that fails nothing."""
    check = evolve(BY_NAME["effects-declared"], since=since)
    (make, *_) = BROKEN["effects-declared"]
    bench = Bench(make(tmp_path), tmp_path / "bench")
    bench.folder.mkdir()

    rows = run_check(check, bench)

    assert {row.verdict for row in rows} == {verdict}
    assert Report(distribution=NAME, results=rows).conforms is conforms


def test_a_new_check_s_finding_is_a_warning_of_the_suite_of_tests(tmp_path: Path) -> None:
    """A lane's own tests go on passing, and say what will fail."""
    check = evolve(BY_NAME["effects-declared"], since=core_version())
    (make, *_) = BROKEN["effects-declared"]
    bench = Bench(make(tmp_path), tmp_path / "bench")
    bench.folder.mkdir()

    with pytest.warns(NewCheck, match="effects are not declared"):
        LaneSuite().test_lane_conforms(check, bench)


def test_what_others_left_to_the_collector_is_no_deed_of_a_preview(tmp_path: Path) -> None:
    """A file that garbage removes when it is collected was not removed by what is watched."""
    (tmp_path / "left").touch()

    class Left:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            (tmp_path / "left").unlink()

    before = gc.get_threshold()
    Left()
    try:
        with watching() as deeds:
            gc.set_threshold(1, 1, 1)
            made: list[list[int]] = [[] for _ in range(1000)]
    finally:
        gc.set_threshold(*before)

    assert (deeds, len(made), (tmp_path / "left").exists()) == ([], 1000, False)


def test_a_report_is_plain_json_and_a_table(tmp_path: Path) -> None:
    """Programs read the one, people the other."""
    report = check_lane(Lane(distribution="acme-nowhere"), folder=tmp_path)

    body = report.to_json()
    assert body["conforms"] is False
    assert body["counts"] == {"pass": 0, "fail": 1, "warn": 0, "skip": len(CHECKS) - 1}
    assert body["results"][0]["check"] == "loads"
    assert report.text().splitlines()[1].startswith("fail     loads")


def test_the_manual_names_every_check_with_its_broken_lanes() -> None:
    """The table of the page is what the code says."""
    page = (ROOT / "docs" / "lanes" / "conformance.md").read_text(encoding="utf-8")

    for name, makers in BROKEN.items():
        shown = "; ".join((make.__doc__ or "").rstrip(".") for make in makers)
        assert f"| `{name}` | {BY_NAME[name].about.rstrip('.')} | {shown} |" in page
    assert NAME not in page


def test_why_a_lane_can_have_no_calls_for_a_check_is_the_reason_of_the_row(tmp_path: Path) -> None:
    """Its author says it, so that nobody reads it as something left out."""
    report = check_lane(lane(slow={}, unchecked={"keeps-time": "it is quick"}), folder=tmp_path)

    reasons = {row.check: row.reason for row in report.of(Verdict.SKIP)}
    assert reasons["keeps-time"] == "it is quick"
    assert "`slow`" in reasons["ends-on-cancel"]


def test_a_source_that_was_registered_is_looked_at(tmp_path: Path) -> None:
    """Its name, its tools and what registering said of them, as of one that is offered."""

    class Registering(Plugin):
        @hookimpl
        def holon_runtime_opened(self, host: Any) -> None:
            source = SkillSourceDescriptor(
                id=f"{NAME}.made", kind=SkillSourceKind.LANE, origin=Origin.REGISTERED
            )
            host.register_source(source, [evolve(WORK, id=f"{NAME}.made/work")])

    bench = Bench(lane(Registering()), tmp_path)
    checks = ("ids-belong", "definitions-accepted")
    rows = {
        (row.check, row.tool, row.reason)
        for name in checks
        for row in run_check(BY_NAME[name], bench)
        if row.verdict is Verdict.PASS
    }

    assert ("ids-belong", "", f"source {NAME}.made") in rows
    assert ("ids-belong", f"{NAME}.made/work", "") in rows
    assert ("definitions-accepted", "", f"1 tools of the source {NAME}.made") in rows
