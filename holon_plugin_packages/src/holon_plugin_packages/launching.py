"""What is kept of how an MCP server is started: names and coordinates, and no value.

A token may stand anywhere in a command line, and looks like any other word. So a word is kept
where it is known for what it is, and any other is left out: nothing here starts a server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from elegy_contracts.portable import plain_url
from holon_core.records.finding import Finding
from holon_plugin_packages.checking import finding

LEFT_OUT = "(left out)"
_MEMBERS = ("command", "arguments", "url")
# Their first word that is no option names a package; the last are registries and kinds of images.
_LAUNCHERS = frozenset(
    {"npx", "bunx", "pnpx", "uvx", "npm", "pypi", "nuget", "oci", "mcpb", "image", "package"}
)
_YES = frozenset({"-y", "--yes", "-q", "--quiet"})
_COORDINATE = re.compile(
    r"@?[A-Za-z0-9][\w.-]{0,100}(/[\w.-]{1,100}){0,3}(:[\w.-]{1,60})?(@[\w.^~+-]{0,60})?"
)
_OPTION = re.compile(r"-[A-Za-z]|--[A-Za-z][A-Za-z0-9-]{0,60}|--?")
_WITH_VALUE = re.compile(r"(--[A-Za-z][A-Za-z0-9-]{0,60}=).+", re.DOTALL)
_NAME = r"\$\{(?:(?:input|env|user_config)[:.])?[A-Za-z_]\w{0,99}\}"
_INNER = r"(?:\.?[\w-]{1,100}/){0,16}[\w-][\w.-]{0,100}\.(?:js|mjs|cjs|ts|py|sh|jar)"
# A variable, which is never expanded, a file of a program, or one below such a variable.
_PLAIN = re.compile(rf"{_NAME}(?:/{_INNER})?|(?:\.{{1,2}}/)?{_INNER}")


def without_values(manifest: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return a manifest whose servers hold no value, with a warning for each that is changed.

    Args:
        manifest: In snake_case, as its schema has it.
    """
    if "mcp_servers" not in manifest:
        return dict(manifest), []
    found: list[Finding] = []
    servers = []
    for at, given in enumerate(manifest["mcp_servers"]):
        servers.append({**given, **_launch(given)})
        for name in (name for name in _MEMBERS if servers[-1].get(name) != given.get(name)):
            text = f"what may hold a value is left out of {name} of {given['id']:.100}"
            found.append(finding("host_only", text, f"/mcp_servers/{at}/{name}", warning=True))
    return {**manifest, "mcp_servers": servers}, found


def _launch(given: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    words = given.get("command", "").split()
    if words:
        program = LEFT_OUT if "=" in words[0] else words[0]
        made["command"] = " ".join([program, *_kept(words[0], words[1:])])
    if "arguments" in given:
        name = words[0].rpartition("/")[2] if words else ""
        # Of several words the first of the arguments is not the launcher's first.
        made["arguments"] = _kept(name if len(words) == 1 else "", given["arguments"])
    if "url" in given:
        made["url"] = given["url"] and (plain_url(given["url"])[:2000] or LEFT_OUT)
    return made


def _kept(program: str, words: Sequence[str]) -> list[str]:
    """Return words with what is not known for what it is left out."""
    made = []
    awaited = program in _LAUNCHERS
    for word in words:
        named = awaited and not word.startswith("-") and _COORDINATE.fullmatch(word)
        awaited = awaited and word in _YES
        made.append(word if named or _is_plain(word) else _short(word))
    return made


def _is_plain(word: str) -> bool:
    return bool(_OPTION.fullmatch(word) or _PLAIN.fullmatch(word))


def _short(word: str) -> str:
    option = _WITH_VALUE.fullmatch(word)
    if option is None:
        return LEFT_OUT
    value = word[len(option[1]) :]
    return word if _PLAIN.fullmatch(value) else f"{option[1]}{LEFT_OUT}"
