"""Values from the command line: JSON, files, standard input, KEY=VALUE pairs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_core.errors import JsonRefused

MAX_TEXT_BYTES = 1_048_576


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    # Before click 8.2 it takes no type argument.
    _ParamType = click.ParamType


class JsonParam(_ParamType):
    """A JSON value: written out, ``@FILE``, or ``-`` for standard input."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it strictly; what is no JSON is a usage error."""
        if not isinstance(value, str):
            return value
        text = self._text(value, param, ctx)
        try:
            read = parsed(text)
        except JsonRefused as error:
            self.fail(f"not strict JSON: {error}", param, ctx)
        if read is None:
            self.fail("null is not given: leave the option out", param, ctx)
        return read

    def _text(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | str:
        if value == "-":
            return sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        if not value.startswith("@"):
            return value
        try:
            with Path(value[1:]).open("rb") as file:
                return file.read(MAX_TEXT_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self.fail(f"cannot read {value[1:]}: {reason}", param, ctx)


class JsonFile(JsonParam):
    """A JSON document: the name of its file, or ``-`` for standard input."""

    name = "json-file"

    def _text(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | str:
        return super()._text(value if value == "-" else f"@{value}", param, ctx)


def parsed(text: bytes | str) -> Any:
    """Read strict JSON.

    Raises:
        JsonRefused: See ``holon_core.wire.strict_json.parse``.
    """
    from holon_core.wire.strict_json import parse

    return parse(text, max_bytes=MAX_TEXT_BYTES)


def pairs(given: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` and ``KEY:=JSON``.

    ``KEY=VALUE`` is text where the tool's schema says string; else JSON where it reads as
    JSON; else text. ``KEY:=JSON`` is JSON whatever the schema says.

    Args:
        given: The words of the command line.
        schema: The tool's input schema; empty where the tool is not known.

    Raises:
        click.UsageError: A word is neither, a key comes twice, or JSON is refused.
    """
    made: dict[str, Any] = {}
    for word in given:
        key, sign, text = word.partition("=")
        as_json = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            raise click.UsageError(f"{word!r} is not KEY=VALUE (or KEY:=JSON)")
        if key in made:
            raise click.UsageError(f"{key} is given twice")
        made[key] = _json_of(key, text) if as_json else _value(text, _kind_of(schema, key))
    return made


def _json_of(key: str, text: str) -> Any:
    try:
        return parsed(text)
    except JsonRefused as error:
        raise click.UsageError(f"{key}:= is not strict JSON: {error}") from None


def _kind_of(schema: Mapping[str, Any], key: str) -> Any:
    found = (schema.get("properties") or {}).get(key)
    if not isinstance(found, Mapping):
        return None
    if "enum" in found and all(isinstance(word, str) for word in found["enum"]):
        return "string"
    return found.get("type")


def _value(text: str, kind: Any) -> Any:
    if kind == "string":
        return text
    try:
        return parsed(text)
    except JsonRefused:
        return text
