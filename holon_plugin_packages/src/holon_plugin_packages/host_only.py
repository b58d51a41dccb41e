"""What a manifest may not hold, because it belongs to the host; each with where it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from elegy_contracts.portable import host_only
from elegy_contracts.spelling import snake
from holon_core.records.finding import Finding

# A name in any spelling, and where what it means belongs.
BELONGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(workspace_)?(policy|policies)(_rules?|_profiles?)?|rules|permissions?"),
        "policy belongs to holon.toml of the storage root and of the workspace",
    ),
    (
        re.compile(
            r"secrets?|secret_(values?|refs?|bindings?)|passwords?|api_?keys?|tokens?"
            r"|credentials?|private_keys?"
        ),
        "secrets belong to a secret provider; declare secret_slots, and an operator binds them",
    ),
    (
        re.compile(r"approvals|approval_(records?|state|ids?|decisions?)|approved(_by)?|grants?"),
        "approvals belong to execution-approval and skill/approve-execution",
    ),
    (
        re.compile(r"(agent_|adapter_|bridge_|runtime_)?sessions?(_ids?|_state)?|held_calls?"),
        "sessions belong to the runtime: agent-session",
    ),
    (
        re.compile(
            r"(execution_)?authorit(y|ies)|postures?|auto_approve|execut(able|ors?)|trust(ed)?"
            r"|trust_level|is_executable|allow(ed)?_(origins?|addresses|hosts)|bind(ing)?s?"
        ),
        "authority belongs to the runtime: an approver gives it by skill/approve-execution",
    ),
)
# Below these, names are of the tool's own data.
_FREE = frozenset({"input_schema", "output_schema", "metadata", "definition"})


def host_findings(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Find what of a manifest belongs to the host.

    Args:
        manifest: In snake_case.
    """
    todo: list[tuple[Any, str]] = [(manifest, "")]
    while todo:
        value, path = todo.pop()
        if isinstance(value, list):
            todo += [(inner, f"{path}/{at}") for at, inner in enumerate(value)]
        elif isinstance(value, dict):
            for name, inner in value.items():
                place = f"{path}/{name}"
                said = where_it_belongs(name)
                if said:
                    text = f"a package holds no {name}: {said}"
                    yield Finding(code="host_only", message=text, path=place)
                elif name not in _FREE:
                    todo.append((inner, place))
    for found in host_only(_texts(manifest)):
        if "looks like a secret" in found.message:
            yield Finding(code="host_only", message=found.message, path=found.path)


def where_it_belongs(name: str) -> str:
    """Say where what a name means belongs; empty where it may stand in a manifest."""
    plain = snake(name.replace("-", "_"))
    return next((said for names, said in BELONGS if names.fullmatch(plain)), "")


def _texts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest without names that the other table decides about."""
    # What is foreign is looked at by its reader, and skills' texts may speak of anything.
    out = {name: inner for name, inner in manifest.items() if name not in _FREE | {"skills"}}
    return {name: inner for name, inner in out.items() if name != "secret_slots"}
