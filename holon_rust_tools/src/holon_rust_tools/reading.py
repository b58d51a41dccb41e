"""What the compiler read: told by its own notes, and held against the sources of the tool."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holon_core import StructuredFailure, failure

if TYPE_CHECKING:
    from holon_core import FrozenTool

_CARGO = ("CARGO_", "CLIPPY_")


def foreign_inputs(target: Path, tool: FrozenTool) -> StructuredFailure | None:
    """Say what the tool's own crate was compiled of that is none of its sources.

    The second of two nets: the first is the judgement of its tokens, before anything runs. Read
    after ``cargo check``, which runs nothing of the tool's own.

    Args:
        target: Where cargo wrote.
        tool: Whose sources are in ``tool.folder``.
    """
    root = f"{tool.folder}{os.sep}"
    wanted = {each.path for each in tool.definition.files}
    for note in target.glob("*/deps/*.d"):
        lines = note.read_text(encoding="utf-8", errors="replace").splitlines()
        # The compiler is started in the root of the package, and told of its files from there.
        inputs = [os.path.normpath(tool.folder / name) for line in lines for name in _inputs(line)]
        if not any(name.startswith(root) for name in inputs):
            continue
        for name in inputs:
            known = name.startswith(root) and name.removeprefix(root).replace(os.sep, "/") in wanted
            if not known and not name.startswith(f"{target}{os.sep}"):
                text = f"the compiler read {name}, which is none of its sources"
                return failure("artifact_changed", text, rule="rust_external_input")
        for line in lines:
            variable = line.removeprefix("# env-dep:").partition("=")[0]
            if line.startswith("# env-dep:") and not variable.startswith(_CARGO):
                text = f"the compiler read the variable {variable}"
                return failure("artifact_changed", text, rule="rust_external_input")
    return None


def _inputs(line: str) -> list[str]:
    """Return the files after the colon of a rule; spaces in names are escaped."""
    if line.startswith("#") or ": " not in line:
        return []
    text = line.partition(": ")[2].replace("\\ ", "\0")
    return [name.replace("\0", " ") for name in text.split()]
