"""Plugins of agent hosts: Claude Code, Codex, Copilot, Cursor, Gemini, as far as they are alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holon_plugin_packages.normalising import json_file
from holon_plugin_packages.paths import path_problem
from holon_plugin_packages.readers.building import HOOKS, Builder, texts
from holon_plugin_packages.readers.instructions import add_folder, add_skill
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

# What all of these formats share; anything else of a manifest is said not to be mapped.
SHARED = frozenset(
    {"name", "version", "description", "author", "license", "homepage", "repository", "keywords",
     "displayName", "skills", "commands", "agents", "mcpServers", "tags", "category", "$schema"}
)  # fmt: skip
REASONS: Mapping[str, str] = {
    "hooks": HOOKS,
    "apps": "apps are of one host",
    "interface": "presentation of one host",
    "lspServers": "language servers are no capabilities",
    "monitors": HOOKS,
    "outputStyles": "presentation of one host",
    "channels": "of one host",
    "contextFileName": "",
    "settings": "",
    "userConfig": "",
}
MCP_FILES = (".mcp.json", "mcp.json")
# Where a plugin of a marketplace says what it is; each host looks at its own place alone.
MANIFESTS: Mapping[str, tuple[str, ...]] = {
    ".claude-plugin/marketplace.json": (".claude-plugin/plugin.json",),
    ".agents/plugins/marketplace.json": (".codex-plugin/plugin.json",),
    ".github/plugin/marketplace.json": (".github/plugin/plugin.json", "plugin.json"),
    ".cursor-plugin/marketplace.json": (".cursor-plugin/plugin.json",),
}


def _at(places: tuple[str, ...]) -> Callable[[PackageFiles], str]:
    def recognise(package: PackageFiles) -> str:
        return next((path for path in places if path in package.files), "")

    return recognise


def read(package: PackageFiles, path: str) -> Reading:
    """Read a plugin: its manifest, and the parts at their usual places."""
    builder = Builder(package)
    data, faults = json_file(package, path)
    if faults or not isinstance(data, dict):
        builder.findings.extend(faults)
        builder.refuse("package_manifest_invalid", f"{path} is no JSON object", path)
        return builder.done()
    if not texts(data.get("name"), 200):
        builder.refuse("package_manifest_invalid", f"{path} has no name", "/name")
        return builder.done()
    builder.identity(data["name"], data.get("version"), data)
    parts(builder, data, "")
    return builder.done()


def parts(builder: Builder, data: Mapping[str, Any], root: str, *, prefix: str = "") -> None:
    """Add the parts of one plugin.

    Args:
        builder: Where they go.
        data: Its manifest, or its entry of a marketplace.
        root: Its folder, with a slash; empty for the package's own.
        prefix: Before the ids of its parts.
    """
    add_folder(builder, root, prefix=prefix)
    for name in ("skills", "commands", "agents"):
        _named(builder, data.get(name), root, prefix=prefix, kind=name)
    servers = data.get("mcpServers")
    if isinstance(servers, dict):
        add_servers(builder, servers, prefix=prefix)
    files = [servers] if isinstance(servers, str) else list(MCP_FILES)
    for each in files:
        file = root + each.removeprefix("./")
        if not path_problem(file) and file in builder.package.files:
            server_file(builder, file, prefix=prefix)
        elif isinstance(servers, str):
            builder.lose(each, "the package has no such file of servers", fault=True)
    for file in builder.package.files:
        if file.startswith(f"{root}hooks/"):
            builder.lose(file, HOOKS)
    _rest(builder, data)


def _named(builder: Builder, given: Any, root: str, *, prefix: str, kind: str) -> None:
    """Add what a manifest names itself, beside the usual places."""
    paths = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    known = {each.get("path") for each in builder.manifest.get("skills", ())}
    lost = {each.path for each in builder.unmapped}
    for each in paths:
        if not isinstance(each, str):
            builder.lose(f"{kind}", "it names something that is no path", fault=True)
            continue
        place = root + each.removeprefix("./").rstrip("/")
        if place.rstrip("/") and path_problem(place.rstrip("/")):
            builder.lose(each, f"the path is refused: {path_problem(place)}", fault=True)
            continue
        inside = [
            path
            for path in sorted(builder.package.files)
            if path == place
            or (path.startswith(f"{place}/" if place else "") and path.endswith("SKILL.md"))
            or (kind != "skills" and path.startswith(f"{place}/") and path.endswith(".md"))
        ]
        if not inside:
            builder.lose(each, "the package has nothing there")
        for path in inside:
            if path not in known and path not in lost:
                known.add(path)
                plain = "" if kind == "skills" else kind.removesuffix("s")
                add_skill(builder, path, prefix=prefix, plain=plain)


def _rest(builder: Builder, data: Mapping[str, Any]) -> None:
    for name, value in data.items():
        if name in SHARED or value in (None, [], {}, ""):
            continue
        if name in ("settings", "userConfig"):
            _settings(builder, value)
        elif name == "contextFileName":
            for path in [value] if isinstance(value, str) else value:
                if isinstance(path, str) and path in builder.package.files:
                    add_skill(builder, path, plain="context")
                else:
                    builder.lose(f"/{name}", "the package has no such file")
        else:
            builder.lose(f"/{name}", REASONS.get(name) or "a member of one host")


def _settings(builder: Builder, given: Any) -> None:
    """Take names and purposes of secrets; never values."""
    entries = given if isinstance(given, list) else []
    if isinstance(given, dict):
        entries = [{"name": name, **each} for name, each in given.items() if isinstance(each, dict)]
    for each in entries:
        if isinstance(each, dict) and each.get("sensitive") in (True, "true"):
            name = texts(each.get("envVar") or each.get("name"), 100)
            builder.slot(name, name, each.get("description"))
        else:
            builder.lose("/settings", "a setting that is no secret")


def add_servers(builder: Builder, servers: Mapping[str, Any], *, prefix: str = "") -> None:
    """Add MCP servers by their names."""
    for name, given in servers.items():
        builder.server(f"{prefix}{name}", given)


def server_file(builder: Builder, path: str, *, prefix: str = "") -> None:
    """Add the servers of an ``mcp.json``, under ``mcpServers``, ``servers`` or at its top."""
    from holon_plugin_packages.readers.servers import servers_of

    found = servers_of(builder, path)
    if found is not None:
        add_servers(builder, found, prefix=prefix)


def read_marketplace(package: PackageFiles, path: str) -> Reading:
    """Read a marketplace: the plugins that are inside of it; others are named, never fetched."""
    builder = Builder(package)
    data, faults = json_file(package, path)
    if faults or not isinstance(data, dict) or not isinstance(data.get("plugins"), list):
        builder.findings.extend(faults)
        builder.refuse("package_manifest_invalid", f"{path} has no list of plugins", "/plugins")
        return builder.done()
    found = data.get("metadata")
    metadata: dict[str, Any] = found if isinstance(found, dict) else {}
    face = data.get("interface")
    given = {
        "description": data.get("description"),
        "displayName": face.get("displayName") if isinstance(face, dict) else None,
        "author": data.get("owner"),
        **metadata,
    }
    version = data.get("version") or metadata.get("version")
    builder.identity(data.get("name") or "marketplace", version, given)
    for at, each in enumerate(data["plugins"]):
        if isinstance(each, dict) and texts(each.get("name"), 100):
            _market_entry(builder, each, at, manifests=MANIFESTS[path])
        else:
            builder.lose(f"/plugins/{at}", "the entry has no name", fault=True)
    return builder.done()


def _market_entry(
    builder: Builder, each: Mapping[str, Any], at: int, *, manifests: tuple[str, ...]
) -> None:
    source, name = _inside(each.get("source")), texts(each.get("name"), 100)
    prefix = f"{name.replace(' ', '-')}."
    if "policy" in each:
        builder.lose(f"/plugins/{at}/policy", "policy is the operator's own: holon.toml")
    if not isinstance(source, str):
        builder.lose(f"/plugins/{at}", f"{name} is elsewhere, and nothing is fetched")
        if isinstance(each.get("mcpServers"), dict):
            add_servers(builder, each["mcpServers"], prefix=prefix)
        return
    place = source.removeprefix("./").rstrip("/")
    if place and path_problem(place):
        builder.lose(f"/plugins/{at}", f"its path is refused: {path_problem(place)}", fault=True)
        return
    root = f"{place}/" if place else ""
    inside = any(path.startswith(root) for path in builder.package.files) if root else True
    if not inside:
        builder.lose(f"/plugins/{at}", f"the package has nothing at {source}")
        return
    data: dict[str, Any] = {}
    places = [f"{root}{place}" for place in manifests]
    own = next((place for place in places if place in builder.package.files), "")
    if own:
        read_one, faults = json_file(builder.package, own)
        if faults or not isinstance(read_one, dict):
            builder.lose(own, "it is no JSON object", fault=True)
            return
        data = read_one
    entry = {k: v for k, v in each.items() if k not in ("source", "strict", "policy")}
    parts(builder, {**entry, **data}, root, prefix=prefix)


def _inside(source: Any) -> Any:
    """Return the path of a plugin inside of its marketplace, however that is written."""
    if not isinstance(source, dict):
        return source
    if source.get("source") == "local":
        return source.get("path")
    url = source.get("url")
    return url if isinstance(url, str) and url.startswith("./") else source


READERS = (
    PackageReader(
        format="claude-plugin",
        rank=40,
        recognise=_at((".claude-plugin/plugin.json",)),
        read=read,
    ),
    PackageReader(
        format="codex-plugin", rank=50, recognise=_at((".codex-plugin/plugin.json",)), read=read
    ),
    PackageReader(
        format="copilot-plugin",
        rank=60,
        recognise=_at((".github/plugin/plugin.json", "plugin.json")),
        read=read,
    ),
    PackageReader(
        format="cursor-plugin", rank=70, recognise=_at((".cursor-plugin/plugin.json",)), read=read
    ),
    PackageReader(
        format="gemini-extension", rank=80, recognise=_at(("gemini-extension.json",)), read=read
    ),
    *(
        PackageReader(
            format=f"{host}-marketplace",
            rank=rank,
            recognise=_at((place,)),
            read=read_marketplace,
        )
        for rank, (host, place) in enumerate(
            zip(("claude", "codex", "copilot", "cursor"), MANIFESTS, strict=True), 120
        )
    ),
)
