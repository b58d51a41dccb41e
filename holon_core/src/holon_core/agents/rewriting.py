"""Input schemas rewritten to what a provider takes; the original always decides."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

from attrs import frozen

from holon_core.agents.mapping import NOTHING, Plan, union
from holon_core.agents.references import Recursive, Unresolved, flat
from holon_core.agents.texts import cleaned
from holon_core.records.dialect import Nullable, Rewrite, SchemaRules
from holon_core.wire.dialects import ALL_KEYWORDS, ANNOTATIONS, dialect_of
from holon_core.wire.faults import pointer

MAX_PARTS = 5000
MAX_MOVED = 200
MAX_REWRITES = 200
MAX_TEXT = 1024
# Handled by name, or without meaning for a value once the rest is.
_STRUCTURE = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "const"),
        *("anyOf", "oneOf", "allOf", "$ref", "description", "format", "nullable"),
        *("$schema", "$id", "id", "$defs", "definitions", "$anchor", "$vocabulary"),
    }
)
_ALL_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_HINTS = {
    "properties": "object",
    "required": "object",
    "items": "array",
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "minimum": "number",
    "maximum": "number",
}
Path = tuple[str | int, ...]


class Inexpressible(Exception):
    """A strict schema can't say this; carries where and what."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(what)
        self.path, self.what = pointer(path), what


@frozen(kw_only=True)
class Rewritten:
    """A schema as it is shown, how arguments come back from it, and what was changed."""

    schema: dict[str, Any]
    plan: Plan
    rewrites: tuple[Rewrite, ...]


def rewrite(
    schema: dict[str, Any],
    rules: SchemaRules,
    *,
    property_pattern: str | None = None,
) -> Rewritten:
    """Rewrite the input schema of a tool by the rules of a provider.

    Args:
        schema: An admitted schema of type object.
        rules: What the provider takes.
        property_pattern: Names of properties that it takes; others are shown under another.

    Raises:
        Inexpressible: The rules are strict and can't express it.
    """
    work = _Work(schema, rules, property_pattern)
    try:
        shown, plan = work.value(schema, (), depth=0, seen=())
    except RecursionError:
        raise Inexpressible((), "it is nested too deeply") from None
    if rules.strict and not plan.trivial and "anyOf" in shown:
        raise Inexpressible((), "alternatives at the top")
    for keyword in ("anyOf", "oneOf", "allOf", "not", "enum"):
        if keyword in shown:
            work.note((), f"{keyword} left out", "providers take none at the top")
            del shown[keyword]
    shown["type"] = "OBJECT" if rules.upper_types else "object"
    shown.setdefault("properties", {})
    return Rewritten(schema=shown, plan=plan, rewrites=tuple(work.rewrites))


class _Work:
    """One rewriting: the document, the rules, and what was changed so far."""

    def __init__(
        self, root: dict[str, Any], rules: SchemaRules, property_pattern: str | None
    ) -> None:
        self._root = root
        self._rules = rules
        self._names = None if property_pattern is None else re.compile(property_pattern)
        self._parts = 0
        self._properties = 0
        self._enum_values = 0
        self._chars = 0
        dialect = dialect_of(root)
        self._lone_ref = dialect is not None and dialect.lone_ref
        self.rewrites: list[Rewrite] = []

    def note(self, path: Path, what: str, why: str) -> None:
        """Keep one change for the report."""
        if len(self.rewrites) < MAX_REWRITES:
            self.rewrites.append(Rewrite(path=pointer(path), what=what, why=why))

    def cannot(self, path: Path, what: str) -> None:
        """Give up where the rules are strict; else note what is not shown."""
        if self._rules.strict:
            raise Inexpressible(path, what)
        self.note(path, f"shown without: {what}", "the provider cannot express it")

    def value(
        self, schema: Any, path: Path, *, depth: int, seen: tuple[str, ...]
    ) -> tuple[dict[str, Any], Plan]:
        """Rewrite one part."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            self.cannot(path, f"what follows {MAX_PARTS} parts")
            return {}, NOTHING
        if schema is False:
            self.cannot(path, "a place where nothing fits")
        if not isinstance(schema, dict):
            schema = {}
        moved: dict[str, Any] = {}
        flattened = self._flat(schema, path, seen, moved)
        if flattened is None:
            return {}, NOTHING
        made, seen = flattened
        shown, plan = self._alternatives(made, path, depth, seen, moved)
        if shown is None:
            shown, plan = self._plain(made, path, depth, seen, moved)
        self._describe(shown, made, path, moved)
        return shown, plan

    def _flat(
        self, schema: dict[str, Any], path: Path, seen: tuple[str, ...], moved: dict[str, Any]
    ) -> tuple[dict[str, Any], tuple[str, ...]] | None:
        if "$ref" not in schema and "allOf" not in schema:
            return schema, seen
        if self._lone_ref and "$ref" in schema:
            schema = {k: v for k, v in schema.items() if k in ("$ref", "description", "default")}
        try:
            made, seen = flat(self._root, schema, seen, moved.__setitem__)
        except Recursive:
            self.cannot(path, "a schema that holds itself")
            return None
        except Unresolved:
            self.cannot(path, "a reference that is not followed here")
            return None
        self.note(path, "references and allOf put together", "providers take few of them")
        return made, seen

    def _alternatives(
        self,
        made: dict[str, Any],
        path: Path,
        depth: int,
        seen: tuple[str, ...],
        moved: dict[str, Any],
    ) -> tuple[dict[str, Any] | None, Plan]:
        """Rewrite ``anyOf`` and ``oneOf``; ``None`` where there are none to be shown."""
        word = next((w for w in ("anyOf", "oneOf") if isinstance(made.get(w), list)), None)
        if word is None:
            return None, NOTHING
        if word == "anyOf" and "oneOf" in made:
            moved["oneOf"] = made["oneOf"]
        if not path or "properties" in made or "enum" in made or "const" in made:
            # What stands beside alternatives says more than they do.
            moved[word] = made[word]
            return None, NOTHING
        beside = {k: v for k, v in made.items() if k in ("type", "items", "required")}
        shown, plans = [], []
        for at, branch in enumerate(made[word]):
            inner = (
                {**beside, **branch}
                if isinstance(branch, dict) and "$ref" not in branch
                else branch
            )
            part, plan = self.value(inner, (*path, word, at), depth=depth, seen=seen)
            shown.append(part)
            plans.append(plan)
        if word == "oneOf":
            self.note(path, "oneOf shown as anyOf", "providers take anyOf alone")
        checks = ALL_KEYWORDS - ANNOTATIONS - _STRUCTURE
        moved.update({keyword: held for keyword, held in made.items() if keyword in checks})
        return self._joined(shown, path), self._chosen(shown, plans, path)

    def _joined(self, shown: list[dict[str, Any]], path: Path) -> dict[str, Any]:
        if self._rules.nullable is Nullable.TYPE:
            return {"anyOf": shown}
        some = [each for each in shown if each != {"nullable": True}]
        made: dict[str, Any] = dict(some[0]) if len(some) == 1 else {"anyOf": some}
        if not some:
            made = {}
        if len(some) < len(shown):
            made["nullable"] = True
            self.note(path, "null shown as nullable", "the provider has no type null")
        return made

    def _chosen(self, shown: list[dict[str, Any]], plans: list[Plan], path: Path) -> Plan:
        """Return the one plan of alternatives; which of several holds could only be guessed."""
        if not any(plan.drops for plan in plans):
            return union(plans)
        merged = NOTHING
        for kind in ("object", "array"):
            of_kind = [i for i, part in enumerate(shown) if kind in _types(part)]
            if any(not plans[i].trivial for i in of_kind) and len(of_kind) > 1:
                raise Inexpressible(path, f"several alternatives that are an {kind}")
            for i in of_kind:
                merged = merged if plans[i].trivial else plans[i]
        return merged

    def _plain(
        self,
        made: dict[str, Any],
        path: Path,
        depth: int,
        seen: tuple[str, ...],
        moved: dict[str, Any],
    ) -> tuple[dict[str, Any], Plan]:
        shown: dict[str, Any] = {}
        values = self._enum(made, path, moved)
        types = self._types_of(made, values, path)
        if values is not None:
            shown["enum"] = values
        plan = NOTHING
        if "object" in types:
            plan = self._object(made, shown, path, depth, seen)
        if "array" in types:
            items = self._items(made, shown, path, depth, seen)
            plan = _with_items(plan, items)
        self._keywords(made, shown, moved)
        return self._typed(shown, types), plan

    def _types_of(self, made: dict[str, Any], values: list[Any] | None, path: Path) -> list[str]:
        given = made.get("type")
        types = [given] if isinstance(given, str) else list(given or ())
        if not types and values is not None:
            types = list(dict.fromkeys(map(_kind, values)))
        if not types:
            types = list(dict.fromkeys(_HINTS[k] for k in made if k in _HINTS))[:1]
        if not types:
            self.cannot(path, "a value of any kind")
        return types

    def _typed(self, shown: dict[str, Any], types: list[str]) -> dict[str, Any]:
        rules = self._rules
        if rules.nullable is Nullable.KEYWORD and "null" in types:
            types = [each for each in types if each != "null"]
            shown["nullable"] = True
        words = [each.upper() for each in types] if rules.upper_types else types
        if len(words) == 1:
            return {"type": words[0], **shown}
        if not words:
            return shown
        if rules.nullable is Nullable.TYPE:
            return {"type": words, **shown}
        rest = {k: shown.pop(k) for k in ("properties", "required", "items", "enum") if k in shown}
        branches = []
        own: dict[str, tuple[str, ...]] = {
            "object": ("properties", "required"),
            "array": ("items",),
            "string": ("enum",),
        }
        for kind, word in zip(types, words, strict=True):
            parts: dict[str, Any] = {k: rest[k] for k in own.get(kind, ()) if k in rest}
            branches.append({"type": word, **parts})
        return {**shown, "anyOf": branches}

    def _enum(self, made: dict[str, Any], path: Path, moved: dict[str, Any]) -> list[Any] | None:
        if "const" not in made and "enum" not in made:
            return None
        values = [made["const"]] if "const" in made else list(made["enum"])
        if any(isinstance(each, (dict, list)) for each in values):
            self.cannot(path, "objects or lists among the values of an enum")
            return None
        self._enum_values += len(values)
        if self._enum_values > self._rules.max_enum_values:
            self.cannot(path, f"more than {self._rules.max_enum_values} values of enums")
            return None
        texts = [each for each in values if type(each) is str]
        chars, most = sum(map(len, texts)), self._rules.max_long_enum_chars
        if most is not None and chars > most and len(texts) > self._rules.long_enum_values:
            self.cannot(path, f"an enum of {len(texts)} values with more than {most} characters")
        self._count(chars, path)
        if self._rules.string_enums and not all(
            each is None or type(each) is str for each in values
        ):
            moved["enum"] = values
            return None
        if self._rules.string_enums:
            values = [each for each in values if each is not None]
        if "const" in made:
            self.note(path, "const shown as enum", "it says the same, and every provider takes it")
        return values

    def _object(
        self,
        made: dict[str, Any],
        shown: dict[str, Any],
        path: Path,
        depth: int,
        seen: tuple[str, ...],
    ) -> Plan:
        rules = self._rules
        if depth >= rules.max_depth:
            self.cannot(path, f"objects more than {rules.max_depth} deep")
            return NOTHING
        properties = made.get("properties") or {}
        self._openness(made, properties, path)
        self._properties += len(properties)
        self._count(sum(map(len, properties)), path)
        if self._properties > rules.max_properties:
            self.cannot(path, f"more than {rules.max_properties} properties")
            return NOTHING
        needed = [name for name in made.get("required") or () if name in properties]
        if len(needed) < len(made.get("required") or ()):
            self.cannot(path, "a required property that is not described")
        names, drop, plans, parts = {}, set(), {}, {}
        for own, schema in properties.items():
            at = (*path, "properties", own)
            name = self._name(own, at)
            part, plan = self.value(schema, at, depth=depth + 1, seen=seen)
            if own != name:
                names[name] = own
            if rules.all_required and own not in needed:
                part = self._optional(part, schema, at)
                drop.add(name)
            if not plan.trivial:
                plans[name] = plan
            parts[name] = part
        shown["properties"] = parts
        back = {own: name for name, own in names.items()}
        listed = list(parts) if rules.all_required else [back.get(n, n) for n in needed]
        if listed or rules.all_required:
            shown["required"] = listed
        if rules.closed:
            shown["additionalProperties"] = False
        return Plan(drop=frozenset(drop), names=names, properties=plans)

    def _count(self, chars: int, path: Path) -> None:
        self._chars += chars
        most = self._rules.max_text_chars
        if most is not None and self._chars > most:
            self.cannot(path, f"more than {most} characters in names and values")

    def _openness(self, made: dict[str, Any], properties: dict[str, Any], path: Path) -> None:
        more = made.get("additionalProperties", True)
        if made.get("patternProperties"):
            self.cannot(path, "properties by pattern")
        elif isinstance(more, dict) and more:
            self.cannot(path, "further properties of any name")
        elif more is not False and not properties and self._rules.closed:
            self.cannot(path, "an object of any properties")
        elif more is not False and self._rules.closed:
            self.note(path, "closed", "strict mode takes closed objects alone")

    def _name(self, own: str, path: Path) -> str:
        if self._names is None or self._names.fullmatch(own):
            return own
        digest = sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        stem = re.sub(r"[^A-Za-z0-9_]+", "_", own).strip("_")[:40]
        stem = stem if stem[:1].isalpha() else f"p_{stem}".rstrip("_")
        name = f"{stem}_{digest}"
        self.note(path, f"shown as {name}", "the provider does not take the name")
        return name

    def _optional(self, part: dict[str, Any], schema: Any, path: Path) -> dict[str, Any]:
        """Let null stand for "left out", where it does not stand for anything else."""
        if _takes_null(part):
            default = schema.get("default", ...) if isinstance(schema, dict) else ...
            if default is not None:
                raise Inexpressible(path, "it may be left out and may be null, two things")
            self.note(path, "required", "null, its default, stands for leaving it out")
            return part
        self.note(path, "required and nullable", "null stands for leaving it out")
        made = dict(part)
        if "anyOf" in made:
            made["anyOf"] = [*made["anyOf"], {"type": "null"}]
            return made
        types = made["type"]
        made["type"] = [*([types] if isinstance(types, str) else types), "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
        return made

    def _items(
        self,
        made: dict[str, Any],
        shown: dict[str, Any],
        path: Path,
        depth: int,
        seen: tuple[str, ...],
    ) -> Plan:
        items = made.get("items", True)
        if isinstance(items, list) or "prefixItems" in made:
            self.cannot(path, "a list whose places differ")
            items = {}
        elif items is True:
            items = {}
        part, plan = self.value(items, (*path, "items"), depth=depth, seen=seen)
        shown["items"] = part
        return plan

    def _keywords(self, made: dict[str, Any], shown: dict[str, Any], moved: dict[str, Any]) -> None:
        rules = self._rules
        form = made.get("format")
        if form is not None and (rules.formats is None or form in rules.formats):
            shown["format"] = form
        elif form is not None:
            moved["format"] = form
        for keyword, held in made.items():
            if keyword in _STRUCTURE or keyword in shown:
                continue
            # Up to draft 4 these are true or false, which says something else.
            odd = keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(held, bool)
            if keyword in rules.keywords and not odd:
                shown[keyword] = held
            elif keyword == "default" or (keyword in ALL_KEYWORDS and keyword not in ANNOTATIONS):
                moved[keyword] = held

    def _describe(
        self, shown: dict[str, Any], made: dict[str, Any], path: Path, moved: dict[str, Any]
    ) -> None:
        text = made.get("description")
        text = cleaned(text, MAX_TEXT) if isinstance(text, str) else ""
        said = []
        for keyword, held in moved.items():
            if keyword == "default" and held is None:
                continue
            said.append(cleaned(f"{keyword}: {_json(held)}", MAX_MOVED))
            self.note(path, f"{keyword} moved to the description", "the provider does not take it")
        if said:
            text = f"{text} ({'; '.join(said)})" if text else f"({'; '.join(said)})"
        # The text of the whole is the tool's own description.
        if text and (path or said):
            shown["description"] = cleaned(text, MAX_TEXT + MAX_MOVED)


def _with_items(plan: Plan, items: Plan) -> Plan:
    if items.trivial:
        return plan
    return Plan(drop=plan.drop, names=plan.names, properties=plan.properties, items=items)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else "number"


def _types(part: dict[str, Any]) -> set[str]:
    """Return the types that a shown part may have."""
    given = part.get("type")
    if "anyOf" in part:
        return set().union(*map(_types, part["anyOf"]))
    if given is None:
        return set(_ALL_TYPES)
    words = [given] if isinstance(given, str) else given
    return {word.lower() for word in words}


def _takes_null(part: dict[str, Any]) -> bool:
    if "anyOf" in part:
        return any(map(_takes_null, part["anyOf"]))
    return "null" in _types(part) and ("enum" not in part or None in part["enum"])
