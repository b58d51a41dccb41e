"""Write the proposal of a tool of this folder: its tool.json with its source files.

python pack.py split-amount > split-amount.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def pack(folder: Path) -> dict[str, Any]:
    """Return the proposal of a crate that has a tool.json beside its Cargo.toml."""
    tool: dict[str, Any] = json.loads((folder / "tool.json").read_text(encoding="utf-8"))
    paths = [folder / "Cargo.toml", *sorted((folder / "src").rglob("*.rs"))]
    tool["files"] = [
        {
            "path": path.relative_to(folder).as_posix(),
            "content": path.read_text(encoding="utf-8"),
        }
        for path in paths
    ]
    return tool


if __name__ == "__main__":
    print(json.dumps(pack(Path(__file__).parent / sys.argv[1]), indent=1))
