"""What is searched of a tool: its texts, and how much each of its stems says about it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from holon_core.catalogue.stems import stem
from holon_core.catalogue.words import telling, tokens

# A text beyond this says nothing more about what a tool is for.
MAX_TEXT = 8000
MAX_WORDS = 600
MAX_SCHEMA_DEPTH = 4
MAX_PARAMETERS = 200
MAX_ENUM = 50

DATES, PLACES, SCHEMA = 1, 2, 4
_DATES = frozenset(
    [
        "arrival",
        "checkin",
        "checkout",
        "date",
        "day",
        "days",
        "departure",
        "end",
        "hour",
        "month",
        "start",
        "time",
        "when",
        "year",
    ]
)
_PLACES = frozenset(
    [
        "address",
        "area",
        "city",
        "country",
        "destination",
        "location",
        "origin",
        "place",
        "region",
        "state",
        "where",
    ]
)
# Impacts are kept as one byte: this many steps to one occurrence of the usual weight.
STEPS = 80


class Field(NamedTuple):
    """How a field counts: its weight, its usual length, how much length takes from it."""

    weight: float
    usual: float
    slope: float


# Lengths are those of usual tools and not of the catalogue: what a tool's words say about it then
# stays the same whatever comes in beside it.
FIELDS: Mapping[str, Field] = {
    "name": Field(0.8, 2.5, 0.6),
    "description": Field(1.0, 12.0, 0.75),
    "parameters": Field(0.8, 5.5, 0.6),
    "parameter_texts": Field(0.2, 30.0, 0.6),
    "values": Field(0.5, 6.0, 0.6),
    "examples": Field(0.4, 40.0, 0.7),
    "keywords": Field(0.8, 6.0, 0.6),
    "source": Field(0.1, 3.0, 0.6),
}


class Row(NamedTuple):
    """One tool as the index holds it; texts are words between single blanks."""

    id: str
    lane: str
    label: str
    namespace: str
    same: str
    digest: str
    kinds: int
    name: str
    description: str
    schema: str
    examples: str
    keywords: str


class Hit(NamedTuple):
    """One tool that was found: a higher score fits better; equal ones are in the order of ids."""

    score: float
    id: str
    confidence: float = 1.0
    same: str = ""
    digest: str = ""
    parts: tuple[float, ...] = ()


def row_of(tool: Mapping[str, Any]) -> tuple[Row, dict[str, int]]:
    """Return the texts of a tool, given as its stored JSON, and the impact of each stem."""
    source, _, capability = tool["id"].partition("/")
    name = tool["name"] or capability
    parameters = list(_walk(tool["input_schema"], 0))[:MAX_PARAMETERS]
    words = {
        "name": _name_words(name, unquote(capability), tool["title"][:MAX_TEXT]),
        "description": _words(tool["description"][:MAX_TEXT]),
        "parameters": _words(" ".join(each for each, _, _ in parameters)),
        "parameter_texts": _words(" ".join(text for _, text, _ in parameters)[:MAX_TEXT]),
        "values": _words(" ".join(values for _, _, values in parameters)[:MAX_TEXT]),
        "examples": _words(" ".join(_once(tool["examples"]))[:MAX_TEXT]),
        "keywords": _words(" ".join(_once(tool.get("keywords", ())))[:MAX_TEXT]),
        "source": _words(source),
    }
    row = Row(
        id=tool["id"],
        lane=tool["lane"],
        label=name.casefold()[:200],
        namespace=f"{source}/{_namespace(name)}",
        same=_same(tool["description"], words["name"], tool["input_schema"]),
        digest=tool.get("digest", ""),
        kinds=_kinds(each for each, _, _ in parameters),
        name=_text(words["name"]),
        description=_text(words["description"]),
        schema=_text([*words["parameters"], *words["parameter_texts"], *words["values"]]),
        examples=_text(words["examples"]),
        keywords=_text(words["keywords"]),
    )
    return row, _impacts(words)


def _once(texts: Iterable[str]) -> list[str]:
    """Leave out what was said before: saying it again must not buy a better place."""
    said: dict[str, str] = {}
    for each in texts:
        said.setdefault(" ".join(each.casefold().split()), each)
    return list(said.values())


def _words(text: str) -> list[str]:
    # What says nothing but stop words is found by those.
    return (telling(text) or tokens(text))[:MAX_WORDS]


def _name_words(name: str, capability: str, title: str) -> list[str]:
    """Return the words of a name, then those that its id and its title add to them."""
    words = _words(name)
    more = [*_words(capability), *_words(title)]
    return [*words, *(word for word in dict.fromkeys(more) if word not in words)]


def _text(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _namespace(name: str) -> str:
    """Return the part of a dotted or slashed name that groups it with others."""
    return name.replace("/", ".").partition(".")[0].casefold()[:200]


def _same(description: str, name: list[str], schema: Any) -> str:
    """Name what a tool says of itself: two that say the same are duplicates."""
    told = repr((name, " ".join(description.split()), schema))
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]


def saturation(*, has_schema: bool) -> float:
    """Return how slowly more occurrences stop counting: without a schema each one says more."""
    return 1.0 if has_schema else 2.0


def _impacts(words: Mapping[str, list[str]]) -> dict[str, int]:
    weights: dict[str, float] = {}
    for name, (weight, usual, slope) in FIELDS.items():
        found = words[name]
        if found:
            part = weight / (1 - slope + slope * len(found) / usual)
            for word in found:
                each = stem(word)
                weights[each] = weights.get(each, 0.0) + part
    k = saturation(has_schema=bool(words["parameters"]))
    return {
        each: max(1, min(255, round(STEPS * weight * (k + 1) / (weight + k))))
        for each, weight in weights.items()
    }


def _kinds(names: Iterable[str]) -> int:
    kinds = 0
    for name in names:
        said = frozenset(tokens(name))
        kinds |= SCHEMA | (DATES if said & _DATES else 0) | (PLACES if said & _PLACES else 0)
    return kinds


_DATE = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|march|april|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|today|tomorrow|yesterday|tonight|(?:19|20)\d\d|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th|am|pm))\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:in|at|from|to|near|around|of|for)\s(?:the\s)?[A-Z][a-z]+")


def kinds_of_query(query: str) -> int:
    """Return which kinds of values a query seems to hold: a date or time, a named place."""
    return (DATES if _DATE.search(query) else 0) | (PLACES if _PLACE.search(query) else 0)


def _walk(schema: Any, depth: int) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the text and the allowed values of each parameter, also of nested ones."""
    if not isinstance(schema, dict) or depth > MAX_SCHEMA_DEPTH:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, inner in properties.items():
            yield name, *_told(inner)
            yield from _walk(inner, depth + 1)
    yield from _walk(schema.get("items"), depth + 1)


def _told(schema: Any) -> tuple[str, str]:
    if not isinstance(schema, dict):
        return "", ""
    text, values = schema.get("description"), schema.get("enum")
    told = text if isinstance(text, str) else ""
    if not isinstance(values, list):
        return told, ""
    return told, " ".join(each for each in values[:MAX_ENUM] if isinstance(each, str))
