"""The published vectors and the page that explains them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from hashlib import sha256

import pytest

from holon_core.guard.verify import verify_bundle
from holon_core.store.chains import genesis, link
from holon_core.wire.canonical import canonical
from support import ROOT

VECTORS = ROOT / "docs" / "evidence-vectors"
PAGE = ROOT / "docs" / "evidence.md"
SCRIPT = ROOT / "docs" / "verify_bundle.py"
BAD = {
    "bad-changed-field": 2,
    "bad-changed-payload": 1,
    "bad-dropped-record": 2,
    "bad-exchanged-records": 1,
    "bad-cut-tail": 3,
}


def script_refuses(name: str) -> bool:
    """Run the offline verifier on one vector."""
    command = [sys.executable, "-I", str(SCRIPT), str(VECTORS / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode == 1 and done.stderr.startswith("refused: ")


def test_the_hashes_are_computed_as_published():
    """Whoever writes a verifier of their own can compare each step."""
    vectors = json.loads((VECTORS / "hashes.json").read_text())
    previous = genesis(vectors["chain"])
    assert previous == vectors["genesis"]
    for record in vectors["records"]:
        body = record["body"].encode()
        assert link(previous, record["seq"], body) == record["hash"]
        assert canonical(json.loads(body)) == body
        if record["payload"] is not None:
            payload = record["payload"].encode()
            said = json.loads(body)["payload"]
            assert said == {"bytes": len(payload), "sha256": sha256(payload).hexdigest()}
        previous = record["hash"]


@pytest.mark.parametrize(("name", "records"), [("whole", 3), ("rest", 2), ("erased", 3)])
def test_good_bundles_are_consistent(name, records):
    """The library and the script agree."""
    found = verify_bundle(VECTORS / f"{name}.jsonl")

    assert (found.consistent, found.records) == (True, records)
    assert not script_refuses(f"{name}.jsonl")


@pytest.mark.parametrize(("name", "bad"), BAD.items(), ids=BAD)
def test_bad_bundles_are_refused_at_the_position_published(name, bad):
    """The library names it, the script refuses."""
    found = verify_bundle(VECTORS / f"{name}.jsonl")

    assert (found.consistent, found.bad_seq) == (False, bad)
    assert script_refuses(f"{name}.jsonl")
    assert f"| `{name}.jsonl` | record {bad} is bad" in PAGE.read_text()


def test_the_page_names_every_vector():
    """And no file that is not there."""
    named = set(re.findall(r"^\| `([a-z-]+\.jsonl?)` \|", PAGE.read_text(), re.MULTILINE))

    assert named == {path.name for path in VECTORS.iterdir()}


@pytest.mark.parametrize("number", [0, 1])
def test_the_pages_examples_run(number, tmp_path):
    """Each block by itself, in an empty folder."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    code = tmp_path / "example.py"
    code.write_text("import sys; sys.path[:0] = " + repr(sys.path) + "\n" + blocks[number])

    subprocess.run([sys.executable, code], cwd=tmp_path, check=True, timeout=60)
