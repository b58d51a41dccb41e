"""How two versions of a frozen tool differ, and what a person is shown of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.wire.difference import Pair, differing

if TYPE_CHECKING:
    from holon_core.records.frozen import FrozenToolRecord

MAX_CHANGES = 100
MAX_SHOWN = 2000


def difference(before: FrozenToolRecord, after: FrozenToolRecord) -> list[dict[str, Any]]:
    """Return the places in which two definitions differ, at most 100 of them."""
    from itertools import islice

    old, new = _comparable(before), _comparable(after)
    pair = Pair("", old, new, shown_before=old, shown_after=new)
    return [
        {"path": each.path, "before": _text(each.before), "after": _text(each.after)}
        for each in islice(differing(pair), MAX_CHANGES)
    ]


def shown(record: FrozenToolRecord) -> dict[str, Any]:
    """Return what an approver is shown of a tool: what it may do and what proves it."""
    definition, run = record.definition, record.validation
    return {
        "tool": record.id,
        "purpose": definition.purpose[:MAX_SHOWN],
        "kind": definition.kind,
        "effects": sorted(effect.value for effect in definition.policy.effects),
        "approval_of_calls": definition.policy.approval.value,
        "fallback": definition.fallback.kind.value,
        "files": [f"{each.path} {each.sha256}" for each in definition.files[:MAX_CHANGES]],
        "derived_schemas": list(definition.derived),
        "provenance": [f"{ref.chain}#{ref.seq}" for ref in record.provenance[:MAX_CHANGES]],
        "fixtures": []
        if run is None
        else [f"{each.name}: {'passed' if each.passed else each.why}" for each in run.fixtures],
    }


def _comparable(record: FrozenToolRecord) -> Any:
    from holon_core.wire.converter import unstructure

    made = unstructure(record.definition)
    made["files"] = {each["path"]: each["sha256"] for each in made["files"]}
    made["fixtures"] = {each["name"]: each for each in made["fixtures"]}
    return made


def _text(value: Any) -> Any:
    from holon_core.errors import JsonRefused
    from holon_core.wire.canonical import canonical

    try:
        text = canonical(value).decode()
    except JsonRefused:
        # A side on which the place is absent has no value.
        return None
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
