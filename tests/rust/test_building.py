"""Builds under control: isolated, bounded, one at a time, recovered, and never of what changed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holon_core import FrozenToolRecord, Refused
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_rust_tools.locking import building
from rust_tools import MAIN, MANIFEST, ask, built, create, one, open_rust, proposal

pytestmark = pytest.mark.usefixtures("cargo")
Opened = tuple[Runtime, Session]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a workspace of one test's own."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(tmp_path: Path, place: Path) -> Iterator[Callable[..., Opened]]:
    """Open a runtime of one test's own, with settings of the lane."""
    runtimes: list[Runtime] = []

    def opened(root: Path | None = None, **settings: Any) -> Opened:
        lane = {"lane": {"rust-tools": settings}} if settings else {}
        runtime = open_rust(root or tmp_path / "root", config=lane)
        runtimes.append(runtime)
        return runtime, runtime.session(principal="ann", workspace=place)

    yield opened
    for runtime in runtimes:
        runtime.close()


def status(runtime: Runtime, session: Session, record_id: str) -> dict[str, Any]:
    """Return the artifact record."""
    found: dict[str, Any] = ask(runtime, session, "read", one(record_id))
    return found


def test_unsafe_words_build_too(runtime: Runtime, session: Session) -> None:
    """AB-RUST-001: what validation lets be, the compiler does as well."""
    main = (
        "//! unsafe\n/* unsafe /* unsafe fn x() {} */ */\n"
        'const A: &str = r#"unsafe { "quoted" }"#;\n'
        "fn unsafe_mode() -> usize { let r#unsafe = 1usize; r#unsafe }\n"
        'fn main() { println!("{{\\"count\\":{}}}", A.len() * 0 + unsafe_mode() + 1); }\n'
    )

    record_id = create(runtime, session, proposal(main), "speaks")

    assert ask(runtime, session, "build", one(record_id))["status"] == "completed"


def test_the_compiler_refuses_unsafe_code_by_itself(
    runtime: Runtime, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AB-RUST-003: with the first net taken away, the flag of the runtime still holds."""
    monkeypatch.setattr("holon_rust_tools.validation.source_findings", lambda files: [])
    main = "#![allow(unsafe_code)]\nfn main() { unsafe { } }\n"
    record_id = create(runtime, session, proposal(main), "allowed")

    answer = ask(runtime, session, "build", one(record_id))

    assert answer["status"] == "failed"
    assert answer["failure"]["details"]["stage"] == "check"
    assert "unsafe_code" in str(answer["failure"]) or "E0453" in str(answer["failure"])
    assert answer["artifact"]["build_status"] == "failed"


def test_what_the_compiler_read_of_the_host_is_noticed(
    runtime: Runtime, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AB-RUST-010: with the first net taken away, the compiler's own notes are held against it."""
    monkeypatch.setattr("holon_rust_tools.validation.source_findings", lambda files: [])
    main = 'const H: &str = include_str!("/etc/passwd");\nfn main() { println!("{}", H.len()); }\n'
    record_id = create(runtime, session, proposal(main), "reads")

    answer = ask(runtime, session, "build", one(record_id))

    assert answer["failure"]["details"]["rule"] == "rust_external_input"
    assert answer["artifact"]["build_status"] == "failed"


def test_configuration_above_the_sources_has_no_effect(
    tmp_path: Path, opened: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AB-RUST-008: neither above the storage root, nor in the home folder, nor in variables."""
    witness = tmp_path / "ran"
    wrapper = tmp_path / "wrap.sh"
    wrapper.write_text(f'#!/bin/sh\necho ran >> {witness}\nexec "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    home = tmp_path / "home"
    for folder in (tmp_path / ".cargo", home / ".cargo"):
        folder.mkdir(parents=True)
        text = f'[build]\nrustc-wrapper = "{wrapper}"\n'
        (folder / "config.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RUSTC_WRAPPER", str(wrapper))
    monkeypatch.setenv("CARGO_BUILD_RUSTC_WRAPPER", str(wrapper))
    monkeypatch.setenv("RUSTFLAGS", "--cfg evil")

    runtime, session = opened()
    built(runtime, session, proposal())

    assert not witness.exists()


def test_a_manifest_above_the_sources_stops_the_build(
    tmp_path: Path, opened: Callable[..., Opened]
) -> None:
    """Cargo would take it for the workspace of the tool."""
    (tmp_path / "Cargo.toml").write_text("[workspace]\n", encoding="utf-8")
    runtime, session = opened()

    answer = ask(runtime, session, "build", one(create(runtime, session, proposal())))

    assert (answer["status"], answer["failure"]["code"]) == ("blocked", "artifact_not_ready")
    assert str(tmp_path / "Cargo.toml") in answer["failure"]["message"]


def test_a_planted_link_stops_build_and_call(opened: Callable[..., Opened], tmp_path: Path) -> None:
    """AB-RUST-016: sources and binary are looked at by digest, and not through links."""
    runtime, session = opened()
    record_id = built(runtime, session, proposal())
    runtime.tools.frozen.validate(record_id, caller=session.caller)
    record = status(runtime, session, record_id)
    main = Path(record["source_root"]) / "src" / "main.rs"
    outside = tmp_path / "outside.rs"
    outside.write_text(MAIN, encoding="utf-8")
    main.unlink()
    main.symlink_to(outside)

    answer = ask(runtime, session, "build", one(record_id))
    call = session.call(record_id, {"text": "a"})

    assert (answer["status"], answer["failure"]["code"]) == ("blocked", "artifact_changed")
    assert call.failure is not None
    assert call.failure.code == "artifact_changed"
    assert not status(runtime, session, record_id)["ready"]

    main.unlink()
    shutil.copyfile(outside, main)
    assert status(runtime, session, record_id)["ready"]

    binary = Path(record["binary_path"])
    binary.unlink()
    shutil.copyfile("/bin/true", binary)
    binary.chmod(0o700)
    call = session.call(record_id, {"text": "a"})
    assert call.failure is not None
    assert call.failure.code == "artifact_changed"


def test_a_file_laid_beside_the_sources_stops_the_build(
    opened: Callable[..., Opened],
) -> None:
    """A build.rs, or a configuration, that nobody proposed."""
    runtime, session = opened()
    record_id = create(runtime, session, proposal())
    folder = Path(status(runtime, session, record_id)["source_root"])
    (folder / "build.rs").write_text("fn main() {}\n", encoding="utf-8")

    answer = ask(runtime, session, "build", one(record_id))

    assert (answer["status"], answer["failure"]["code"]) == ("blocked", "artifact_changed")
    assert "build.rs" in answer["failure"]["message"]


def test_nothing_is_rebuilt_where_only_fixtures_changed(
    words: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """Same sources, same target: every crate is fresh."""
    fixtures = [{"name": "other", "input": {"text": "x"}, "expect": {"output": {"count": 1}}}]

    record_id = create(runtime, session, proposal(fixtures=fixtures), "refixed")
    answer = ask(runtime, session, "build", one(record_id))

    assert answer["artifact"]["last_build_evidence"]["crates"] == {"compiled": 0, "fresh": 2}
    assert words.artifact is not None
    assert answer["artifact"]["binary_sha256"] == words.artifact.sha256


def test_one_build_of_a_tool_at_a_time(
    runtime: Runtime, session: Session, shared_runtime: Runtime
) -> None:
    """The second is told, at once, that the first is under way."""
    record_id = create(runtime, session, proposal(MAIN + "// held\n"), "held")
    folder = Path(status(runtime, session, record_id)["source_root"])
    root = folder.parent.parent.parent / "plugins" / "holon-rust-tools"
    [tools_root] = [path for path in (root.parent).iterdir() if (path / "t").is_dir()]

    with building(tools_root, folder.parent.name[:16], "c-other"):
        answer = ask(runtime, session, "build", one(record_id))

    assert (answer["status"], answer["failure"]["code"]) == ("blocked", "conflict")
    assert ask(runtime, session, "build", one(record_id))["status"] == "completed"


def test_an_error_of_the_compiler_is_told_with_its_place(
    runtime: Runtime, session: Session
) -> None:
    """A typed failure, and the tool is not ready."""
    record_id = create(runtime, session, proposal('fn main() { let a: u8 = "x"; }\n'), "broken")

    answer = ask(runtime, session, "build", one(record_id))

    assert answer["status"] == "failed"
    assert "E0308" in answer["failure"]["message"]
    assert "main.rs:1" in answer["failure"]["message"]
    assert answer["artifact"]["build_status"] == "failed"
    assert answer["artifact"]["binary_path"] is None


def test_failing_tests_and_fixtures_keep_a_tool_from_being_ready(
    runtime: Runtime, session: Session
) -> None:
    """Each has its own status."""
    fails = proposal(MAIN.replace('count("a b"), 2', 'count("a b"), 3'))
    wrong = [{"name": "bad", "input": {"text": "a"}, "expect": {"output": {"count": 9}}}]
    for name, given, statuses in (
        ("untested", fails, ("ready", "failed", "pending")),
        ("misfixed", proposal(fixtures=wrong), ("ready", "ready", "failed")),
    ):
        record_id = create(runtime, session, given, name)
        ask(runtime, session, "build", one(record_id))

        answer = ask(runtime, session, "test", one(record_id))

        record = answer["artifact"]
        names = ("build_status", "test_status", "fixture_status")
        assert answer["status"] == "failed"
        assert tuple(record[each] for each in names) == statuses
        assert not record["ready"]


def test_time_is_bounded(opened: Callable[..., Opened]) -> None:
    """A test that never ends is ended, with everything it started."""
    sleeps = MAIN.replace("fn counts() {", "fn counts() { loop { std::thread::park(); }")
    runtime, session = opened(build_timeout_s=6)
    record_id = create(runtime, session, proposal(sleeps))
    assert ask(runtime, session, "build", one(record_id))["status"] == "completed"

    answer = ask(runtime, session, "test", one(record_id))

    assert answer["failure"]["code"] == "timeout"
    assert answer["artifact"]["test_status"] == "failed"


def test_the_disk_is_bounded(opened: Callable[..., Opened]) -> None:
    """A build that holds more than its share is no build."""
    runtime, session = opened(max_disk_mb=1)

    answer = ask(runtime, session, "build", one(create(runtime, session, proposal())))

    assert answer["failure"]["code"] == "output_too_large"
    assert answer["artifact"]["build_status"] == "failed"


@pytest.mark.parametrize(
    ("script", "said"),
    [(None, "no cargo is on this machine"), ("echo cargo 1.60.0", "is too old")],
    ids=["none", "old"],
)
def test_without_a_usable_cargo_readiness_fails_closed(
    opened: Callable[..., Opened],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
    said: str,
) -> None:
    """It says what to install."""
    folder = tmp_path / "bin"
    folder.mkdir()
    if script is not None:
        for name in ("cargo", "rustc"):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}")
    runtime, session = opened()
    record_id = create(runtime, session, proposal())

    answer = ask(runtime, session, "build", one(record_id))

    assert (answer["status"], answer["failure"]["code"]) == ("blocked", "dependency_missing")
    assert said in answer["failure"]["message"]
    assert "install cargo" in answer["failure"]["message"]
    assert answer["artifact"]["build_status"] == "pending"


def test_an_offline_lane_asks_no_registry(opened: Callable[..., Opened]) -> None:
    """What is not fetched yet is named, and nothing is started for it."""
    manifest = MANIFEST + '[dependencies]\nserde_json = "=1.0.140"\n'
    given = proposal(
        files=[
            {"path": "Cargo.toml", "content": manifest},
            {"path": "src/main.rs", "content": MAIN},
        ],
        dependencies=[{"name": "serde_json", "version": "1.0.140", "features": []}],
    )
    runtime, session = opened(offline=True)

    answer = ask(runtime, session, "build", one(create(runtime, session, given)))

    assert answer["failure"]["code"] == "dependency_missing"
    assert "serde_json 1.0.140" in answer["failure"]["message"]
    assert "not fetched yet" in answer["failure"]["message"]
    assert answer["artifact"]["last_build_evidence"]["stages"] == []


DYING = """
import sys
from pathlib import Path
sys.path.insert(0, {support!r})
from rust_tools import *
runtime = open_rust(Path({root!r}))
session = runtime.session(principal="ann", workspace={place!r})
record_id = create(runtime, session, proposal())
print(record_id, flush=True)
ask(runtime, session, "build", one(record_id))
"""


def test_a_build_that_was_killed_is_recovered(
    opened: Callable[..., Opened], tmp_path: Path, place: Path
) -> None:
    """SIGKILL while cargo runs: the lock is free, its processes end, its rests are cleared."""
    root = tmp_path / "root"
    support = str(Path(__file__).parents[1] / "support")
    code = DYING.format(support=support, root=str(root), place=str(place))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        record_id = child.stdout.readline().decode().strip()
        until = time.monotonic() + 60
        while not list(root.glob("plugins/*/t/*/d/debug")) and time.monotonic() < until:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)

    assert list(root.glob("plugins/*/t/*/under-way"))
    runtime, session = opened(root)
    assert status(runtime, session, record_id)["build_status"] == "pending"

    answer = ask(runtime, session, "build", one(record_id))

    assert answer["status"] == "completed", answer["failure"]
    assert answer["artifact"]["last_build_evidence"]["recovered"]
    assert not list(root.glob("plugins/*/t/*/under-way"))
    rows = runtime.evidence.list(workspace=record_id.split("/")[0].removeprefix("frozen."))
    assert any(row.kind == "interrupted" for row in rows)


def test_a_pinned_tool_is_built_again_to_the_same_binary(
    opened: Callable[..., Opened],
) -> None:
    """What an active tool lost is restored; while it has everything there is nothing to build."""
    from rust_tools import activate

    runtime, session = opened()
    record = activate(runtime, session, proposal())
    with pytest.raises(Refused, match="ready"):
        ask(runtime, session, "build", one(record.id))
    Path(status(runtime, session, record.id)["binary_path"]).unlink()
    lost = session.call(record.id, {"text": "a b"})

    answer = ask(runtime, session, "build", one(record.id))
    again = session.call(record.id, {"text": "a b"})

    assert lost.failure is not None
    assert lost.failure.code == "artifact_not_ready"
    assert answer["status"] == "completed"
    assert again.output == {"count": 2}


def test_a_release_build_is_selectable(runtime: Runtime, session: Session) -> None:
    """Debug is the default; the profile is part of what is proven."""
    record_id = create(runtime, session, proposal(profile="release"), "released")

    answer = ask(runtime, session, "build", one(record_id))

    assert answer["status"] == "completed"
    assert answer["artifact"]["profile"] == "release"
    assert answer["artifact"]["last_build_evidence"]["profile"] == "release"


def test_progress_of_a_build_is_told(runtime: Runtime, session: Session) -> None:
    """Stage by stage, crate by crate."""
    seen: list[str] = []
    services = runtime._guard.services
    before, services.progress = services.progress, lambda report: seen.append(report.stage)
    try:
        record_id = create(runtime, session, proposal(MAIN + "// told\n"), "told")
        ask(runtime, session, "build", one(record_id))
    finally:
        services.progress = before

    assert {"check", "build"} <= set(seen)


def test_evidence_names_the_toolchain(
    words: FrozenToolRecord, runtime: Runtime, session: Session
) -> None:
    """By version and by absolute path, in the record and in the evidence of the very call."""
    build = status(runtime, session, words.id)["last_build_evidence"]

    text = str([row.body for row in runtime.evidence.read(build["call_id"])])

    assert build["toolchain"]["cargo_version"].startswith("cargo 1.")
    assert Path(build["toolchain"]["rustc"]).is_absolute()
    assert build["toolchain"]["rustc_version"] in text


def test_a_manifest_in_another_edition_builds(runtime: Runtime, session: Session) -> None:
    """What the list allows is taken by cargo."""
    manifest = MANIFEST.replace("2021", "2018") + '[[bin]]\nname = "tool"\npath = "src/main.rs"\n'
    given = proposal(
        files=[
            {"path": "Cargo.toml", "content": manifest},
            {"path": "src/main.rs", "content": MAIN},
        ]
    )

    record_id = create(runtime, session, given, "edition")

    assert ask(runtime, session, "build", one(record_id))["status"] == "completed"
