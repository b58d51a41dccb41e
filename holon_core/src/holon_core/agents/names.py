"""Names of tools for models: valid for every provider, and a function of the id alone.

No name depends on which other tools there are, so none moves when one is added, and none can be
taken by another: each form below is recognised by itself.

- ``workspace-glob``: a built-in of Holon's own; it holds a hyphen.
- ``refund``: a function of the host, of letters, digits and single underscores.
- ``acme-text__upper``: any other whose id can be read back from it; ``.`` of the source is ``_``.
- ``acme__get_user__9f86d081e4``: the rest, cut and cleaned, with a digest of the id.
"""

from __future__ import annotations

import re
from hashlib import sha256

MAX_NAME = 64
VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# Names of Holon's own functions for models; no tool has one.
SEARCH = "search_tools"
RESERVED = frozenset({SEARCH})

_BUILT_IN = "holon.built-in."
_HYPHENED = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
_SOURCE = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*")
_CAPABILITY = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_OTHER = re.compile(r"[^A-Za-z0-9-]+")
_DIGEST_CHARS = 10


def name_of(tool_id: str) -> str:
    """Return the name that models see of a tool.

    Args:
        tool_id: ``<source id>/<capability id>``.

    Returns:
        At most 64 characters of ``A-Z a-z 0-9 _ -``, the first a letter; the same in every
        process and beside any other tools.
    """
    source, _, capability = tool_id.partition("/")
    if source.startswith(_BUILT_IN) and _HYPHENED.fullmatch(capability):
        if len(capability) <= MAX_NAME:
            return capability
    elif source.startswith("host.") and _is_plain(capability):
        return capability
    elif _SOURCE.fullmatch(source) and _CAPABILITY.fullmatch(capability):
        name = f"{source.replace('.', '_')}__{capability}"
        if len(name) <= MAX_NAME:
            return name
    return _marked(tool_id, source, capability)


def id_of(name: str) -> str | None:
    """Read an id back from a name of the form ``source__capability``; ``None`` for others."""
    source, found, capability = name.partition("__")
    tool_id = f"{source.replace('_', '.')}/{capability}"
    return tool_id if found and name_of(tool_id) == name else None


def _is_plain(capability: str) -> bool:
    return (
        len(capability) <= MAX_NAME
        and capability not in RESERVED
        and _PLAIN.fullmatch(capability) is not None
    )


def _marked(tool_id: str, source: str, capability: str) -> str:
    """Make a name that carries a digest of the id behind a second double underscore."""
    digest = sha256(tool_id.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    first, second = (_OTHER.sub("_", part).strip("_") for part in (source, capability))
    if not first[:1].isalpha():
        first = f"t_{first}"
    room = MAX_NAME - _DIGEST_CHARS - 4
    first = first[: room // 2].rstrip("_") or "t"
    second = second[: room - len(first)].strip("_") or "tool"
    return f"{first}__{second}__{digest}"
