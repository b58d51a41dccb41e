"""The lane keeps the rules of every lane, with a package of its own installed and approved."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

import pytest

import holon_core as holon
from holon_core.testing import LaneSuite
from plugin_packages import Asked, capability, manifest

if TYPE_CHECKING:
    from holon_core import Runtime

pytest_plugins = ["holon_core.testing.plugin"]

NAME = "holon-plugin-packages"
REPEAT = "holon-plugin-packages.suite/repeat"
WAIT = "holon-plugin-packages.suite/wait"


def shell(name: str, script: str, **texts: Any) -> dict[str, Any]:
    """Make a capability that a shell's script runs."""
    return capability(
        id=name,
        description=f"To {name}.",
        input_schema={
            "type": "object",
            "properties": {each: {"type": "string"} for each in texts},
            "required": list(texts),
            "additionalProperties": False,
        },
        command={
            "program": "python3",
            "arguments": ["-c", script, "--", *(f"${{{each}}}" for each in texts)],
        },
    )


PACKAGE = manifest(
    id="suite",
    capabilities=[
        shell(
            "repeat",
            "import json, sys; print(json.dumps({'text': sys.argv[2] * int(sys.argv[3])}))",
            text="a",
            times="3",
        ),
        shell("wait", "import sys, time; time.sleep(float(sys.argv[2])); print('{}')", seconds="0"),
    ],
)


def _installed() -> bool:
    try:
        distribution(NAME)
    except PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not _installed(), reason=f"{NAME} is not installed as a distribution")
class TestConformance(LaneSuite):
    """Found by its entry point, as hosts have it."""

    distribution = NAME
    samples = {  # noqa: RUF012
        REPEAT: {"text": "a", "times": "3"},
        WAIT: {"seconds": "0"},
    }
    failing = {REPEAT: {"text": "a", "times": "x"}}  # noqa: RUF012
    slow = {WAIT: {"seconds": "30"}}  # noqa: RUF012
    large = {REPEAT: {"text": "a", "times": "1000000"}}  # noqa: RUF012

    def setup(self, runtime: Runtime) -> None:
        """Install a package and approve its capabilities."""
        ask = Asked(runtime)
        try:
            ask("plugin-package/register", manifest=PACKAGE)
        except holon.Refused as refused:
            # In memory there is no folder to install into, and the lane says so.
            assert refused.failure.code == "host_unsupported"  # noqa: PT017
            return
        ask("plugin-package/import", package="suite")
        ask.approved("holon-plugin-packages.suite/suite")
