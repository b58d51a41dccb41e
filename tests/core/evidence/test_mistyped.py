"""Evidence asked of a workspace that there is not, a head that is none, a file that is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holon_core as holon


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime on a fresh root."""
    with holon.Runtime.open(tmp_path / "root", discover=False) as runtime:
        yield runtime


@pytest.mark.parametrize(
    "ask",
    [
        lambda evidence, folder: evidence.verify("w-typo"),
        lambda evidence, folder: evidence.list(workspace="w-typo"),
        lambda evidence, folder: evidence.head("w-typo"),
        lambda evidence, folder: evidence.records_with_state(workspace="w-typo"),
        lambda evidence, folder: evidence.export(folder / "out", workspace="w-typo"),
        lambda evidence, folder: evidence.erase("w-typo", by="o", reason="r", call_id="c"),
    ],
    ids=["verify", "list", "head", "records_with_state", "export", "erase"],
)
def test_a_mistyped_workspace_has_no_evidence(rt: holon.Runtime, tmp_path: Path, ask: Any) -> None:
    """What was never there is not consistent, and no bundle is made of it."""
    with pytest.raises(holon.Refused) as refused:
        ask(rt.evidence, tmp_path)

    assert refused.value.failure.code == "wrong_workspace"
    assert "w-typo" in refused.value.failure.message
    assert not (tmp_path / "out").exists()


def test_a_workspace_without_records_is_there(rt: holon.Runtime, tmp_path: Path) -> None:
    """One that was opened and never used verifies, and says that nothing was recorded."""
    (tmp_path / "w").mkdir()
    workspace = rt.workspaces.open(tmp_path / "w").id

    found = rt.evidence.verify(workspace)

    assert (found.consistent, found.records) == (True, 0)
    assert found.message == "nothing recorded yet"
    assert rt.evidence.list(workspace=workspace) == ()


def test_a_kept_head_is_looked_for_in_a_chain_that_is_gone(rt: holon.Runtime) -> None:
    """The head proves that the chain was there: its absence is an answer, no mistake."""
    head = holon.EvidenceHead(chain="w-gone", seq=3, hash="0" * 64)

    found = rt.evidence.verify("w-gone", head=head)

    assert found.matches_head is False


def test_a_head_that_is_none_is_misuse(rt: holon.Runtime) -> None:
    """A printed head has to be made one again, and the text says how."""
    kept = {"chain": "runtime", "seq": 0, "hash": ""}

    with pytest.raises(holon.Misuse, match=r"EvidenceHead\(\*\*values\)"):
        rt.evidence.verify(None, head=kept)  # type: ignore[arg-type]


def test_a_bundle_is_not_written_over_a_file_by_itself(rt: holon.Runtime, tmp_path: Path) -> None:
    """The refusal names the way that there is: another file, or replace."""
    place = tmp_path / "out.jsonl"
    rt.evidence.export(place, workspace=None)

    with pytest.raises(holon.Refused) as refused:
        rt.evidence.export(place, workspace=None)

    assert refused.value.failure.code == "file_exists"
    assert "replace" in refused.value.failure.next_action
    rt.evidence.export(place, workspace=None, replace=True)
