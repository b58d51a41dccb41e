"""MCP servers: ``mcp.json``, the registry's ``server.json``, bundles, Docker's catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holon_core.errors import JsonRefused
from holon_core.wire.strict_json import parse
from holon_plugin_packages.normalising import json_file
from holon_plugin_packages.readers.building import Builder, texts
from holon_plugin_packages.readers.frontmatter import FrontMatterRefused, yaml_mapping
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

MCP_PLACES = ("mcp.json", ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")
CODE = "package_manifest_invalid"
_TOKENS = re.compile(  # What is not closed goes to the end: nothing is looked at twice.
    r'"(?:\\.|[^"\\])*(?:"|\\?\Z)|//[^\n]*|/\*(?:.*?\*/|.*\Z)|,(?=\s*[}\]])', re.DOTALL
)
JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})


def without_comments(text: str) -> str:
    """Return JSON of host configurations as JSON: without comments and trailing commas."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else "", plain)


def servers_of(builder: Builder, path: str) -> dict[str, Any] | None:
    """Return the servers of a file by name; ``None``, and a finding, where it holds none."""
    data = builder.package.files[path].removeprefix(b"\xef\xbb\xbf")
    try:
        made: Any = parse(without_comments(data.decode()))
    except (JsonRefused, UnicodeDecodeError) as error:
        builder.lose(path, f"it is no JSON: {error}", fault=True)
        return None
    if not isinstance(made, dict):
        builder.lose(path, "it is no object", fault=True)
        return None
    for each in made.get("inputs") or ():
        if isinstance(each, dict) and each.get("password") is True:
            name = texts(each.get("id"), 100)
            builder.slot(name, name.upper(), each.get("description"))
    for member in ("mcpServers", "servers"):
        if isinstance(made.get(member), dict):
            return dict(made[member])
    found = {name: each for name, each in made.items() if isinstance(each, dict)}
    if found and all("command" in each or "url" in each for each in found.values()):
        return found
    builder.lose(path, "it has no list of servers", fault=True)
    return None


def recognise_mcp(package: PackageFiles) -> str:
    """Return a file of servers at one of its usual places."""
    return next((path for path in MCP_PLACES if path in package.files), "")


def read_mcp(package: PackageFiles, path: str) -> Reading:
    """Read a file of servers by itself; it has no name of its own, so its folder's is taken."""
    import posixpath

    builder = Builder(package)
    where = posixpath.basename(package.where.rstrip("/").replace("\\", "/")) or "servers"
    builder.identity(f"mcp-{where.removesuffix('.json')}", None, {})
    found = servers_of(builder, path)
    if found is None:
        builder.refuse(CODE, "; ".join(each.reason for each in builder.unmapped), path)
        return builder.done()
    for name, given in found.items():
        builder.server(name, given)
    return builder.done()


def recognise_registry(package: PackageFiles) -> str:
    """Return ``server.json``, where it is the registry's."""
    return "server.json" if "server.json" in package.files else ""


def read_registry(package: PackageFiles, path: str) -> Reading:
    """Read an entry of the MCP registry: names, coordinates, and which variables are secrets."""
    builder = Builder(package)
    data, faults = json_file(package, path)
    builder.findings.extend(faults)
    name = texts(data.get("name"), 200) if isinstance(data, dict) else ""
    if name.count("/") != 1:
        builder.refuse(CODE, "the name has exactly one slash: reverse-DNS/name", "/name")
        return builder.done()
    version = data.get("version") or (data.get("version_detail") or {}).get("version")
    builder.identity(name.replace("/", "."), version, data)
    if len(str(data.get("description", ""))) > 100:
        builder.warn(CODE, "the description has more than 100 characters", "/description")
    if str(version) in ("", "None", "latest") or re.search(r"[\^~*<>|]", str(version)):
        builder.warn(CODE, f"the version {version!r} is not exact", "/version")
    for each in _dicts(data.get("packages")):
        _package(builder, name, each, data)
    for each in _dicts(data.get("remotes")):
        url = texts(each.get("url"), 2000)
        kind = texts(each.get("type") or each.get("transport_type"), 50)
        headers = {h.get("name"): "${}" for h in _dicts(each.get("headers")) if h.get("name")}
        entry = {"url": url, "type": kind, "headers": headers, "title": data.get("title")}
        builder.server(f"{name.partition('/')[2]}-{kind or 'remote'}", entry)
    for member in sorted(data.keys() & {"_meta", "icons"}):
        builder.lose(f"/{member}", "publisher's own data")
    return builder.done()


def _dicts(given: Any) -> list[dict[str, Any]]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _package(builder: Builder, name: str, each: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    kind = texts(each.get("registryType") or each.get("registry_type"), 50)
    identifier = texts(each.get("identifier") or each.get("name"), 500)
    hint = texts(each.get("runtimeHint") or each.get("runtime_hint"), 100)
    variables = each.get("environmentVariables") or each.get("environment_variables")
    env = {v["name"]: "${}" for v in _dicts(variables) if isinstance(v.get("name"), str)}
    transport = each.get("transport")
    transport = transport if isinstance(transport, dict) else {}
    entry = {
        "command": hint or kind or "package",
        "args": [f"{identifier}@{texts(each.get('version'), 100)}"],
        "type": transport.get("type", "stdio"),
        "env": env,
        "title": data.get("title"),
        "description": data.get("description"),
    }
    builder.server(f"{name.partition('/')[2]}-{kind or 'package'}", entry)
    for v in _dicts(variables):
        if v.get("isSecret") or v.get("is_secret"):
            given = texts(v.get("name"), 100)
            builder.slot(given, given, v.get("description"))


def recognise_bundle(package: PackageFiles) -> str:
    """Return ``manifest.json``, where it is that of an MCP bundle."""
    if "manifest.json" not in package.files:
        return ""
    data, _ = json_file(package, "manifest.json")
    marks = ("manifest_version", "dxt_version")
    known = isinstance(data, dict) and any(mark in data for mark in marks) and "server" in data
    return "manifest.json" if known else ""


def read_bundle(package: PackageFiles, path: str) -> Reading:
    """Read an MCP bundle: its server, the tools that it names, its sensitive settings."""
    builder = Builder(package)
    data, _ = json_file(package, path)
    if not texts(data.get("name"), 200) or not isinstance(data.get("server"), dict):
        builder.refuse(CODE, "a bundle has a name and a server", path)
        return builder.done()
    given = {**data, "displayName": data.get("display_name")}
    builder.identity(data["name"], data.get("version"), given)
    server = data["server"]
    config = server.get("mcp_config")
    config = config if isinstance(config, dict) else {}
    entry = {"command": texts(server.get("entry_point"), 300), "type": "stdio", **config}
    tools = _dicts(data.get("tools"))
    server_id = builder.server(data["name"], entry, tools=bool(tools))
    for each in tools:
        builder.tool(f"{server_id}.{texts(each.get('name'), 80)}", each.get("name"),
                     each.get("description"), None)  # fmt: skip
    _bundle_settings(builder, data.get("user_config"), config)
    for member in sorted(data.keys() & {"prompts", "compatibility", "_meta", "icon", "icons",
                                        "screenshots", "tools_generated"}):  # fmt: skip
        builder.lose(f"/{member}", "a member of one host")
    return builder.done()


def _bundle_settings(builder: Builder, given: Any, config: Mapping[str, Any]) -> None:
    env = config.get("env")
    env = env if isinstance(env, dict) else {}
    for name, each in (given if isinstance(given, dict) else {}).items():
        if isinstance(each, dict) and each.get("sensitive") is True:
            said = f"${{user_config.{name}}}"
            variable = next((key for key, value in env.items() if said in str(value)), name.upper())
            builder.slot(name, variable, each.get("description") or each.get("title"))
        else:
            builder.lose(f"/user_config/{name}", "a setting that is no secret")


def recognise_docker(package: PackageFiles) -> str:
    """Return ``server.yaml`` of Docker's catalogue."""
    return "server.yaml" if "server.yaml" in package.files else ""


def read_docker(package: PackageFiles, path: str) -> Reading:
    """Read an entry of Docker's catalogue with the tools beside it."""
    builder = Builder(package)
    try:
        data = yaml_mapping(package.files[path].decode("utf-8-sig"))
    except (FrontMatterRefused, UnicodeDecodeError) as error:
        builder.refuse(CODE, f"{path}: {error}", path)
        return builder.done()
    name = texts(data.get("name"), 100)
    about, remote = _mapping(data.get("about")), _mapping(data.get("remote"))
    builder.identity(name or "server", None, about)
    entry: dict[str, Any] = {"command": f"image {texts(data.get('image'), 300)}", "type": "stdio"}
    if remote:
        entry = {"url": remote.get("url"), "type": remote.get("transport_type")}
    tools = _docker_tools(builder)
    server_id = builder.server(name, {**entry, **about}, tools=bool(tools))
    for each in tools:
        schema = each.get("inputSchema") or _schema_of(each.get("arguments"))
        tool = texts(each.get("name"), 80)
        builder.tool(f"{server_id}.{tool}", tool, each.get("description"), schema)
    for each in _dicts(_mapping(data.get("config")).get("secrets")):
        variable = texts(each.get("env"), 100)
        builder.slot(texts(each.get("name"), 100), variable, f"for {name}")
    for member in sorted(data.keys() & {"run", "oauth", "source", "meta", "dynamic"}):
        builder.lose(f"/{member}", "how one host would run it")
    return builder.done()


def _mapping(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _docker_tools(builder: Builder) -> list[dict[str, Any]]:
    if "tools.json" not in builder.package.files:
        return []
    data, faults = json_file(builder.package, "tools.json")
    if faults:
        builder.lose("tools.json", "it is no JSON", fault=True)
    return [each for each in _dicts(data) if texts(each.get("name"), 80)]


def _schema_of(given: Any) -> dict[str, Any]:
    properties, required = {}, []
    for each in _dicts(given):
        name, kind = texts(each.get("name"), 100), each.get("type")
        if not name:
            continue
        made: dict[str, Any] = {"type": kind} if kind in JSON_TYPES else {}
        if texts(each.get("desc"), 1000):
            made["description"] = texts(each.get("desc"), 1000)
        properties[name] = made
        if not each.get("optional"):
            required.append(name)
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made


READERS = (
    PackageReader(format="mcpb", rank=90, recognise=recognise_bundle, read=read_bundle),
    PackageReader(
        format="mcp-registry", rank=100, recognise=recognise_registry, read=read_registry
    ),
    PackageReader(format="docker-catalog", rank=110, recognise=recognise_docker, read=read_docker),
    PackageReader(format="mcp.json", rank=130, recognise=recognise_mcp, read=read_mcp),
)
