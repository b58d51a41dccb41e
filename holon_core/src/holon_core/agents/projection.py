"""Projection: tools of the catalogue in the shape of a provider, the same in every process."""

from __future__ import annotations

import json
import marshal
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.agents.budgeting import FREE, cost_of
from holon_core.agents.mapping import NOTHING, Plan
from holon_core.agents.names import SEARCH, id_of, name_of
from holon_core.agents.rewriting import Inexpressible, rewrite
from holon_core.agents.searching import SEARCH_DESCRIPTION, SEARCH_SCHEMA
from holon_core.agents.shapes import filled
from holon_core.agents.texts import cleaned
from holon_core.records.dialect import FunctionDialect, ProjectedTool, Rewrite
from holon_core.records.words import READ_ONLY, Effect
from holon_core.wire.converter import unstructure

if TYPE_CHECKING:
    from holon_core.catalogue.catalogue import Entry
    from holon_core.guard.guard import Guard
    from holon_core.records.tool import RuntimeToolDescriptor

MAX_KEPT = 20_000
# The store's revision of the catalogue, and what moves in this process alone.
Moment = tuple[int, tuple[int, int]]
_NETWORK = frozenset({Effect.NETWORK_READ, Effect.NETWORK_WRITE})
_NOT_AT_TOP = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
# Where values stand, and no schemas.
_VALUES = ("enum", "const", "default", "examples", "example", "required")


@frozen(kw_only=True)
class Rendered:
    """One tool in one dialect: what is shown, what there is to know of it, and the way back.

    All of it is numbers, texts and bytes, to be unpacked where they are needed: thousands are
    kept, and each object in them would be looked at by every collection of garbage.
    """

    id: str
    name: str
    digest: str
    strict: bool
    chars: int
    optional: int
    unions: int
    shown: bytes
    said: bytes
    back: bytes

    def fresh(self) -> dict[str, Any]:
        """Return what is shown, as a copy of the caller's own."""
        made: dict[str, Any] = marshal.loads(self.shown)  # noqa: S302 - packed by this process
        return made

    @property
    def plan(self) -> Plan:
        """The way back from arguments in this form."""
        return Plan.of(marshal.loads(self.back))  # noqa: S302 - packed by this process

    def about(self, *notes: str) -> ProjectedTool:
        """Say what there is to know of it.

        Args:
            notes: On this one list, beside those of every list.
        """
        rewrites, more = marshal.loads(self.said)  # noqa: S302 - packed by this process
        return ProjectedTool(
            id=self.id,
            name=self.name,
            digest=self.digest,
            strict=self.strict,
            rewrites=tuple(Rewrite(path=path, what=what, why=why) for path, what, why in rewrites),
            notes=(*more, *notes),
            chars=self.chars,
        )


@frozen
class Shown:
    """An input schema as a provider is shown it."""

    schema: dict[str, Any]
    plan: Plan
    strict: bool
    rewrites: tuple[Rewrite, ...]
    notes: tuple[str, ...] = ()


def shown_schema(schema: Mapping[str, Any], dialect: FunctionDialect, *, strict: bool) -> Shown:
    """Show a schema in a dialect: strictly where that is wanted and possible.

    Args:
        schema: An admitted schema of type object.
        dialect: The provider.
        strict: Try its strict mode.
    """
    given, pattern = dict(schema), dialect.property_pattern
    notes: tuple[str, ...] = ()
    if strict and dialect.strict is not None:
        try:
            done = rewrite(given, dialect.strict, property_pattern=pattern)
            return Shown(done.schema, done.plan, True, done.rewrites)
        except Inexpressible as error:
            notes = (f"not strict: {error.what} at {error.path or '/'}",)
    if dialect.loose.as_is:
        made, rewrites = _as_is(given, dialect)
        if pattern is None or _names_fit(given, pattern):
            return Shown(made, NOTHING, False, rewrites, notes)
    done = rewrite(given, dialect.loose, property_pattern=pattern)
    return Shown(done.schema, done.plan, False, done.rewrites, notes)


def _names_fit(schema: Any, pattern: str) -> bool:
    import re

    if isinstance(schema, list):
        return all(_names_fit(each, pattern) for each in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        if not all(re.fullmatch(pattern, name) for name in properties):
            return False
        if not all(_names_fit(each, pattern) for each in properties.values()):
            return False
    return all(
        _names_fit(held, pattern)
        for keyword, held in schema.items()
        if keyword not in _VALUES and keyword != "properties"
    )


def _as_is(
    schema: dict[str, Any], dialect: FunctionDialect
) -> tuple[dict[str, Any], tuple[Rewrite, ...]]:
    """Show a schema as it stands, but for its top, its comments, and texts that are cleaned."""
    made = _clean(schema)
    rewrites = []
    if dialect.id != "mcp":
        made.pop("$schema", None)
        for keyword in _NOT_AT_TOP:
            if keyword in made:
                del made[keyword]
                why = "providers take none at the top"
                rewrites.append(Rewrite(path="", what=f"{keyword} left out", why=why))
    made["type"] = "object"
    made.setdefault("properties", {})
    made.pop("description", None)
    return made, tuple(rewrites)


def _clean(schema: Any, *, names: bool = False) -> Any:
    if isinstance(schema, list):
        return [_clean(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for keyword, held in schema.items():
        if names:
            made[keyword] = _clean(held)
        elif keyword in ("description", "title") and isinstance(held, str):
            made[keyword] = cleaned(held, 1024)
        elif keyword in _VALUES:
            made[keyword] = held
        elif keyword != "$comment" and not keyword.startswith("x-"):
            inner = keyword in ("properties", "patternProperties", "$defs", "definitions")
            made[keyword] = _clean(held, names=inner or keyword == "dependentSchemas")
    return made


def render(tool: RuntimeToolDescriptor, dialect: FunctionDialect, *, strict: bool) -> Rendered:
    """Show one tool in a dialect."""
    shown = shown_schema(tool.input_schema, dialect, strict=strict)
    values: dict[str, Any] = {
        "name": name_of(tool.id),
        "description": cleaned(tool.description, dialect.max_description),
        "schema": shown.schema,
        "annotations": _annotations(tool),
    }
    if tool.title:
        values["title"] = cleaned(tool.title, 200)
    output = tool.output_schema
    if isinstance(output, Mapping) and output.get("type") == "object":
        values["output_schema"] = _clean(dict(output))
    return _packed(shown, values, dialect, tool_id=tool.id, digest=tool.digest)


def render_search(dialect: FunctionDialect, *, strict: bool) -> Rendered:
    """Show ``search_tools`` in a dialect."""
    shown = shown_schema(SEARCH_SCHEMA, dialect, strict=strict)
    values = {
        "name": SEARCH,
        "description": SEARCH_DESCRIPTION,
        "schema": shown.schema,
        "annotations": {"readOnlyHint": True},
    }
    return _packed(shown, values, dialect, tool_id=SEARCH, digest="")


def _packed(
    shown: Shown, values: dict[str, Any], dialect: FunctionDialect, *, tool_id: str, digest: str
) -> Rendered:
    if dialect.strict is not None:
        values["strict"] = shown.strict
    made = unstructure(filled(dialect.tool, values))
    cost = cost_of(shown.schema) if shown.strict else FREE
    rewrites = [(each.path, each.what, each.why) for each in shown.rewrites]
    return Rendered(
        id=tool_id,
        name=values["name"],
        digest=digest,
        strict=shown.strict,
        chars=len(json.dumps(made, ensure_ascii=False, separators=(",", ":"))),
        optional=cost.optional,
        unions=cost.unions,
        shown=marshal.dumps(made),
        said=marshal.dumps((rewrites, shown.notes)),
        back=marshal.dumps(shown.plan.packed()),
    )


def _annotations(tool: RuntimeToolDescriptor) -> dict[str, bool]:
    reads = tool.effects <= READ_ONLY
    return {
        "readOnlyHint": reads,
        "destructiveHint": Effect.DESTRUCTIVE in tool.effects,
        "idempotentHint": reads or tool.idempotent,
        "openWorldHint": bool(tool.effects & _NETWORK),
    }


class Projector:
    """Projects the tools of one runtime; what it rendered is kept by definition.

    Args:
        guard: The parts of the runtime.
        dialects: The core's and those of plugins.
    """

    def __init__(self, guard: Guard, dialects: Mapping[str, FunctionDialect]) -> None:
        self.dialects = dialects
        self._guard = guard
        self._kept: OrderedDict[tuple[str, str, str, bool], Rendered] = OrderedDict()
        self._lock = threading.Lock()
        self._seen: tuple[Moment, tuple[Entry, ...]] | None = None
        self._named: tuple[Moment, dict[str, str]] | None = None
        self._apart: tuple[Moment, tuple[Entry, ...]] | None = None

    def rendered(self, entry: Entry, dialect: FunctionDialect, *, strict: bool) -> Rendered:
        """Return one tool in a dialect."""
        key = (entry.tool.id, entry.tool.digest, dialect.id, strict)
        found = self._kept.get(key)
        if found is None:
            found = render(entry.tool, dialect, strict=strict)
            with self._lock:
                self._kept[key] = found
                if len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
        return found

    def search(self, dialect: FunctionDialect, *, strict: bool) -> Rendered:
        """Return the function by which a model finds further tools, in a dialect."""
        key = (SEARCH, "", dialect.id, strict)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = render_search(dialect, strict=strict)
        return found

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries of the catalogue by id, as they are now."""
        guard = self._guard
        guard.learn(guard.revision)
        moment = (guard.revision, guard.catalogue.moment)
        seen = self._seen
        if seen is not None and seen[0] == moment:
            return seen[1]
        found: list[Entry] = []
        page = guard.catalogue.page(limit=1000)
        while page:
            found += page
            page = guard.catalogue.page(after=page[-1].tool.id, limit=1000)
        made = tuple(found)
        self._seen = (moment, made)
        return made

    def resolve(self, name: str) -> str | None:
        """Return the id of a tool by its name for models; ``None`` where none has it."""
        read = id_of(name)
        if read is not None:
            return read if self._guard.catalogue.get(read) is not None else None
        return self._names().get(name)

    def _names(self) -> dict[str, str]:
        entries = self.entries()
        assert self._seen is not None
        moment, named = self._seen[0], self._named
        if named is not None and named[0] == moment:
            return named[1]
        made: dict[str, str] = {}
        clashing: set[str] = set()
        for entry in entries:
            name = name_of(entry.tool.id)
            if made.setdefault(name, entry.tool.id) != entry.tool.id:
                clashing.add(name)
        # Of two that share a name, which only a collision of digests makes, neither has it.
        made = {name: each for name, each in made.items() if name not in clashing}
        self._named = (moment, made)
        return made

    def unclashed(self) -> tuple[Entry, ...]:
        """Return the entries that have a name of their own, by id."""
        entries = self.entries()
        assert self._seen is not None
        moment, apart = self._seen[0], self._apart
        if apart is not None and apart[0] == moment:
            return apart[1]
        names = self._names()
        made = tuple(each for each in entries if names.get(name_of(each.tool.id)) == each.tool.id)
        self._apart = (moment, made)
        return made
