"""A ready Rust tool as a step of a workflow: the tool that was built for the whole session."""

from __future__ import annotations

from pathlib import Path

from flows import definition, node
from holon_core import FrozenToolRecord
from rust_tools import open_rust


def test_a_ready_rust_tool_is_a_step(
    words: FrozenToolRecord, storage: Path, shared_place: Path
) -> None:
    """It runs as a frozen tool, under guard, in the name of who started the run."""
    plugins = ["holon-rust-tools", "holon-workflows"]
    with open_rust(storage / "root", config={"plugins": plugins}) as runtime:
        session = runtime.session(principal="ann", workspace=shared_place)
        flows = runtime.service("workflows")
        given = {"text": {"value": "three small words"}}
        step = node("count", "frozen-tool", {"tool": words.id}, inputs=given)
        outputs = {"count": "steps.count.output.count"}
        flows.create(definition(step, outputs=outputs, id="rust"), by="olga")

        run = flows.run("rust", session=session)

        assert (run.state, run.outputs) == ("completed", {"count": 3})
        accepted = runtime.evidence.read(run.step("count").note.removeprefix("call "))[0].body
        assert accepted["posture"] == "frozen_tool_live"
        assert (accepted["caller"]["run"], accepted["caller"]["plan_step"]) == (run.id, "count")
