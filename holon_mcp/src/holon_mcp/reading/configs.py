"""Descriptions that say how a server is started, and nothing of what it offers.

Values of environment variables and headers are often secrets, so that their names alone are
kept; of a URL neither the user nor the query.
"""

from __future__ import annotations

from typing import Any

from elegy_contracts.portable import plain_url
from holon_core.errors import Rejected
from holon_core.records.finding import Finding
from holon_mcp.records import Listing

MAX_ARGUMENTS = 100


def from_config(given: dict[str, Any], server: str) -> Listing:
    """Read an entry of an ``mcp.json``; of several the one of the name, or the only one."""
    for members in ("mcpServers", "servers"):
        entries = given.get(members)
        if isinstance(entries, dict):
            if server in entries:
                return _entry(entries[server], f"/{members}/{server}")
            if len(entries) == 1:
                [(name, entry)] = entries.items()
                return _entry(entry, f"/{members}/{name}")
            known = ", ".join(sorted(map(str, entries)))[:300]
            raise _rejected(f"several servers; register each by its own name: {known}", "")
    return _entry(given, "")


def _entry(entry: Any, path: str) -> Listing:
    if not isinstance(entry, dict):
        raise _rejected("an entry is an object", path)
    if isinstance(entry.get("url"), str):
        headers = entry.get("headers")
        launch: dict[str, Any] = {"url": plain_url(_text(entry["url"]))}
        if isinstance(headers, dict):
            launch["header_names"] = sorted(map(str, headers))[:MAX_ARGUMENTS]
        return Listing(form="mcp.json", transport="http", launch=launch)
    if not isinstance(entry.get("command"), str):
        raise _rejected("an entry has a command or a url", path)
    args, env = entry.get("args", []), entry.get("env", {})
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        raise _rejected("args is a list of texts", f"{path}/args")
    if not isinstance(env, dict):
        raise _rejected("env is an object", f"{path}/env")
    # An argument may hold a token as well, so that only how many there are is kept.
    launch = {
        "command": entry["command"][:2000],
        "argument_count": len(args),
        "env_names": sorted(map(str, env))[:MAX_ARGUMENTS],
    }
    return Listing(form="mcp.json", transport="stdio", launch=launch)


def from_registry(given: dict[str, Any], _: str = "") -> Listing:
    """Read a ``server.json`` of the MCP registry: its packages and remotes by name."""
    inner = given["server"] if isinstance(given.get("server"), dict) else given
    packages = [_package(each) for each in _objects(inner.get("packages"))]
    remotes = [
        {"type": _text(each.get("type")), "url": plain_url(_text(each.get("url")))}
        for each in _objects(inner.get("remotes"))
    ]
    return Listing(
        form="server.json",
        server_name=_text(inner["name"]),
        server_version=_text(inner.get("version")),
        transport="stdio" if packages else "http",
        launch={"packages": packages, "remotes": remotes},
    )


def _package(given: dict[str, Any]) -> dict[str, Any]:
    identifier = given.get("identifier", given.get("name"))
    if isinstance(identifier, str) and "://" in identifier:
        identifier = plain_url(_text(identifier))
    named = {
        "registry": _text(given.get("registryType", given.get("registry_type"))),
        "identifier": _text(identifier),
        "version": _text(given.get("version")),
    }
    variables = given.get("environmentVariables", given.get("environment_variables"))
    names = sorted(_text(each.get("name")) for each in _objects(variables))
    return {**named, "env_names": names}


def _objects(value: Any) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, dict)][:MAX_ARGUMENTS]


def _text(value: Any) -> str:
    return value[:500] if isinstance(value, str) else ""


def _rejected(message: str, path: str) -> Rejected:
    return Rejected("mcp server", [Finding(code="record_invalid", message=message, path=path)])
