"""Readiness holds where every one of its parts does, and nowhere else."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holon_core import resolve_program
from rust_tools import ask, create, no_cargo, one, open_rust, proposal

NAMES = ("build_status", "test_status", "fixture_status")


class Readiness(RuleBasedStateMachine):
    """Builds, tests, and takes parts away; a model of its own says what is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="holon-ready-"))
        self.toolchain, self.sources, self.binary = 0, True, True
        self.built: int | None = None
        self.tested: int | None = None

    @initialize()
    def start(self) -> None:
        """Open a runtime whose cargo is a script, so that the toolchain can change."""
        real = resolve_program("cargo")
        self.cargo = self.folder / "cargo"
        self.cargo.write_text(f'#!/bin/sh\nexec {real} "$@"\n', encoding="utf-8")
        self.cargo.chmod(0o755)
        (self.folder / "place").mkdir()
        config = {"lane": {"rust-tools": {"cargo": str(self.cargo)}}}
        self.runtime = open_rust(self.folder / "root", config=config)
        self.session = self.runtime.session(principal="ann", workspace=self.folder / "place")
        self.id = create(self.runtime, self.session, proposal())
        record = ask(self.runtime, self.session, "read", one(self.id))
        self.main = Path(record["source_root"]) / "src" / "main.rs"
        self.text = self.main.read_bytes()

    @rule()
    def build(self) -> None:
        answer = ask(self.runtime, self.session, "build", one(self.id))
        assert (answer["status"] == "completed") is self.sources
        if self.sources:
            self.built, self.binary = self.toolchain, True

    @rule()
    def test(self) -> None:
        could = self.sources and self.built == self.toolchain
        if could and not self.binary:
            return
        answer = ask(self.runtime, self.session, "test", one(self.id))
        assert (answer["status"] == "completed") is could
        if self.sources:
            self.tested = self.toolchain if could else None

    @rule()
    def change_source(self) -> None:
        self.main.chmod(0o600)
        self.main.write_bytes(self.text + b"// changed\n")
        self.sources = False

    @rule()
    def restore_source(self) -> None:
        self.main.chmod(0o600)
        self.main.write_bytes(self.text)
        self.sources = True

    @rule()
    def change_toolchain(self) -> None:
        self.toolchain += 1
        text = self.cargo.read_text(encoding="utf-8")
        self.cargo.write_text(f"{text}# {self.toolchain}\n", encoding="utf-8")

    @rule()
    def exchange_binary(self) -> None:
        record = ask(self.runtime, self.session, "read", one(self.id))
        if record["binary_path"] is not None:
            path = Path(record["binary_path"])
            path.unlink(missing_ok=True)
            shutil.copyfile("/bin/true", path)
            self.binary = False

    @rule()
    def remove_binary(self) -> None:
        record = ask(self.runtime, self.session, "read", one(self.id))
        if record["binary_path"] is not None:
            Path(record["binary_path"]).unlink(missing_ok=True)
            self.binary = False

    @invariant()
    def is_ready_where_all_of_it_is(self) -> None:
        record = ask(self.runtime, self.session, "read", one(self.id))
        is_built = self.sources and self.built == self.toolchain and self.binary
        is_tested = is_built and self.tested == self.toolchain
        statuses = [record[name] == "ready" for name in NAMES]
        assert statuses == [is_built, is_tested, is_tested], record["lacks"]
        assert record["ready"] is is_tested

    def teardown(self) -> None:
        if hasattr(self, "runtime"):
            self.runtime.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.mark.usefixtures("cargo")
def test_readiness_never_holds_where_a_part_does_not() -> None:
    """Over builds, tests, changed sources, toolchains and binaries, in any order."""
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Readiness,
        settings=settings(
            max_examples=5,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert not no_cargo()
