"""A document as it is walked: its version, and references within it alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from holon_adapters.openapi.reading import rejected

MAX_HOPS = 32


class Unresolved(Exception):
    """A reference that cannot be followed; ``code`` is a word of findings."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


class Document:
    """An OpenAPI document of version 3.0 or 3.1.

    Args:
        data: JSON.

    Raises:
        Rejected: It is of another kind or version.
    """

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise rejected("an OpenAPI document is an object")
        version = data.get("openapi")
        if "swagger" in data:
            raise rejected("Swagger 2.0 is not read; convert it to OpenAPI 3", "/swagger")
        if not isinstance(version, str) or version[:4] not in ("3.0.", "3.1."):
            raise rejected("openapi is no version of 3.0 or 3.1", "/openapi")
        self.data = data
        self.is_30 = version.startswith("3.0.")
        if not isinstance(data.get("paths", {}), dict):
            raise rejected("paths is no object", "/paths")

    def at(self, ref: Any) -> Any:
        """Return what a reference points at.

        Raises:
            Unresolved: It leads outside the document, or to nothing.
        """
        if not isinstance(ref, str):
            raise Unresolved("unresolved_ref", "a $ref is a text")
        if not ref.startswith("#"):
            raise Unresolved("schema_remote_ref", f"the $ref {ref!r:.120} leaves the document")
        found: Any = self.data
        for part in unquote(ref[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                raise Unresolved("unresolved_ref", f"the $ref {ref!r:.120} points at nothing")
        return found

    def resolved(self, value: Any) -> dict[str, Any]:
        """Return an object, or the one that its reference leads to.

        Raises:
            Unresolved: It is no object, or its references lead nowhere or in a ring.
        """
        for _ in range(MAX_HOPS):
            if not isinstance(value, dict):
                raise Unresolved("record_invalid", "an object is wanted")
            if "$ref" not in value:
                return value
            value = self.at(value["$ref"])
        raise Unresolved("unresolved_ref", "the references lead in a ring")


def objects(value: Any) -> dict[str, Any]:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a text as it is, and an empty one for anything else."""
    return value if isinstance(value, str) else ""
