"""Adapters of one workspace: there for its callers, and for nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

import holon_core as holon
from holon_core import Authority, Refused

DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "server": "https://shop.example",
    "operations": [
        {
            "id": "appraise",
            "method": "GET",
            "path": "/x",
            "description": "Appraise a zorblatt takeover.",
            "parameters": [
                {"name": "deal", "in": "query", "required": True, "schema": {"enum": ["ACME-deal"]}}
            ],
            "responses": {"200": {}},
        }
    ],
}


def test_an_adapter_of_a_workspace_is_nowhere_to_be_met_from_beside_it(
    rt: holon.Runtime, tmp_path: Path
) -> None:
    """Not by a search, a page, a near name, or the reason of a refused call."""
    for name in ("mine", "beside"):
        (tmp_path / name).mkdir()
    ann = rt.session(principal="ann", workspace=tmp_path / "mine")
    bob = rt.session(principal="bob", workspace=tmp_path / "beside")
    query = "appraise a zorblatt takeover"
    before = bob.discover(query)

    made = rt.dispatch(
        "adapter/register",
        {"name": "deals", "document": DOCUMENT},
        caller=ann.caller,
        authorities=[*Authority],
    )

    (tool,) = made["added"]
    assert [each.id for each in ann.discover(query).items] == [tool]
    assert bob.discover(query) == before
    assert tool not in [each.id for each in bob.discover().items]
    for asked in (tool, tool.replace("appraise", "appraisx")):
        failure = bob.call(asked, {}).failure
        assert failure is not None
        assert failure.code == "wrong_workspace"
        assert "deal" not in failure.message.replace(asked, "")
        with pytest.raises(Refused, match=f"no tool {asked} in this workspace"):
            rt.dispatch(
                "runtime-tool/read",
                {"tool": asked},
                caller=bob.caller,
                authorities=[Authority.CALLER],
            )
