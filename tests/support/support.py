"""What tests of several folders share (importlib mode cannot import from test folders)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ABSENT = "shared data not present"


def shared_folder() -> Path | None:
    """Return the folder of test data beside the repository, or None where there is none.

    ``HOLON_TEST_DATA`` names another place.
    """
    folder = Path(os.environ.get("HOLON_TEST_DATA") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


def shared_json_lines(name: str) -> list[Any]:
    """Return the values of a JSON-lines file of the test data, none where it is absent.

    For ``parametrize``, which needs its cases before any test can skip.
    """
    folder = shared_folder()
    if folder is None or not (folder / name).is_file():
        return []
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def shared_json(name: str) -> Any:
    """Return the value of a JSON file of the test data, an empty list where it is absent."""
    folder = shared_folder()
    if folder is None or not (folder / name).is_file():
        return []
    return json.loads((folder / name).read_text(encoding="utf-8"))


def label(value: object) -> str:
    """Name a parameter the same way in every process: no addresses, sets in order."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {label(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(repr, value))) + "}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value) if isinstance(value, str) else str(value))[
        :60
    ]
