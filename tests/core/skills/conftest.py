"""A runtime with a lane that imports skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holon_core as holon
from imported_skills import SOURCE, Echo, lane


@pytest.fixture
def echo() -> Echo:
    """What runs the capability."""
    return Echo()


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime with the lane and its registered source."""
    with holon.Runtime.open(tmp_path / "root", plugins=[lane()], discover=False) as made:
        made.skills.register_source(
            holon.SkillSourceDescriptor(id=SOURCE, kind=holon.SkillSourceKind.ELEGY_V2)
        )
        yield made
