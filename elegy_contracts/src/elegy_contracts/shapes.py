"""The shapes of all contracts: a short notation in data files, and the JSON Schemas made of it.

A file of ``shapes/`` maps names of contracts to shapes. A shape is

* a word: ``text``, ``text+`` (not empty), ``int``, ``int>=1``, ``number``, ``number>=0``,
  ``bool``, ``object``, ``any``, ``null``, ``moment`` (RFC 3339), ``uri``;
* ``text /pattern/``, ``= one | two`` (one of these texts), ``== 2`` (exactly this JSON value),
  or ``@name``, a shape of ``@defs``; each may end with `` ?``: or null;
* ``[shape]``, ``["1+", shape]`` (not empty), ``["unique", shape]``, ``["1+", "unique", shape]``;
* an object of members, ``name!`` for a required one; it is closed unless ``...`` gives the
  shape of further members;
* ``{"$schema": …}``, a JSON Schema as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

BASE = "https://elegy/contracts/schemas/"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILES = ("contracts", "packages", "agents", "results")
_WORDS: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "text+": {"type": "string", "minLength": 1},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "null": {"type": "null"},
    "any": {},
    "moment": {"type": "string", "format": "date-time"},
    "uri": {"type": "string", "format": "uri"},
}
_BOUND = re.compile(r"(int|number)>=(-?[0-9.]+)(?:<=(-?[0-9.]+))?")
_TEXT = re.compile(r"text /(.*)/", re.DOTALL)


@lru_cache(maxsize=1)
def shapes() -> Mapping[str, Any]:
    """Return every shape by the name of its contract."""
    found: dict[str, Any] = {}
    for name in FILES:
        text = (files(__package__) / "shapes" / f"{name}.json").read_text(encoding="utf-8")
        found.update(json.loads(text))
    return found


def names() -> tuple[str, ...]:
    """Return the names of all contracts that have a schema, sorted."""
    return tuple(sorted(shapes()))


@lru_cache(maxsize=256)
def _schema_text(name: str) -> str:
    shape = shapes()[name]
    made: dict[str, Any] = {"$schema": DIALECT, "$id": f"{BASE}{name}.schema.json"}
    if isinstance(shape, dict) and "@defs" in shape:
        definitions = {key: schema_of(each) for key, each in shape["@defs"].items()}
        rest = {key: each for key, each in shape.items() if key != "@defs"}
        shape = rest.get("@is", rest)
        made["$defs"] = definitions
    return json.dumps({**made, **schema_of(shape)})


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a contract; the caller's own copy.

    Raises:
        KeyError: No contract has this name.
    """
    made: dict[str, Any] = json.loads(_schema_text(name))
    return made


def schema_of(shape: Any) -> dict[str, Any]:
    """Make the JSON Schema of one shape."""
    if isinstance(shape, str):
        return _word(shape)
    if isinstance(shape, list):
        return _list(shape)
    if "$schema" in shape:
        return dict(shape["$schema"])
    return _object(shape)


def _word(word: str) -> dict[str, Any]:
    if word.endswith(" ?"):
        return _or_null(_word(word[:-2]))
    if word.startswith("== "):
        return {"const": json.loads(word[3:])}
    if word.startswith("= "):
        return {"type": "string", "enum": word[2:].split(" | ")}
    if word.startswith("@"):
        return {"$ref": f"#/$defs/{word[1:]}"}
    bound = _BOUND.fullmatch(word)
    if bound:
        made: dict[str, Any] = {**_WORDS[bound[1]], "minimum": json.loads(bound[2])}
        return {**made, "maximum": json.loads(bound[3])} if bound[3] else made
    text = _TEXT.fullmatch(word)
    if text:
        return {"type": "string", "pattern": text[1]}
    return dict(_WORDS[word])


def _or_null(made: dict[str, Any]) -> dict[str, Any]:
    if "enum" in made:
        return {"type": ["string", "null"], "enum": [*made["enum"], None]}
    if "type" in made:
        return {**made, "type": [made["type"], "null"]}
    return {"anyOf": [made, {"type": "null"}]}


def _list(shape: list[Any]) -> dict[str, Any]:
    *words, item = shape
    made: dict[str, Any] = {"type": "array", "items": schema_of(item)}
    if "1+" in words:
        made["minItems"] = 1
    if "unique" in words:
        made["uniqueItems"] = True
    return {**made, "type": ["array", "null"]} if "?" in words else made


def _object(shape: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: each for name, each in shape.items() if name not in ("...", "?")}
    made: dict[str, Any] = {"type": "object"}
    if members:
        made["properties"] = {n.removesuffix("!"): schema_of(each) for n, each in members.items()}
    required = [name[:-1] for name in members if name.endswith("!")]
    if required:
        made["required"] = required
    further = shape.get("...")
    if further is None:
        made["additionalProperties"] = False
    elif further != "any":
        made["additionalProperties"] = schema_of(further)
    return {**made, "type": ["object", "null"]} if "?" in shape else made
