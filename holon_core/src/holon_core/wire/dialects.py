"""The JSON Schema dialects that are understood: their keywords and where those hold schemas."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from holon_core.records.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator


class Place(Enum):
    """What a subschema is applied to, seen from the schema that holds it."""

    SAME = "the same value"
    ONE = "a part that no other ONE of this schema is applied to"
    SOME = "parts of the value"
    NOTHING = "only kept, for references"


class Dialect(Facts):
    """One version of JSON Schema: its identifier and every keyword it gives a meaning."""

    uri: str
    keywords: frozenset[str]
    id_keyword: str = "$id"
    # Up to draft 7 a reference is alone: whatever stands beside it is ignored.
    lone_ref: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DRAFT4 = _words(
    "$schema id $ref title description default multipleOf maximum exclusiveMaximum minimum "
    "exclusiveMinimum maxLength minLength pattern additionalItems items maxItems minItems "
    "uniqueItems maxProperties minProperties required additionalProperties definitions "
    "properties patternProperties dependencies enum type format allOf anyOf oneOf not"
)
_DRAFT6 = _DRAFT4 - {"id"} | _words("$id const contains propertyNames examples")
_DRAFT7 = _DRAFT6 | _words(
    "$comment if then else readOnly writeOnly contentMediaType contentEncoding"
)
_2019 = _DRAFT7 | _words(
    "$anchor $recursiveRef $recursiveAnchor $vocabulary $defs dependentRequired dependentSchemas "
    "maxContains minContains unevaluatedItems unevaluatedProperties deprecated contentSchema"
)
_2020 = _2019 - _words("$recursiveRef $recursiveAnchor additionalItems") | _words(
    "prefixItems $dynamicRef $dynamicAnchor"
)

LATEST = Dialect(uri="https://json-schema.org/draft/2020-12/schema", keywords=_2020)
_OLD = "http://json-schema.org/draft-0{}/schema"
DIALECTS = {
    dialect.uri: dialect
    for dialect in (
        Dialect(uri=_OLD.format(4), keywords=_DRAFT4, id_keyword="id", lone_ref=True),
        Dialect(uri=_OLD.format(6), keywords=_DRAFT6, lone_ref=True),
        Dialect(uri=_OLD.format(7), keywords=_DRAFT7, lone_ref=True),
        Dialect(uri="https://json-schema.org/draft/2019-09/schema", keywords=_2019),
        LATEST,
    )
}

# Keywords that describe without checking anything; some are of widely used extensions.
ANNOTATIONS = _words(
    "$comment title description default examples example deprecated readOnly writeOnly "
    "contentMediaType contentEncoding contentSchema externalDocs xml discriminator"
)
ALL_KEYWORDS = frozenset[str]().union(*(dialect.keywords for dialect in DIALECTS.values()))

_SINGLE = {
    "not": Place.SAME,
    "if": Place.SAME,
    "then": Place.SAME,
    "else": Place.SAME,
    "additionalProperties": Place.ONE,
    "additionalItems": Place.ONE,
    "items": Place.ONE,
    "contains": Place.SOME,
    "propertyNames": Place.SOME,
    "unevaluatedItems": Place.SOME,
    "unevaluatedProperties": Place.SOME,
    "contentSchema": Place.NOTHING,
}
_LISTS = {
    "allOf": Place.SAME,
    "anyOf": Place.SAME,
    "oneOf": Place.SAME,
    "items": Place.ONE,
    "prefixItems": Place.ONE,
}
_MAPS = {
    "properties": Place.ONE,
    "patternProperties": Place.SOME,
    "dependentSchemas": Place.SAME,
    "dependencies": Place.SAME,
    "$defs": Place.NOTHING,
    "definitions": Place.NOTHING,
}


def dialect_of(schema: Any) -> Dialect | None:
    """Find the dialect that a schema declares; the latest where it declares none."""
    declared = schema.get("$schema", LATEST.uri) if isinstance(schema, dict) else LATEST.uri
    return DIALECTS.get(declared.removesuffix("#")) if isinstance(declared, str) else None


def subschemas(
    schema: dict[str, Any], dialect: Dialect
) -> Iterator[tuple[tuple[str | int, ...], Any, Place]]:
    """List the schemas directly inside a schema: path from it, schema, what it is applied to."""
    alone = dialect.lone_ref and "$ref" in schema
    for keyword, held in schema.items():
        if keyword not in dialect.keywords or (alone and keyword != "definitions"):
            continue
        if keyword in _SINGLE and isinstance(held, (dict, bool)):
            yield (keyword,), held, _SINGLE[keyword]
        elif keyword in _LISTS and isinstance(held, list):
            for at, item in enumerate(held):
                yield (keyword, at), item, _LISTS[keyword]
        elif keyword in _MAPS and isinstance(held, dict):
            for name, item in held.items():
                yield (keyword, name), item, _MAPS[keyword]
