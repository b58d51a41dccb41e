"""Schema marks: where a JSON Schema says ``"x-holon-secret": true``, and masking by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MARK = "x-holon-secret"
MASKED = "[redacted]"
# A mark that may be anywhere is everywhere: beyond this many places all values are masked.
MAX_PLACES = 10_000

_IN_PLACE = ("allOf", "anyOf", "oneOf")
_IN_PLACE_ONE = ("if", "then", "else", "not")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REST_OF_KEYS = ("additionalProperties", "unevaluatedProperties")
_REST_OF_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")


class Marks:
    """The marks of one schema, looked up while a value is walked.

    A place is the set of all subschemas that speak of one position of the value. Every branch of
    a choice counts, whether it matches or not, and patterns of property names count for every
    name: rather one value too many masked than one too few.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._targets: dict[str, list[Mapping[str, Any]]] = {}
        _add_targets(self._targets, schema)
        self._places: dict[tuple[int, ...], _Place] = {}
        self.root = self.place([schema])

    def place(self, schemas: list[Any]) -> _Place | None:
        """Return the place of some subschemas; ``None`` where none speaks of it."""
        spoken: dict[int, Mapping[str, Any]] = {}
        if not self._gather(schemas, spoken):
            return ALL_MASKED
        key = tuple(sorted(spoken))
        known = self._places.get(key)
        if known is None and len(self._places) >= MAX_PLACES:
            return ALL_MASKED
        if known is None and key:
            known = self._places[key] = _Place(self, tuple(spoken.values()))
        return known

    def _gather(self, schemas: list[Any], spoken: dict[int, Mapping[str, Any]]) -> bool:
        """Add everything that applies in place; false where a reference leads nowhere."""
        waiting = list(schemas)
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in spoken:
                continue
            spoken[id(schema)] = schema
            for keyword in _REFERENCES:
                if keyword in schema:
                    targets = self._targets.get(_target_of(schema[keyword]))
                    if targets is None:
                        return False
                    waiting += targets
            waiting += _applied_in_place(schema)
        return True


class _Place:
    """One position of a value: whether it is secret, and the places below it."""

    __slots__ = ("_children", "_marks", "_schemas", "masked")

    def __init__(self, marks: Marks | None, schemas: tuple[Mapping[str, Any], ...]) -> None:
        self._marks, self._schemas = marks, schemas
        self._children: dict[str | int, _Place | None] = {}
        self.masked = any(schema.get(MARK) is True for schema in schemas)

    def below(self, step: str | int) -> _Place | None:
        """Return the place of a property or an item."""
        if step not in self._children:
            chosen = _of_key if isinstance(step, str) else _of_item
            below = [each for schema in self._schemas for each in chosen(schema, step)]
            place = self._marks.place(below) if self._marks else None
            if len(self._children) >= MAX_PLACES:
                return place
            self._children[step] = place
        return self._children[step]


ALL_MASKED = _Place(None, ({MARK: True},))


def marked_paths(schema: Mapping[str, Any]) -> Marks | None:
    """Read the marks of a schema.

    Args:
        schema: A JSON Schema that was admitted: of JSON types, its references inside it.

    Returns:
        What ``mask`` needs; ``None`` where nothing is marked. A reference that can't be followed
        counts as marked.

    Source: docs/evidence.md, "Redaction".
    """
    return Marks(schema) if any(each.get(MARK) is True for _, each in _nested(schema, "")) else None


def mask(value: Any, marks: Marks) -> Any:
    """Replace marked values by ``[redacted]``; unmarked parts are shared with ``value``."""
    return value if marks.root is None else _masked(value, marks.root)


def _masked(value: Any, place: _Place) -> Any:
    if place.masked:
        return MASKED
    if isinstance(value, Mapping):
        pairs = {key: _below(item, place, str(key)) for key, item in value.items()}
        return pairs if any(pairs[key] is not item for key, item in value.items()) else value
    if isinstance(value, (list, tuple)):
        items = [_below(item, place, index) for index, item in enumerate(value)]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _below(value: Any, place: _Place, step: str | int) -> Any:
    below = place.below(step)
    return value if below is None else _masked(value, below)


def _applied_in_place(schema: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _IN_PLACE:
        yield from _items(schema.get(keyword))
    for keyword in _IN_PLACE_ONE:
        yield schema.get(keyword)
    for keyword in ("dependentSchemas", "dependencies"):
        yield from _values(schema.get(keyword))


def _of_key(schema: Mapping[str, Any], key: Any) -> Iterator[Any]:
    named = schema.get("properties")
    if isinstance(named, Mapping) and key in named:
        yield named[key]
    else:
        for keyword in _REST_OF_KEYS:
            yield schema.get(keyword)
    # Patterns are not run here: one may take for ever, and a mask too many does no harm.
    yield from _values(schema.get("patternProperties"))


def _of_item(schema: Mapping[str, Any], index: Any) -> Iterator[Any]:
    for keyword in ("prefixItems", "items"):
        listed = schema.get(keyword)
        if isinstance(listed, (list, tuple)) and index < len(listed):
            yield listed[index]
    for keyword in _REST_OF_ITEMS:
        yield schema.get(keyword)


def _items(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, (list, tuple)) else ()


def _values(value: Any) -> Iterator[Any]:
    yield from value.values() if isinstance(value, Mapping) else ()


def _nested(value: Any, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every mapping inside a schema with its JSON pointer."""
    if isinstance(value, Mapping):
        yield pointer, value
        for key, item in value.items():
            yield from _nested(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    for index, item in enumerate(_items(value)):
        yield from _nested(item, f"{pointer}/{index}")


def _add_targets(targets: dict[str, list[Mapping[str, Any]]], schema: Mapping[str, Any]) -> None:
    """Index all that a reference may name: pointers, anchors and ids.

    Pointers are taken relative to the whole and to each embedded resource. Where two share a
    name, a reference means both: no base is worked out.
    """
    for pointer, each in _nested(schema, ""):
        names = {pointer, each.get("$anchor"), each.get("$dynamicAnchor")}
        identifier = each.get("$id", each.get("id"))
        if isinstance(identifier, str):
            names.add(_target_of(identifier))
            if pointer:
                for inner, below in _nested(each, ""):
                    targets.setdefault(inner, []).append(below)
        for name in names:
            if isinstance(name, str):
                targets.setdefault(name, []).append(each)


def _target_of(reference: Any) -> str:
    """Return the name under which a reference's target is indexed."""
    from urllib.parse import unquote

    resource, _, fragment = str(reference).partition("#")
    if fragment or not resource:
        return unquote(fragment)
    return "resource:" + resource.rpartition("/")[2]
