"""Every bullet of the source document "Rust Code Tools" is named by a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import ABSENT, shared_folder

HERE = Path(__file__).parent


def bullets() -> list[str]:
    """Return the bullets of the document, in order."""
    folder = shared_folder()
    if folder is None:
        pytest.skip(ABSENT)
    text = (folder / "source-documents" / "rust-code-tools.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return [line.removeprefix("•").strip() for line in lines if line.startswith("•")]


def test_every_bullet_has_a_test_that_is_there() -> None:
    """The table beside this file maps each bullet to tests of this folder."""
    table: dict[str, list[str]] = json.loads((HERE / "bullets.json").read_text(encoding="utf-8"))
    sources = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))

    assert list(table) == list(dict.fromkeys(bullets()))
    for bullet, tests in table.items():
        assert tests, bullet
        for name in tests:
            assert f"def {name}(" in sources, (bullet, name)
