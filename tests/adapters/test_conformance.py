"""The adapter lane keeps the rules of every lane."""

from __future__ import annotations

from typing import Any

import pytest

import holon_core as holon
from holon_adapters.records import Binding
from holon_core.testing import LaneSuite
from hostile_http import Hostile, hostile

pytest_plugins = ["holon_core.testing.plugin"]

SOURCE = "holon-adapters.enemy"
ENEMY: list[Hostile] = []


def _read(path: str) -> dict[str, Any]:
    note = {"name": "X-Note", "in": "header", "schema": {"type": "string"}}
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
    }
    return {
        "id": path,
        "method": "GET",
        "path": f"/{path}",
        "description": f"Ask for {path}.",
        "parameters": [note],
        "responses": {"200": {"schema": schema}},
        "secrets": ["key"],
    }


DOCUMENT = {
    "adapter": "holon-adapter/v1",
    "secrets": {"key": {"in": "header", "name": "X-Key"}},
    "operations": [_read("fine"), _read("silent"), _read("endless")],
}


@pytest.fixture(scope="module", autouse=True)
def enemy():
    with hostile() as server:
        ENEMY.append(server)
        yield server
        ENEMY.clear()


class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it, with one adapter registered and bound."""

    distribution = "holon-adapters"
    samples = {f"{SOURCE}/fine": {}, f"{SOURCE}/silent": [], f"{SOURCE}/endless": []}  # noqa: RUF012
    failing = {  # noqa: RUF012
        f"{SOURCE}/fine": {"X-Note": "a\r\nb"},
        f"{SOURCE}/endless": {},
    }
    slow = {f"{SOURCE}/silent": {}}  # noqa: RUF012
    large = {f"{SOURCE}/endless": {}}  # noqa: RUF012

    def setup(self, runtime: holon.Runtime) -> None:
        """Register and bind one adapter, as an operator would."""
        adapters = runtime.service("adapters")
        adapters.register("enemy", DOCUMENT, by="olga")
        adapters.bind(
            "enemy",
            Binding(
                origin=ENEMY[0].url,
                secrets={"key": "env:ENEMY_KEY"},
                allow_addresses=("loopback",),
                by="olga",
                reason="conformance",
                at_unix_seconds=1,
            ),
        )
