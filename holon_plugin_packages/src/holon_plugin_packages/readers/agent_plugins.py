"""Agent Plugins 1.0: the vendor-neutral format, by its own rules."""

from __future__ import annotations

import re
from typing import Any

from holon_plugin_packages.normalising import json_file
from holon_plugin_packages.readers.building import Builder
from holon_plugin_packages.readers.instructions import add_skill
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

SCHEMAS = re.compile(r"https://agent-plugins\.org/schemas/([^/]+)/(plugin|mcp)\.schema\.json")
VERSION = "1.0.0"
NAME = re.compile(r"(?!.*(--|\.\.))[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?")
MEMBERS = frozenset(
    {"$schema", "name", "version", "description", "author", "homepage", "repository", "license",
     "keywords", "extensions"}
)  # fmt: skip
TEXTS = ("version", "description", "homepage", "repository", "license")
CODE = "package_manifest_invalid"


def _schema(data: Any) -> str:
    found = SCHEMAS.fullmatch(str(data.get("$schema"))) if isinstance(data, dict) else None
    return found.group(1) if found else ""


def recognise(package: PackageFiles) -> str:
    """Return ``plugin.json`` at the root, where its schema is of this format, in any version."""
    if "plugin.json" not in package.files:
        return ""
    data, _ = json_file(package, "plugin.json")
    return "plugin.json" if _schema(data) else ""


def read(package: PackageFiles, path: str) -> Reading:
    """Read a plugin: its manifest, ``skills/*/SKILL.md`` and ``mcp.json``."""
    builder = Builder(package)
    data, _ = json_file(package, path)
    _check(builder, data)
    if builder.refused:
        return builder.done()
    builder.identity(data["name"], data.get("version"), data)
    for name in sorted(data.keys() - MEMBERS):
        builder.lose(f"/{name}", "the format has no such member", fault=True)
    for name in data.get("extensions") or ():
        builder.lose(f"/extensions/{name}", "extensions of a host are not looked into")
    for file in sorted(package.files):
        parts = file.split("/")
        if len(parts) == 3 and parts[0] == "skills" and parts[2] == "SKILL.md":
            add_skill(builder, file)
        elif parts[0] not in ("skills", "plugin.json", "mcp.json"):
            builder.lose(file, "a file outside of the places that the format has")
    if "mcp.json" in package.files:
        _servers(builder)
    return builder.done()


def _check(builder: Builder, data: Any) -> None:
    if _schema(data) != VERSION:
        said = f"the version {_schema(data)!r} of the format is not known; {VERSION} is"
        builder.refuse(CODE, said, "/$schema")
    if not isinstance(data.get("name"), str) or not NAME.fullmatch(data["name"]):
        builder.refuse(CODE, "the name is 1 to 64 of a-z 0-9 - .", "/name")
    for name in TEXTS:
        if name in data and not isinstance(data[name], str):
            builder.refuse(CODE, f"{name} is no text", f"/{name}")
    author = data.get("author", {})
    bad = not isinstance(author, dict) or set(author) - {"name", "email", "url"}
    if bad or not all(isinstance(each, str) for each in author.values()):
        builder.refuse(CODE, "author has name, email and url, all texts", "/author")
    words = data.get("keywords", [])
    if not isinstance(words, list) or not all(isinstance(each, str) for each in words):
        builder.refuse(CODE, "keywords is a list of texts", "/keywords")


def _servers(builder: Builder) -> None:
    data, faults = json_file(builder.package, "mcp.json")
    servers = data.get("mcpServers") if isinstance(data, dict) else None
    if faults or _schema(data) != VERSION or not isinstance(servers, dict):
        builder.lose("mcp.json", f"it is no file of servers of version {VERSION}", fault=True)
        return
    if set(data) - {"$schema", "mcpServers"}:
        builder.lose("mcp.json", "it has members that the format does not have", fault=True)
        return
    for name, given in servers.items():
        problem = _problem(given)
        if problem:
            builder.lose(f"mcp.json#/mcpServers/{name}", problem, fault=True)
        else:
            builder.server(name, given)


def _problem(given: Any) -> str:
    if not isinstance(given, dict) or given.get("type") not in ("stdio", "streamable-http", "sse"):
        return "its type is none of stdio, streamable-http, sse"
    url = str(given.get("url", ""))
    if given["type"] == "stdio":
        command = given.get("command")
        good = isinstance(command, str) and command and not re.search(r"[\s$]", command)
        return "" if good else "its command is not one token"
    local = re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)", url)
    if not (url.startswith("https://") or local) or "@" in url.split("/")[2] or "#" in url:
        return "its url is https, or http to loopback, without user and fragment"
    return ""


READERS = (PackageReader(format="agent-plugins/1.0", rank=30, recognise=recognise, read=read),)
