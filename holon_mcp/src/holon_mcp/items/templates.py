"""URI templates of resources (RFC 6570, without modifiers): their variables, and expansion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_PART = re.compile(r"\{([^{}]*)\}")
_NAMES = re.compile(r"[A-Za-z0-9_.%]+(?:,[A-Za-z0-9_.%]+)*\*?")
_OPERATORS = "+#./;?&"
# Operator: what stands before the first value, between values, and whether names are written.
_RULES: Mapping[str, tuple[str, str, bool]] = {
    "": ("", ",", False),
    "+": ("", ",", False),
    "#": ("#", ",", False),
    ".": (".", ".", False),
    "/": ("/", "/", False),
    ";": (";", ";", True),
    "?": ("?", "&", True),
    "&": ("&", "&", True),
}
_RESERVED = ":/?#[]@!$&'()*+,;="


def variables(template: str) -> tuple[str, ...] | None:
    """Return the variables of a template in order; ``None`` where it cannot be read."""
    found: dict[str, None] = {}
    if "{" in _PART.sub("", template) or "}" in _PART.sub("", template):
        return None
    for expression in _PART.findall(template):
        _, names = _split(expression)
        if not _NAMES.fullmatch(names):
            return None
        found.update(dict.fromkeys(names.rstrip("*").split(",")))
    return tuple(found)


def expanded(template: str, values: Mapping[str, Any]) -> str:
    """Put values in the place of variables; those without a value are left out."""

    def put(found: re.Match[str]) -> str:
        operator, names = _split(found[1])
        first, between, named = _RULES[operator]
        safe = _RESERVED if operator in ("+", "#") else ""
        parts = []
        for name in names.rstrip("*").split(","):
            if name in values:
                text = quote(str(values[name]), safe=safe)
                parts.append(f"{name}={text}" if named else text)
        return first + between.join(parts) if parts else ""

    return _PART.sub(put, template)


def _split(expression: str) -> tuple[str, str]:
    if expression[:1] and expression[0] in _OPERATORS:
        return expression[0], expression[1:]
    return "", expression
