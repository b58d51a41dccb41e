"""Script artifacts for tests: a runtime with the lane, scripts, and tools made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import holon_core as holon
from frozen_tools import recorded, settle, shout
from holon_core import FrozenToolRecord
from holon_core.runtime import Runtime
from holon_core.session import Session
from holon_script_tools.operations import proposal_of


def open_scripts(root: Path, **options: Any) -> Runtime:
    """Open a runtime with the lane of scripts and a function that tools come from."""
    settings = {"plugins": ["holon-script-tools"], **options.pop("config", {})}
    return Runtime.open(root, tools=[shout], discover=True, config=settings, **options)


def script(text: str, **changed: Any) -> dict[str, Any]:
    """Return a script in Python as people write one, with members replaced."""
    return {
        "name": "run",
        "purpose": "Run a test",
        "input_schema": {"type": "object", "additionalProperties": True},
        "output_schema": {"type": "object", "additionalProperties": True},
        "command": ["python3", "main.py"],
        "files": {"main.py": text},
        "effects": ["none"],
        "fixtures": [{"name": "runs", "input": {}}],
        **changed,
    }


def activate(runtime: Runtime, session: Session, given: dict[str, Any]) -> FrozenToolRecord:
    """Bring a script to Active on the ordinary way."""
    frozen = runtime.tools.frozen
    record = frozen.create(
        proposal_of(given), caller=session.caller, calls=recorded(session), sees_all=True
    )
    record = frozen.validate(record.id, caller=session.caller)
    assert record.state is holon.FrozenState.VALIDATED, record.validation
    for _ in range(2):
        made = frozen.promote(record.id, session=session).result
        assert made is not None
        assert settle(runtime, session, made.held).failure is None
    return frozen.read(record.id)
