"""The nouns of bridges (targets, surface maps, bindings, sessions), and `bridge/readiness`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from holon_core.operations.answers import answer, listed, to_json
from holon_core.operations.schemas import AFTER_ID, LIMIT, params, text
from holon_core.records.words import Authority
from holon_workflows.bridge_forms import FORMS
from holon_workflows.operations.common import (
    MAYBE_NUMBER,
    MAYBE_TEXT,
    OBJECT,
    TEXT,
    WRITES,
    row,
)

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.records.operation import Operation
    from holon_workflows.service import Workflows

_ID = text("Its id.", limit=100)
_WHAT = {
    "target-descriptor": "a program that is piloted",
    "surface-map": "a map of the surfaces of a program",
    "bridge-binding": "a binding of a map to what runs it",
    "bridge-session": "a session of a binding; updating it is its sign of life",
}


def create(noun: str, flows: Workflows, door: Door, given: Params) -> Any:
    """Keep a thing."""
    return flows.bridges.create(noun, given, by=door.caller.principal)


def update(noun: str, flows: Workflows, door: Door, given: Params) -> Any:
    """Put a thing in place of the one before."""
    return flows.bridges.update(noun, given)


def read(noun: str, flows: Workflows, door: Door, given: Params) -> Any:
    """Answer a thing."""
    return flows.bridges.read(noun, given["id"])


def close(noun: str, flows: Workflows, door: Door, given: Params) -> Any:
    """Close a thing."""
    return flows.bridges.close(noun, given["id"])


def list_things(noun: str, flows: Workflows, door: Door, given: Params) -> Any:
    """Answer the things of a noun."""
    limit = given.get("limit", 50)
    found = flows.bridges.list(noun, after=given.get("after", ""), limit=limit)
    return {"items": list(found), "next_after": found[-1]["id"] if len(found) == limit else None}


def readiness(flows: Workflows, door: Door, given: Params) -> Any:
    """Answer whether bridges are ready."""
    named = [given["binding"]] if "binding" in given else None
    ids = named or [each["id"] for each in flows.bridges.list("bridge-binding")]
    return {"bridges": to_json([flows.bridges.readiness(each) for each in ids])}


def rows(flows: Workflows) -> list[Operation]:
    """Return the rows about bridges."""
    made = []
    for noun, form in FORMS.items():
        own = {name: {**schema} for name, schema in form["properties"].items()}
        for name, schema in own.items():
            schema.setdefault("description", f"{name.replace('_', ' ').capitalize()}.")
        what = _WHAT[noun]
        for verb, handler, request, doc in (
            ("create", create, params(tuple(form["required"]), **own), f"Keep {what}."),
            ("update", update, params(("id",), **own), f"Change {what}."),
            ("read", read, params(("id",), id=_ID), f"Read {what}."),
            ("close", close, params(("id",), id=_ID), f"Close {what}; it stays readable."),
        ):
            reads = verb == "read"
            made.append(
                row(
                    flows,
                    f"{noun}/{verb}",
                    partial(handler, noun),
                    request,
                    OBJECT,
                    authority=Authority.CALLER if reads else Authority.OPERATOR,
                    **({} if reads else {"effects": WRITES}),
                    positional=("id",),
                    doc=doc,
                )
            )
        made.append(
            row(
                flows,
                f"{noun}/list",
                partial(list_things, noun),
                params((), after=AFTER_ID, limit=LIMIT),
                answer(items=listed(OBJECT), next_after=MAYBE_TEXT),
                doc=f"List by id: {what.split(';')[0]}.",
            )
        )
    made.append(
        row(
            flows,
            "bridge/readiness",
            readiness,
            params((), binding=text("Id of a binding; all of them where left out.", limit=100)),
            answer(
                bridges=listed(
                    answer(
                        binding=TEXT,
                        ready={"type": "boolean"},
                        reasons=listed(TEXT),
                        session=MAYBE_TEXT,
                        seen_at=MAYBE_NUMBER,
                    )
                )
            ),
            positional=("binding",),
            listing="bridges",
            columns=("binding", "ready", "reasons", "session"),
            doc=(
                "Compute whether bridges are ready: bindings, sessions, how fresh they are, and "
                "what they need. A step that needs one is blocked until it is."
            ),
        )
    )
    return made
