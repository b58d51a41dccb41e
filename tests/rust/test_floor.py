"""The policy floor: what a proposal may not say, each refusal by its rule, file and line."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holon_core as holon
from holon_core import Refused, Rejected
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_rust_tools.catalogue import curated, extended, read_catalogue
from holon_rust_tools.findings import RULES
from holon_rust_tools.paths import MAX_FILE_BYTES, MAX_FILES, path_findings
from rust_tools import MAIN, MANIFEST, ask, create, one, proposal
from support import shared_folder, shared_json_lines

CASES = {
    case["id"]: case
    for case in shared_json_lines("abuse-cases/cases.jsonl")
    if case["area"] == "rust" and "input" in case
}
SERDE = 'serde = { version = "=1.0.219", features = ["derive"] }\n'
REQUEST = {"name": "serde", "version": "1.0.219", "features": ["derive"]}


def read_input(name: str) -> Any:
    """Read the input of an abuse case."""
    folder = shared_folder()
    assert folder is not None, "there are no cases without it"
    return json.loads((folder / "abuse-cases" / name).read_text(encoding="utf-8"))


def of_case(given: dict[str, Any]) -> dict[str, Any]:
    """Write the input of an abuse case as a proposal of this lane."""
    return {
        **given,
        "required_inputs": [
            {"name": name, "schema": {"type": "string"}} for name in given["required_inputs"]
        ],
        "side_effects": [given["side_effects"]],
        "fixtures": [
            {"name": f"f{number}", "input": each["input"], "expect": {"output": each["output"]}}
            for number, each in enumerate(given["fixtures"])
        ],
    }


def findings(runtime: Runtime, session: Session, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the lane finds wrong with a proposal."""
    found: list[dict[str, Any]] = ask(runtime, session, "validate", {"proposal": given})["findings"]
    return found


def rules(runtime: Runtime, session: Session, given: dict[str, Any]) -> set[str]:
    """Return the rules that a proposal breaks."""
    return {each["rule"] for each in findings(runtime, session, given)}


def with_files(**more: str) -> dict[str, Any]:
    """Return the good proposal with further files, by paths."""
    base = proposal()
    extra = [{"path": path, "content": text} for path, text in more.items()]
    return {**base, "files": [*base["files"], *extra]}


def with_manifest(more: str, **changed: Any) -> dict[str, Any]:
    """Return the good proposal with more in its manifest."""
    files = [
        {"path": "Cargo.toml", "content": MANIFEST + more},
        {"path": "src/main.rs", "content": MAIN},
    ]
    return proposal(files=files, **changed)


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_abuse_cases_of_the_area_rust(runtime: Runtime, session: Session, case_id: str) -> None:
    """AB-RUST-001 to -007, -009 to -015: refused by the rule that the case names, or let be."""
    case = CASES[case_id]
    given = of_case(read_input(case["input"]))

    found = rules(runtime, session, given)

    if case["expect"]["status"] == "completed":
        assert not found
        return
    assert case["expect"]["error"] in found
    with pytest.raises(Rejected):
        create(runtime, session, given, case_id.lower())


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("fn main() { unsafe {} }", "rust_unsafe"),
        ("unsafe fn f() {} fn main() {}", "rust_unsafe"),
        ("struct A; unsafe impl Send for A {} fn main() {}", "rust_unsafe"),
        ("macro_rules! m { () => { unsafe {} } } fn main() {}", "rust_unsafe"),
        ("#[unsafe(no_mangle)] pub fn f() {} fn main() {}", "rust_unsafe"),
        ("#[no_mangle] pub fn f() {} fn main() {}", "rust_unsafe"),
        ('#[cfg_attr(all(), export_name = "x")] pub fn f() {} fn main() {}', "rust_unsafe"),
        ('#[link(name = "c")] extern "C" {} fn main() {}', "rust_unsafe"),
        ('#[link_section = ".init"] static A: u8 = 1; fn main() {}', "rust_unsafe"),
        (
            "macro_rules! m { ($m:meta) => { #[$m] pub fn f() {} } } m!(no_mangle); fn main() {}",
            "rust_unsafe",
        ),
        (
            "macro_rules! m{($($m:tt)*)=>{#[cfg_attr(all(),$($m)*)]fn f(){}}} m!(link_section);",
            "rust_unsafe",
        ),
        (
            'macro_rules! m { ($p:ident) => { #[$p = "x"] pub fn f() {} } } m!(r#export_name);',
            "rust_unsafe",
        ),
        ("extern { fn f(); } fn main() {}", "rust_unsafe"),
        ('macro_rules! m { () => { extern "C" { fn f(); } } } fn main() {}', "rust_unsafe"),
        ('core::arch::global_asm!("nop"); fn main() {}', "rust_unsafe"),
        ("use std::arch::asm as a; fn main() {}", "rust_unsafe"),
        ("#![allow(unsafe_code)] fn main() {}", "rust_unsafe"),
        ("#[proc_macro] pub fn f() {} fn main() {}", "rust_build_script"),
        ('fn main() { include_str!("/etc/passwd"); }', "rust_external_input"),
        ('fn main() { include_str !  ("../../x"); }', "rust_external_input"),
        ('fn main() { r#include_str!("/etc/passwd"); }', "rust_external_input"),
        ('fn main() { std::include_bytes!["/etc/passwd"]; }', "rust_external_input"),
        ('fn main() { include!(concat!("a", "b")); }', "rust_external_input"),
        ('fn main() { include!(env!("OUT_DIR")); }', "rust_external_input"),
        ("use std::include_str as read; fn main() {}", "rust_external_input"),
        ("use std::{include as read}; fn main() {}", "rust_external_input"),
        ('#![doc = include_str!("/etc/passwd")] fn main() {}', "rust_external_input"),
        ('fn main() { println!("{}", include_str!("/etc/passwd")); }', "rust_external_input"),
        ('macro_rules! m { ($i:ident) => { $i!("/x") } } fn main() {}', "rust_external_input"),
        (
            "macro_rules! m { ($a:ident) => {} } fn main() { m!(include); }",
            "rust_external_input",
        ),
        (
            "macro_rules! m { ($a:ident $b:tt) => { $a $b } } fn main() { m!(env; x); }",
            "rust_external_input",
        ),
        (
            "fn main() { dbg!({ macro_rules! q { ($($p:tt)*) => {} } q!(std::include) }); }",
            "rust_external_input",
        ),
        ('fn main() { env!("HOME"); }', "rust_external_input"),
        ('fn main() { option_env!(concat!("A")); }', "rust_external_input"),
        ('use std::env as e; fn main() { e!("HOME"); }', "rust_external_input"),
        ('#[path = "/abs.rs"] mod x; fn main() {}', "rust_external_input"),
        ('#[cfg_attr(all(), path = "../../x.rs")] mod x; fn main() {}', "rust_external_input"),
        ('#[path = concat!("a")] mod x; fn main() {}', "rust_external_input"),
        ("mod missing; fn main() {}", "rust_external_input"),
        ("macro_rules! m { ($n:ident) => { mod $n; } } fn main() {}", "rust_external_input"),
        ("fn main() { let = ; }", "rust_syntax"),
        ("fn main() {} // \u202e", "rust_source_text"),
    ],
)
def test_what_code_may_not_say(runtime: Runtime, session: Session, source: str, rule: str) -> None:
    """Unsafe, foreign, running while built, or reading what is no file of the proposal."""
    found = findings(runtime, session, proposal(source + "\n"))

    assert rule in {each["rule"] for each in found}
    where = next(each for each in found if each["rule"] == rule)
    assert (where["file"], where["line"]) == ("src/main.rs", 1)


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ('build = "src/main.rs"\n', "rust_build_script"),
        ('links = "z"\n', "rust_build_script"),
        ('workspace = ".."\n', "rust_dependency_denied"),
        ("autobins = false\n", "rust_manifest"),
        ("[workspace]\n", "rust_dependency_denied"),
        ('[patch.crates-io]\nserde = { path = "x" }\n', "rust_dependency_denied"),
        ('[replace]\n"serde:1.0.0" = { path = "x" }\n', "rust_dependency_denied"),
        ('[build-dependencies]\nserde = "1.0.219"\n', "rust_dependency_denied"),
        ('[features]\ndefault = ["x"]\n', "rust_dependency_denied"),
        ("[lib]\nproc-macro = true\n", "rust_build_script"),
        ('[lib]\ncrate-type = ["proc-macro"]\n', "rust_build_script"),
        ('[lib]\npath = "../x.rs"\n', "rust_external_input"),
        ('[[bin]]\nname = "b"\npath = "/x.rs"\n', "rust_external_input"),
        ('[lints.rust]\nunsafe_code = "allow"\n', "rust_unsafe"),
        ("[profile.dev]\nopt-level = 3\n", "rust_manifest"),
        ('[dependencies]\nrand = "0.8.5"\n', "rust_dependency_denied"),
        ('[dependencies]\nserde = "1"\n', "rust_dependency_denied"),
        ('[dependencies]\nserde = "1.0.219"\n', "rust_dependency_denied"),
        ('[dependencies]\nitoa = "1.0.15"\n', "rust_dependency_denied"),
        (
            '[dependencies]\nserde = { version = "1.0.219", features = ["derive", "rc"] }\n',
            "rust_dependency_denied",
        ),
        (
            '[dependencies]\nserde_json = { version = "1.0.140", default-features = false }\n',
            "rust_dependency_denied",
        ),
        ('[dependencies]\nserde = { git = "https://x.invalid/s" }\n', "rust_dependency_denied"),
        ('[dependencies]\nserde = { path = "../serde" }\n', "rust_dependency_denied"),
        ('[dependencies]\nserde = { registry = "x", version = "1" }\n', "rust_dependency_denied"),
        (
            '[dependencies]\nserde_json = { package = "evil", version = "1" }\n',
            "rust_dependency_denied",
        ),
        (
            "[target.'cfg(unix)'.dependencies]\nserde = \"1.0.219\"\n",
            "rust_dependency_denied",
        ),
        ('[dev-dependencies]\nserde = { path = "../s" }\n', "rust_dependency_denied"),
        ("[package\n", "rust_manifest"),
    ],
)
def test_what_a_manifest_may_not_say(
    runtime: Runtime, session: Session, more: str, rule: str
) -> None:
    """Malformed TOML, build scripts, patches, workspaces, and crates beside the catalogue."""
    assert rule in rules(runtime, session, with_manifest(more))


def test_dependencies_in_every_table_are_named_with_their_table(
    runtime: Runtime, session: Session
) -> None:
    """AB-RUST-013: looking only at [dependencies] is the bug."""
    text = (
        "[target.'cfg(unix)'.dependencies]\none = { git = 'https://x.invalid' }\n"
        "[dev-dependencies]\ntwo = { path = '../two' }\n[build-dependencies]\nthree = '1'\n"
        "[patch.crates-io]\nfour = { path = '../f' }\n[replace]\n'five:1.0.0' = { path = '../s' }\n"
        "[workspace.dependencies]\nsix = '1'\n"
    )

    said = " ".join(each["message"] for each in findings(runtime, session, with_manifest(text)))

    for table in ("target.cfg(unix).dependencies", "dev-dependencies", "build-dependencies"):
        assert f"[{table}]" in said
    for table in ("patch.crates-io", "replace", "workspace.dependencies"):
        assert f"[{table}]" in said


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/x.rs", "rust_source_path"),
        ("C:/x.rs", "rust_source_path"),
        ("../x.rs", "rust_source_path"),
        ("src/../x.rs", "rust_source_path"),
        ("src\\x.rs", "rust_source_path"),
        ("src/./x.rs", "rust_source_path"),
        ("src//x.rs", "rust_source_path"),
        ("src/x.rs/", "rust_source_path"),
        ("SRC/main.rs", "rust_source_path"),
        ("CON.rs", "rust_source_path"),
        ("src/a\0.rs", "rust_source_path"),
        ("src/e\u0301.rs", "rust_source_path"),
        ("src", "rust_source_path"),
        ("build.rs", "rust_build_script"),
        ("Build.rs", "rust_build_script"),
        (".cargo/config.toml", "rust_config_file"),
        (".cargo/config", "rust_config_file"),
        ("src/.Cargo/config", "rust_config_file"),
        ("rust-toolchain", "rust_config_file"),
        ("rust-toolchain.toml", "rust_config_file"),
        ("clippy.toml", "rust_config_file"),
        ("sub/Cargo.toml", "rust_manifest"),
    ],
)
def test_what_a_path_may_not_be(runtime: Runtime, session: Session, path: str, rule: str) -> None:
    """Rooted, leading outside, the same file twice, a device, or what configures a build."""
    assert rule in rules(runtime, session, with_files(**{path: "// nothing\n"}))


def test_two_forms_of_one_name_are_duplicates(runtime: Runtime, session: Session) -> None:
    """By upper and lower case, and by Unicode form."""
    given = with_files(**{"src/\u00e9.rs": "// a\n", "src/e\u0301.rs": "// b\n"})
    again = {**proposal(), "files": [*proposal()["files"], proposal()["files"][1]]}

    for each in (given, again):
        said = [finding["message"] for finding in findings(runtime, session, each)]
        assert any("one file where names are folded" in text for text in said)


@pytest.mark.parametrize("text", ["", " \n\t"], ids=["empty", "blank"])
def test_empty_contents_are_refused(runtime: Runtime, session: Session, text: str) -> None:
    """A file says something, or is left out."""
    assert "rust_source_path" in rules(runtime, session, with_files(**{"src/a.rs": text}))


def test_sizes_are_bounded() -> None:
    """Of a file, of all together, and how many there are."""
    large = [("src/a.rs", "a" * (MAX_FILE_BYTES + 1))]
    total = [(f"src/f{number}.rs", "a" * MAX_FILE_BYTES) for number in range(5)]
    many = [(f"src/f{number}.rs", "// a") for number in range(MAX_FILES + 1)]

    for files in (large, total, many):
        assert {each.rule for each in path_findings(files)} == {"rust_size"}


def test_text_that_utf8_cannot_hold_is_refused() -> None:
    """A lone surrogate is no character."""
    [found] = path_findings([("src/a.rs", "// \ud800")])

    assert found.rule == "rust_source_text"


@pytest.mark.parametrize("name", ["purpose", "crate_name", "binary_name"])
def test_what_is_empty_is_named(runtime: Runtime, session: Session, name: str) -> None:
    """An empty purpose, crate name or binary name."""
    found = findings(runtime, session, proposal(**{name: " "}))

    assert f"/{name}" in {each["path"] for each in found if each["rule"] == "rust_proposal"}


def test_missing_files_manifest_and_fixtures_are_refused(
    runtime: Runtime, session: Session
) -> None:
    """All of it at once."""
    nothing = proposal(files=[], fixtures=[])
    bare = proposal(files=[{"path": "src/main.rs", "content": MAIN}])

    assert {"rust_proposal", "rust_manifest", "rust_fixture"} <= rules(runtime, session, nothing)
    assert "rust_manifest" in rules(runtime, session, bare)


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"required_inputs": [{"name": "text"}]}, "/required_inputs"),
        ({"expected_output_schema": None}, "/expected_output_schema"),
        ({"validation_command": ""}, "/validation_command"),
        ({"side_effects": []}, "/side_effects"),
    ],
    ids=["input-schema", "output-schema", "validation-command", "side-effects"],
)
def test_what_a_promotion_needs_may_wait_but_not_be_missing_then(
    runtime: Runtime, session: Session, changed: dict[str, Any], path: str
) -> None:
    """The proposal is stored; it is neither built nor promoted."""
    given = {**proposal(), **changed}
    given = {name: value for name, value in given.items() if value is not None}

    answer = ask(runtime, session, "validate", {"proposal": given})
    record_id = create(runtime, session, given, f"lacks{path.replace('/', '-').replace('_', '-')}")

    assert (answer["usable"], answer["promotable"]) == (True, False)
    assert [each["path"] for each in answer["findings"]] == [path]
    with pytest.raises(Rejected) as refused:
        runtime.tools.frozen.promote(record_id, session=session)
    assert {each.code for each in refused.value.findings} == {"rust_promotion"}
    with pytest.raises(Rejected):
        ask(runtime, session, "build", one(record_id))


def test_dependency_requests_match_catalogue_and_manifest(
    runtime: Runtime, session: Session
) -> None:
    """Asked for and not there, there and not asked for, or another version: refused."""
    manifest = "[dependencies]\n" + SERDE
    for given in (
        proposal(dependencies=[REQUEST]),
        with_manifest(manifest),
        with_manifest(manifest, dependencies=[{**REQUEST, "version": "1.0.218"}]),
        with_manifest(manifest, dependencies=[{**REQUEST, "features": []}]),
        with_manifest(manifest, dependencies=[REQUEST, REQUEST]),
    ):
        assert rules(runtime, session, given) == {"rust_dependency_denied"}
    assert not rules(runtime, session, with_manifest(manifest, dependencies=[REQUEST]))


@pytest.mark.parametrize(
    "change",
    [
        ('version = "1.0.219"', 'version = "1.0.220"'),
        ("5f0e2c6ed6606019b4e29e69dbaba95b11854410e5347d525002456dbbb786b6", "0" * 64),
        ("registry+https://github.com/rust-lang/crates" + ".io-index", "git+https://x.invalid/s"),
        ('"serde_derive",', '"serde_derive",\n "evil",'),
        ('version = "0.1.0"', 'version = "0.2.0"'),
        ("version = 3\n", "version = 3\n[metadata]\nx = 1\n"),
        ("[[package]]", "[package"),
    ],
    ids=["version", "checksum", "source", "edge", "own-version", "table", "toml"],
)
def test_a_lock_file_that_drifts_is_refused(
    runtime: Runtime, session: Session, change: tuple[str, str]
) -> None:
    """AB-RUST-017: it is held against manifest and catalogue, and never rewritten."""
    from holon_rust_tools.lockfile import made_lock

    sound = made_lock(curated(), name="tool", version="0.1.0", depends=("serde",))
    manifest = with_manifest("[dependencies]\n" + SERDE, dependencies=[REQUEST])

    def with_lock(text: str) -> dict[str, Any]:
        files = [*manifest["files"], {"path": "Cargo.lock", "content": text}]
        return {**manifest, "files": files}

    assert not rules(runtime, session, with_lock(sound))
    assert rules(runtime, session, with_lock(sound.replace(*change))) == {"rust_lock_drift"}


def test_a_lock_without_a_checksum_is_refused(runtime: Runtime, session: Session) -> None:
    """AB-RUST-017: what is not named by digest could be anything."""
    from holon_rust_tools.lockfile import made_lock

    sound = made_lock(curated(), name="tool", version="0.1.0", depends=("serde",))
    lines = [line for line in sound.splitlines() if not line.startswith("checksum")]
    manifest = with_manifest("[dependencies]\n" + SERDE, dependencies=[REQUEST])
    lock = {"path": "Cargo.lock", "content": "\n".join(lines)}

    given = {**manifest, "files": [*manifest["files"], lock]}

    assert rules(runtime, session, given) == {"rust_lock_drift"}


@pytest.mark.parametrize("name", ["path", "LD_PRELOAD", "RUSTFLAGS", "CARGO_HOME", "HOLON_X"])
def test_a_secret_is_no_variable_that_others_read(
    runtime: Runtime, session: Session, name: str
) -> None:
    """Loader, toolchain and Holon read variables of their own."""
    slot = {"name": name, "ref": "env:X"}

    assert rules(runtime, session, proposal(secret_refs=[slot])) == {"rust_proposal"}


def test_fixtures_fit_the_schemas(runtime: Runtime, session: Session) -> None:
    """Both sides of each, before anything runs."""
    bad = [{"name": "a", "input": {"text": 1}, "expect": {"output": {"count": "x"}}}]

    found = findings(runtime, session, proposal(fixtures=bad))

    paths = ["/fixtures/0/input", "/fixtures/0/expect/output"]
    assert [each["path"] for each in found] == paths


def test_all_findings_come_at_once(runtime: Runtime, session: Session) -> None:
    """A proposal that breaks five rules is told of five."""
    given = proposal('fn main() { unsafe { env!("HOME"); } }\n', purpose="", fixtures=[])
    files = [*given["files"], {"path": "build.rs", "content": "fn main() {}\n"}]

    found = rules(runtime, session, {**given, "files": files})

    assert found == {
        "rust_unsafe",
        "rust_external_input",
        "rust_proposal",
        "rust_fixture",
        "rust_build_script",
    }
    assert found <= set(RULES)


def test_an_unknown_member_is_refused(runtime: Runtime, session: Session) -> None:
    """A misspelt member is not silently dropped."""
    with pytest.raises(Rejected):
        ask(runtime, session, "validate", {"proposal": proposal(side_efects=["none"])})


@pytest.mark.parametrize(
    ("verb", "params"),
    [
        ("validate", {"proposal": proposal()}),
        (
            "create-frozen-tool-proposal",
            {"workspace_id": "w", "proposal": proposal(), "name": "a", "version": "1"},
        ),
        ("build", one("frozen.w/a~1")),
        ("test", one("frozen.w/a~1")),
        ("read", one("frozen.w/a~1")),
        ("list", {"workspace_id": "w"}),
        ("review", one("frozen.w/a~1")),
    ],
    ids=["validate", "create", "build", "test", "read", "list", "review"],
)
def test_a_runtime_in_memory_is_refused(verb: str, params: dict[str, Any]) -> None:
    """AB-RUST-018: each operation says that it needs a store on disk."""
    config = {"plugins": ["holon-rust-tools"]}
    with (
        holon.Runtime.in_memory(discover=True, config=config) as rt,
        pytest.raises(Refused) as refused,
    ):
        ask(rt, rt.session(principal="ann"), verb, params)

    assert refused.value.failure.code == "host_unsupported"
    assert "Runtime.open" in refused.value.failure.message


def test_a_host_extends_the_catalogue_and_changes_nothing_in_it(tmp_path: Any) -> None:
    """A file of the configuration adds crates; a curated one stays what it is."""
    more = tmp_path / "more.toml"
    crate = '[[crate]]\nname = "{}"\nversion = "1.0.0"\nchecksum = "{}"\nfeatures = []\n'
    more.write_text(crate.format("acme", "1" * 64), encoding="utf-8")

    assert extended(str(more))["acme"].version == "1.0.0"

    more.write_text(crate.format("serde", "1" * 64), encoding="utf-8")
    with pytest.raises(holon.Misuse, match="in the curated catalogue, as something else"):
        extended(str(more))
    with pytest.raises(holon.Misuse, match="depends on nowhere"):
        read_catalogue(crate.format("acme", "1" * 64) + 'depends = ["nowhere"]\n', "more")
