"""Bundles: exporting a chain, and verifying the file with and without Holon."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon
from chains import append, evidence_of, opened, write
from holon_core.errors import Refused
from holon_core.guard import bundle
from holon_core.guard.verify import verify_bundle
from holon_core.records.evidence import EvidenceHead
from holon_core.store.chains import genesis, link
from holon_core.store.sqlite import SqliteStore
from holon_core.wire.canonical import canonical
from support import ROOT

SCRIPT = ROOT / "docs" / "verify_bundle.py"
# One interpreter for many files: the script is run whole for each.
DRIVER = """
import contextlib, io, runpy, sys
for path in sys.argv[2:]:
    sys.argv[1:] = [path]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            runpy.run_path(SCRIPT)
            verdict = "good"
        except SystemExit as error:
            verdict = "refused" if str(error.code).startswith("refused: ") else "broken"
    print(verdict, file=sys.stderr)
"""

SAID = {"by": "bo", "reason": "asked for"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store with one short chain whose last record has no payload."""
    with opened(tmp_path_factory.mktemp("bundles") / "store.db") as store:
        write(store, "ws", 2)
        store.transact(
            lambda t: append(
                t,
                "ws",
                "hostile",
                note="\x7f\x85\u2028é\n",
                ratio=0.5,
                large=1e21,
                payload="\x7f\u2029",
            )
        )
        store.transact(lambda t: append(t, "ws", "bare"))
        yield store


@pytest.fixture
def exported(store: SqliteStore, tmp_path: Path) -> Path:
    """The whole chain as a bundle."""
    evidence_of(store).export(tmp_path / "bundle.jsonl", workspace="ws")
    return tmp_path / "bundle.jsonl"


def script(path: Path, *kept: object) -> subprocess.CompletedProcess[str]:
    """Run the offline verifier as anybody would, with nothing of Holon to import."""
    command = [sys.executable, "-I", str(SCRIPT), str(path), *map(str, kept)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)


def verdicts(folder: Path, contents: list[bytes]) -> list[tuple[str, bool]]:
    """Return what the script and the library say of each content."""
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"changed-{number}.jsonl")
        paths[-1].write_bytes(content)
    code = DRIVER.replace("SCRIPT", repr(str(SCRIPT)))
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, "-", *paths], capture_output=True, text=True, check=True
    )
    return list(zip(done.stderr.split(), (verify_bundle(p).consistent for p in paths), strict=True))


def test_a_bundle_verifies_in_the_library_and_with_the_script(store, exported):
    """Both read the same file and agree on its head."""
    head = evidence_of(store).head("ws")

    found = verify_bundle(exported, head=head)
    alone = script(exported, head.seq, head.hash)

    assert (found.consistent, found.matches_head, found.records) == (True, True, 4)
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == f"consistent: 'ws' up to 4, head {head.hash}\n"


def test_a_bundle_is_lines_of_printable_ascii_for_its_owner_alone(exported):
    """No record can look like two, and nothing steers a terminal."""
    lines = exported.read_bytes().split(b"\n")

    assert len(lines) == 7
    assert all(32 <= byte < 127 for line in lines for byte in line)
    assert exported.stat().st_mode & 0o777 == 0o600


def test_the_offline_verifier_is_short_and_needs_the_standard_library_alone():
    """It is meant to be read before it is trusted."""
    lines = SCRIPT.read_text().splitlines()
    imports = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}

    assert len(lines) <= 60
    assert imports <= set(sys.stdlib_module_names)


def test_each_flipped_byte_is_refused_by_both(tmp_path):
    """There is no byte in a bundle that does not matter."""
    with opened(tmp_path / "store.db") as store:
        write(store, "ws", 1)
        store.transact(lambda t: append(t, "ws", "hostile", note="\x7f\u2028é", ratio=0.5))
        evidence_of(store).export(tmp_path / "bundle.jsonl", workspace="ws")
    good = (tmp_path / "bundle.jsonl").read_bytes()
    contents = []
    for place in range(len(good)):
        changed = bytearray(good)
        changed[place] ^= (1, 0x20, 0x80)[place % 3]
        contents.append(bytes(changed))

    assert set(verdicts(tmp_path, contents)) == {("refused", False)}


def test_each_line_dropped_doubled_or_exchanged_is_refused_by_both(exported, tmp_path):
    """The lines are in one order and each is there once."""
    lines = exported.read_bytes().splitlines(keepends=True)
    contents = [exported.read_bytes()[:-1], exported.read_bytes() + b"\n", b"", b"\n", b"[]\n"]
    for at in range(len(lines)):
        contents.append(b"".join(lines[:at] + lines[at + 1 :]))
        contents.append(b"".join(lines[: at + 1] + lines[at:]))
        contents.append(b"".join(lines[:at]))
        exchanged = lines[:at] + lines[at + 1 : at + 2] + [lines[at]] + lines[at + 2 :]
        if at + 1 < len(lines):
            contents.append(b"".join(exchanged))

    assert set(verdicts(tmp_path, contents)) == {("refused", False)}


@pytest.mark.parametrize(
    ("dropped", "bad"), [(1, 1), (2, 2), (4, 4), (5, 5)], ids=["first", "second", "last", "head"]
)
def test_the_first_bad_position_is_named(exported, dropped, bad):
    """A gap is named by the record that should be there."""
    lines = exported.read_bytes().splitlines(keepends=True)
    exported.write_bytes(b"".join(lines[:dropped] + lines[dropped + 1 :]))

    found = verify_bundle(exported)

    assert (found.consistent, found.bad_seq, found.chain) == (False, bad, "ws")


def forged(body: bytes, /, **changes: Any) -> bytes:
    """Make a bundle of one record whose hashes fit, whatever it says."""
    chain = "ws"
    hashed = link(genesis(chain), 1, body)
    record = {"seq": 1, "body": body.decode(), "hash": hashed, **changes}
    lines: list[dict[str, Any]] = [
        bundle.header(chain, first=1, previous=genesis(chain)),
        {name: value for name, value in record.items() if value is not ...},
        bundle.tail(EvidenceHead(chain=chain, seq=1, hash=hashed)),
    ]
    return b"".join(map(bundle.line, lines))


SOUND = canonical({"v": 1, "kind": "k", "call": "c", "at": 1})
FORGERIES = {
    "not canonical": forged(b'{"v":1,"at":1,"call":"c","kind":"k"}'),
    "duplicate name": forged(b'{"at":1,"at":1,"call":"c","kind":"k","v":1}'),
    "no object": forged(b"[]"),
    "version 2": forged(b'{"at":1,"call":"c","kind":"k","v":2}'),
    "version true": forged(b'{"at":1,"call":"c","kind":"k","v":true}'),
    "time as text": forged(b'{"at":"1","call":"c","kind":"k","v":1}'),
    "kind missing": forged(b'{"at":1,"call":"c","v":1}'),
    "payload without digest": forged(SOUND, payload="{}"),
    "payload null": forged(SOUND, payload=None),
    "payload a number": forged(SOUND, payload=5),
    "seq as fraction": forged(SOUND, seq=1.0),
    "seq as truth": forged(SOUND, seq=True),
    "body missing": forged(SOUND, body=...),
    "body a number": forged(SOUND, body=1),
    "another field": forged(SOUND, more=1),
    "from as text": forged(SOUND).replace(b'"from":1', b'"from":"1"'),
    "from zero": forged(SOUND).replace(b'"from":1', b'"from":0'),
    "from true": forged(SOUND).replace(b'"from":1', b'"from":true'),
    "chain a number": forged(SOUND).replace(b'"chain":"ws","format"', b'"chain":5,"format"'),
    "hash in capitals": forged(SOUND).replace(
        genesis("ws").encode(), genesis("ws").upper().encode()
    ),
    "white space": forged(SOUND).replace(b'":1', b'": 1'),
    "line of an array": forged(SOUND).replace(b"\n", b"\n[]\n", 1),
}


@pytest.mark.parametrize("content", FORGERIES.values(), ids=FORGERIES)
def test_what_no_writer_makes_is_refused_by_both(content, tmp_path):
    """Hashes that fit are not enough: readers rely on the form."""
    assert verdicts(tmp_path, [forged(SOUND)]) == [("good", True)]
    assert verdicts(tmp_path, [content]) == [("refused", False)]


def test_an_erased_payload_leaves_a_bundle_that_verifies(tmp_path):
    """Its line has no payload; the digest in the body stays."""
    path = tmp_path / "bundle.jsonl"
    with opened(tmp_path / "store.db") as store:
        write(store, "ws", 2)
        evidence_of(store).erase("ws", **SAID, call_id="call-0")
        evidence_of(store).export(path, workspace="ws")

    assert "payload" not in json.loads(path.read_text().splitlines()[1])
    assert verdicts(tmp_path, [path.read_bytes()]) == [("good", True)]


def test_a_bundle_can_go_on_where_an_earlier_one_ended(store, tmp_path):
    """It begins with the hash that the earlier one ended with."""
    path = tmp_path / "rest.jsonl"
    whole = evidence_of(store).head("ws")

    head = evidence_of(store).export(path, workspace="ws", after=2)

    first = json.loads(path.read_text().splitlines()[0])
    found = verify_bundle(path, head=whole)
    assert head == whole
    assert first["from"] == 3
    assert (found.consistent, found.matches_head, found.records) == (True, True, 2)
    start = EvidenceHead(chain="ws", seq=2, hash=first["previous"])
    assert verify_bundle(path, head=start).matches_head is True
    assert script(path, 2, first["previous"]).returncode == 0


def test_a_head_that_the_bundle_does_not_hold_is_not_met(store, tmp_path):
    """Before its beginning nothing can be told, so it is not confirmed either."""
    path = tmp_path / "rest.jsonl"
    head = evidence_of(store).export(path, workspace="ws", after=3)
    early = EvidenceHead(chain="ws", seq=1, hash=head.hash)
    late = EvidenceHead(chain="ws", seq=9, hash=head.hash)

    assert verify_bundle(path, head=early).matches_head is False
    assert "begins after" in verify_bundle(path, head=early).message
    assert verify_bundle(path, head=late).bad_seq == 5
    assert script(path, 9, head.hash).returncode == 1
    assert script(path, 4, genesis("ws")).returncode == 1


def test_a_chain_without_records_can_be_exported(store, tmp_path):
    """The file says so, and verifies."""
    path = tmp_path / "empty.jsonl"

    evidence_of(store).export(path, workspace=None)

    assert verdicts(tmp_path, [path.read_bytes()]) == [("good", True)]
    assert verify_bundle(path).records == 0


def test_a_file_that_is_there_is_kept_unless_asked(store, tmp_path):
    """An export never costs another file by mistake."""
    path = tmp_path / "bundle.jsonl"
    evidence_of(store).export(path, workspace=None)
    before = path.read_bytes()

    with pytest.raises(Refused) as caught:
        evidence_of(store).export(path, workspace="ws")
    assert caught.value.failure.code == "file_exists"
    assert path.read_bytes() == before

    evidence_of(store).export(path, workspace="ws", replace=True)
    assert verify_bundle(path).records == 4


@pytest.mark.parametrize(
    "content",
    [b"", b"mine\n", b'[storage]\nroot = "x"\n', b"SQLite format 3\0" * 99, b'{"format":"x"}\n'],
    ids=["empty", "text", "settings", "store", "other lines"],
)
def test_a_file_that_is_no_bundle_is_kept_even_if_asked(store, tmp_path, content):
    """A word in the wrong place must not cost a file that an export can't have written."""
    path = tmp_path / "bundle.jsonl"
    path.write_bytes(content)

    with pytest.raises(Refused, match="holds no bundle"):
        evidence_of(store).export(path, workspace="ws", replace=True)

    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["bundle.jsonl"]


def test_what_is_no_regular_file_is_kept_even_if_asked(store, tmp_path):
    """A device, a pipe, a folder, a link: each would be gone afterwards."""
    (tmp_path / "folder").mkdir()
    evidence_of(store).export(tmp_path / "whole.jsonl", workspace="ws")
    (tmp_path / "link").symlink_to(tmp_path / "whole.jsonl")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")

    for name in ("folder", "link", "dangling", "pipe"):
        with pytest.raises(Refused, match="no regular file"):
            evidence_of(store).export(tmp_path / name, workspace="ws", replace=True)
    with pytest.raises(Refused, match="no regular file"):
        evidence_of(store).export("/dev/null", workspace="ws", replace=True)

    names = ["dangling", "folder", "link", "pipe", "whole.jsonl"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_no_path_leads_an_export_into_the_storage_root(tmp_path):
    """Not the store, not the settings, no new file; neither straight nor by a link."""
    root = tmp_path / "root"
    with holon.Runtime.open(root, discover=False) as rt:
        (root / "holon.toml").write_text("")
        (root / "old.jsonl").touch()
        (tmp_path / "way").symlink_to(root)
        (tmp_path / "link.jsonl").symlink_to(root / "old.jsonl")
        rt.evidence.export(tmp_path / "good.jsonl", workspace=None)
        (root / "copy.jsonl").write_bytes((tmp_path / "good.jsonl").read_bytes())
        before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and p.suffix == ".toml"}
        names = sorted(root.rglob("*"))
        for path in (
            *(root / name for name in ("holon.db", "holon.toml", "new.jsonl", "copy.jsonl")),
            root / "live" / "new.jsonl",
            root / "live" / ".." / "new.jsonl",
            tmp_path / "way" / "new.jsonl",
            tmp_path / "link.jsonl",
        ):
            with pytest.raises(Refused, match="lies in the storage root") as caught:
                rt.evidence.export(path, workspace=None, replace=True)
            assert caught.value.failure.code == "arguments_invalid"
        with pytest.raises(Refused):
            rt.evidence.export(root, workspace=None, replace=True)

        assert sorted(root.rglob("*")) == names
        assert {p: p.read_bytes() for p in before} == before
        assert rt.evidence.verify(None).consistent


def test_a_place_that_cannot_be_written_is_refused(store, tmp_path):
    """Nothing is left behind."""
    with pytest.raises(Refused) as caught:
        evidence_of(store).export(tmp_path / "missing" / "bundle.jsonl", workspace="ws")

    assert caught.value.failure.code == "arguments_invalid"
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_halfway_leaves_no_file(tmp_path):
    """Neither the reserved name nor the unfinished file stays."""
    path = tmp_path / "bundle.jsonl"

    def lines() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        raise OSError(28, "No space left on device")

    with pytest.raises(Refused, match="No space left"):
        bundle.write(path, lines())
    assert list(tmp_path.iterdir()) == []


def test_a_position_that_the_chain_does_not_have_is_refused(store, tmp_path):
    """There is no hash to begin with."""
    with pytest.raises(Refused, match="no record 99"):
        evidence_of(store).export(tmp_path / "bundle.jsonl", workspace="ws", after=99)


def test_a_bundle_that_is_not_there_is_refused(tmp_path):
    """A missing file is not a tampered one."""
    with pytest.raises(Refused) as caught:
        verify_bundle(tmp_path / "missing.jsonl")

    assert caught.value.failure.code == "path_not_found"


@pytest.mark.parametrize("value", [b"\xff\xfe", "text", 5], ids=["bytes", "text", "number"])
def test_a_tampered_chain_can_be_exported_and_does_not_verify(tmp_path, value):
    """Whoever investigates needs the file as it is."""
    path = tmp_path / "bundle.jsonl"
    with opened(tmp_path / "store.db") as store:
        write(store, "ws", 3)
        store.transact(lambda t: t._sql("update evidence set body=? where seq=2", (value,)))
        evidence_of(store).export(path, workspace="ws")

    assert verify_bundle(path).bad_seq == 2
    assert verdicts(tmp_path, [path.read_bytes()]) == [("refused", False)]
