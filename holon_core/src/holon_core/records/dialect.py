"""Dialects of function calling as data: how a provider writes tools, calls and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.words import Word


class Nullable(Word):
    """How a dialect says that a value may be null."""

    TYPE = "type"
    KEYWORD = "keyword"


@frozen(kw_only=True)
class SchemaRules:
    """What a provider takes of JSON Schema.

    ``keywords`` are those that stay; any other that checks something moves to the description.
    ``formats`` are those of ``format``; ``None`` for all. ``as_is`` shows a schema as it stands,
    but for its top and its texts. ``strict`` rules refuse what they can't express, others leave
    it out. Limits count one schema: ``max_text_chars`` the names of properties and the values of
    enums, ``max_long_enum_chars`` the values of an enum that has more than ``long_enum_values``.
    """

    keywords: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    as_is: bool = False
    strict: bool = False
    all_required: bool = False
    closed: bool = False
    nullable: Nullable = Nullable.TYPE
    string_enums: bool = False
    upper_types: bool = False
    max_depth: int = 100
    max_properties: int = 5000
    max_enum_values: int = 1000
    max_text_chars: int | None = None
    long_enum_values: int = 250
    max_long_enum_chars: int | None = None


@frozen(kw_only=True)
class FunctionDialect:
    """One provider's shapes, as data.

    In the templates ``tool``, ``result`` and ``response_format`` a text ``$name`` stands for a
    value, which keeps its type; a member whose value is absent is left out. ``tool`` knows
    ``$name``, ``$description``, ``$schema``, ``$output_schema``, ``$strict``, ``$title`` and
    ``$annotations``; ``result`` knows ``$id``, ``$name``, ``$text``, ``$failed``, ``$value``
    (the answer under ``output`` or ``error``), ``$structured`` (an answer that is an object, and
    whole) and ``$unfinished`` (failed, held, or an object that was cut).
    A call is of this dialect where every member of ``call_marks`` has that value and
    ``call_name`` leads to a text; ``call_name``, ``call_arguments`` and ``call_id`` are paths.
    ``max_strict_tools``, ``max_strict_optional`` and ``max_strict_unions`` limit one request: how
    many tools are strict, and how many properties of theirs may be left out or have several types.
    """

    id: str
    tool: Mapping[str, Any] = field(repr=False)
    result: Mapping[str, Any] = field(repr=False)
    call_marks: Mapping[str, str] = field(factory=dict, repr=False)
    call_name: tuple[str, ...]
    call_arguments: tuple[str, ...]
    call_id: tuple[str, ...] = ()
    loose: SchemaRules
    strict: SchemaRules | None = None
    response_format: Mapping[str, Any] | None = field(default=None, repr=False)
    # Whether a response format may be asked for without strict mode.
    lax_format: bool = False
    property_pattern: str | None = None
    max_description: int = 1024
    max_tools: int | None = None
    max_strict_tools: int | None = None
    max_strict_optional: int | None = None
    max_strict_unions: int | None = None


@frozen(kw_only=True)
class Rewrite:
    """One thing that a projection changed in a schema: where (JSON pointer), what, and why."""

    path: str
    what: str
    why: str


@frozen(kw_only=True)
class ProjectedTool:
    """What a projection says of one tool, for people."""

    id: str
    name: str
    digest: str
    strict: bool
    rewrites: tuple[Rewrite, ...] = ()
    notes: tuple[str, ...] = ()
    chars: int = 0

    @property
    def estimated_tokens(self) -> int:
        """A quarter of its characters as compact JSON, rounded up."""
        return -(-self.chars // 4)
