"""The operations that plugins offer: which of them count, and their handlers under guard."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import CallFailed, JsonRefused, Refused, Rejected, StoreError
from holon_core.operations.faults import problem_of
from holon_core.plugins.faults import kind_of, told
from holon_core.plugins.manager import Offer
from holon_core.plugins.offers import owner_of, single
from holon_core.records.failure import failure
from holon_core.records.finding import has_errors
from holon_core.records.operation import Operation
from holon_core.records.words import Authority, Effect
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import compiled
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_core.plugins.offers import Offers
    from holon_core.records.tool import Provenance
    from holon_core.wire.schema_check import Role

# Written out, so that opening needs no table: the core's nouns, and words of the command.
CORE_NOUNS = frozenset(
    {
        "agent-profile",
        "agent-session",
        "evidence",
        "execution-approval",
        "frozen-tool-proposal",
        "plugin",
        "policy",
        "protocol",
        "runtime-capability",
        "runtime-skill",
        "runtime-tool",
        "skill",
        "skill-source",
        "structured-output",
        "workspace",
    }
)
# Rows under a noun of the core's that one distribution of this project brings.
GRANTED = {"skill/import-elegy-v2": "holon-elegy"}
COMMAND_WORDS = frozenset(
    {"approval", "frozen-tool", "completion", "demo", "doctor", "lane", "mcp", "serve", "tool"}
)
# Options that every command has already.
COMMON_OPTIONS = frozenset({"actor", "app", "help", "json", "root", "tools"})
_WORD = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]*")
MAX_WORD = 64
ANSWER_DOMAIN = "holon-operation-answer/1"
# What a handler may raise on purpose.
_DELIBERATE = (CallFailed, Refused, Rejected, StoreError)


class _NotOffered(Exception):
    """A row that does not count; the text says why."""


def join_operations(offers: Offers) -> dict[str, Operation]:
    """Join the operations of all plugins by method; what does not count is reported.

    Args:
        offers: As they were gathered.

    Returns:
        Rows whose schemas are copies, and whose handlers answer what they promise or fail typed.
    """
    if offers.manager is None:
        return {}
    rows = []
    for offer in offers.operations:
        try:
            row = _read(offer.item, offer.provenance)
        except KeyboardInterrupt:
            raise
        except _NotOffered as problem:
            _report(offers, offer, str(problem))
        except BaseException as error:
            _report(offers, offer, f"it raised {told(error)} when it was read")
        else:
            rows.append(Offer(item=row, provenance=offer.provenance))
    rows = _own_nouns(offers, rows)
    named = [(f"operation {each.item.method}", each) for each in rows]
    return {each.item.method: each.item for each in single(offers.manager, named).values()}


def _report(offers: Offers, offer: Offer, problem: str) -> None:
    assert offers.manager is not None
    text = f"it offered {kind_of(offer.item)} as an operation: {problem}"
    offers.manager.report(offer.provenance.plugin, offer.provenance, text)


def _own_nouns(offers: Offers, rows: list[Offer]) -> list[Offer]:
    """Keep rows under nouns that one provider alone uses."""
    assert offers.manager is not None
    first = {(each.item.noun, owner_of(each.provenance)): each for each in reversed(rows)}
    named = [(f"noun {noun}", each) for (noun, _), each in first.items()]
    owners = {
        name: owner_of(each.provenance) for name, each in single(offers.manager, named).items()
    }
    return [
        each for each in rows if owners.get(f"noun {each.item.noun}") == owner_of(each.provenance)
    ]


def _read(item: Any, provenance: Provenance) -> Operation:
    if type(item) is not Operation:
        raise _NotOffered("Operation is wanted")
    _check_words(item, provenance)
    _check_kinds(item)
    request = _schema(item.request, "request", role="input")
    response = _schema(item.response, "response", role="output")
    _check_names(item, request, response)
    row = evolve(item, request=request, response=response)
    return evolve(row, handler=_guarded(row, provenance))


def _check_words(item: Operation, provenance: Provenance) -> None:
    for what, word in (("noun", item.noun), ("verb", item.verb)):
        if type(word) is not str or len(word) > MAX_WORD or not _WORD.fullmatch(word):
            raise _NotOffered(f"its {what} is not words of a-z 0-9 joined by -")
    granted = GRANTED.get(item.method)
    if item.noun in CORE_NOUNS and granted != provenance.distribution:
        raise _NotOffered(f"the noun {item.noun} is the core's")
    if item.noun in COMMAND_WORDS:
        raise _NotOffered(f"the noun {item.noun} is a word of the command")


def _check_kinds(item: Operation) -> None:
    if type(item.authority) is not Authority:
        raise _NotOffered(f"{item.method} states no authority")
    also: Any = item.also
    if type(also) is not frozenset or not all(type(each) is Authority for each in also):
        raise _NotOffered(f"also of {item.method} is no frozenset of authorities")
    effects: Any = item.effects
    if type(effects) is not frozenset or not all(type(each) is Effect for each in effects):
        raise _NotOffered(f"the effects of {item.method} are no frozenset of effects")
    if not effects or Effect.UNKNOWN in effects:
        raise _NotOffered(f"{item.method} does not declare its effects")
    handler: Any = item.handler
    if not callable(handler) or inspect.iscoroutinefunction(handler):
        raise _NotOffered(f"the handler of {item.method} is no plain function")
    if type(item.doc) is not str or not item.doc.strip():
        raise _NotOffered(f"{item.method} has no text")


def _schema(schema: Any, what: str, *, role: Role) -> dict[str, Any]:
    report = check_schema(schema, role=role)
    if has_errors(report.findings):
        first = next(each for each in report.findings if has_errors([each]))
        raise _NotOffered(f"its {what} schema at {first.path or '/'}: {first.message}")
    made = report.schema
    if not isinstance(made, dict) or made.get("type") != "object":
        raise _NotOffered(f"its {what} schema is not of type object")
    return {"properties": {}, **made}


def _check_names(item: Operation, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
    """Refuse a row that the command could not show or take."""
    properties = request["properties"]
    for name in properties:
        if not _PARAMETER.fullmatch(name) or name in COMMON_OPTIONS:
            raise _NotOffered(f"its parameter {name!r:.80} cannot be an option of the command")
    for what, names in (("positional", item.positional), ("unread", item.unread)):
        if type(names) is not tuple or not set(names) <= set(properties):
            raise _NotOffered(f"{what} names what is no parameter")
    if item.listing is None:
        return
    listed = response["properties"].get(item.listing)
    items = listed.get("items") if isinstance(listed, dict) else None
    items = items if isinstance(items, dict) else {}
    columns = items.get("properties")
    if not isinstance(columns, dict) or items.get("type") != "object":
        raise _NotOffered("listing names no list of objects in the answer")
    if type(item.columns) is not tuple or not set(item.columns) <= set(columns):
        raise _NotOffered("columns names what is not in the listing")


def _guarded(row: Operation, provenance: Provenance) -> Callable[[Door, Params], Any]:
    """Wrap a handler: what it raises, or answers against its schema, is a failure by its name."""
    schema_digest = digest(row.response, domain=ANSWER_DOMAIN)

    def answer(door: Door, given: Params) -> Any:
        try:
            made = row.handler(door, given)
        except KeyboardInterrupt:
            raise
        except _DELIBERATE as error:
            if not _can_be_told(error):
                raise _broken(door, row, provenance, f"raised {kind_of(error)}") from None
            raise
        except BaseException as error:
            raise _broken(door, row, provenance, f"raised {told(error)}") from None
        try:
            value = normalise(made).value
        except JsonRefused as error:
            text = f"answered no sound JSON: {error.message} at {error.path or '/'}"
            raise _broken(door, row, provenance, text) from None
        errors = compiled(row.response, schema_digest).errors(value)
        if errors:
            text = f"answered against its schema: {errors[0].message} at {errors[0].path or '/'}"
            raise _broken(door, row, provenance, text)
        return value

    return answer


def _can_be_told(error: Any) -> bool:
    """Tell whether a refusal that a plugin made has the form of one."""
    try:
        normalise(problem_of(error).to_json())
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    return True


def _broken(door: Door, row: Operation, provenance: Provenance, what: str) -> Refused:
    owner = owner_of(provenance)
    text = door.runtime._guard.recorder.safe_text(f"{row.method} of {owner} {what}")
    return Refused(failure("lane_protocol", text, plugin=provenance.plugin, method=row.method))
