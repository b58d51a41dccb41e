"""The lane keeps the rules of every lane, with what it imported bound to a host's executor."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

import pytest

import holon_core as holon
from holon_core.testing import LaneSuite

if TYPE_CHECKING:
    from holon_core import Runtime

pytest_plugins = ["holon_core.testing.plugin"]

NAME = "holon-elegy"
SOURCE = "holon-elegy.suite"
REPEAT = f"{SOURCE}/repeat"
CODE = "import json, sys; print(json.dumps({'text': sys.argv[1] * int(sys.argv[2])}))"
WAIT = f"{SOURCE}/wait"
WAITING = "import sys, time; time.sleep(float(sys.argv[1])); print('{}')"


def capability(name: str, code: str, *parameters: str) -> dict[str, Any]:
    """Make a capability that runs Python."""
    return {
        "id": name,
        "name": name.capitalize(),
        "description": f"To {name}.",
        "implementation": {
            "executionType": "subprocess",
            "executableName": sys.executable,
            "arguments": ["-c", code, *(f"${{{each}}}" for each in parameters)],
        },
        "input": {
            "parameters": [{"name": p, "type": "string", "required": True} for p in parameters]
        },
        "output": {"schemaRef": "https://elegy/contracts/schemas/data-result.schema.json"},
        "execution": {"hasSideEffects": False},
    }


SKILL = {
    "skillFormat": "elegy-skill-definition",
    "skillVersion": 2,
    "identity": {"namespace": "demo", "name": "suite", "version": "1.0.0"},
    "capabilities": [
        capability("repeat", CODE, "text", "times"),
        capability("wait", WAITING, "seconds"),
    ],
    "lifecycleState": "active",
}


class Forward:
    """Runs an imported capability by its invocation, as a host would."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def execute(self, call: Any) -> Any:
        binding = self._runtime.skills.binding(call.tool.id)
        made = self._runtime.service("elegy").invocation(binding, call.arguments)
        printed = call.run_process((made.executable, *made.arguments), stdin=made.stdin)
        found = holon.read_output(printed)
        if isinstance(found, dict):
            return holon.completed(found)
        return holon.ExecutorOutcome(
            status=holon.ExecutorStatus.FAILED,
            failure=holon.ExecutorFailure(
                kind=found.kind, code=found.code, message=found.message, details=found.details
            ),
        )

    def preview(self, call: Any) -> Any:
        binding = self._runtime.skills.binding(call.tool.id)
        return self._runtime.service("elegy").preview(binding, call.arguments)


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
    large = {REPEAT: {"text": "a", "times": "100000"}}  # noqa: RUF012

    def setup(self, runtime: Runtime) -> None:
        """Import a skill, bind what runs it, and approve its posture."""
        kind = holon.SkillSourceKind.ELEGY_V2
        runtime.skills.register_source(holon.SkillSourceDescriptor(id=SOURCE, kind=kind))
        runtime.dispatch(
            "skill/import-elegy-v2",
            {"source": SOURCE, "definition": json.loads(json.dumps(SKILL))},
            caller=runtime.session(principal="operator").caller,
            authorities=[holon.Authority.OPERATOR],
        )
        runtime.skills.bind(SOURCE, Forward(runtime), self_limiting=True)
        runtime.skills.approve_execution(
            f"{SOURCE}/demo.suite",
            posture=holon.Posture.ADAPTER_FORWARDED,
            by="operator",
            reason="the suite's own",
        )
