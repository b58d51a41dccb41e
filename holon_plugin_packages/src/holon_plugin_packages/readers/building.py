"""Putting a manifest together from the parts of a foreign package; a bad part is lost alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_plugin_packages.records import KIND, PackageFiles, Reading, Unmapped

_PLACEHOLDER = re.compile(r"\$\{|<[^>]+>|\{\{|^$|^\$[A-Za-z_]|your[-_ ]", re.IGNORECASE)
TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "streamable-http",
    "streamable-http": "streamable-http",
    "streamable_http": "streamable-http",
    "sse": "sse",
}
CLOSED = {"type": "object", "additionalProperties": False}
HOOKS = "commands of hooks are arbitrary programs: kept as files, and never run"


def slug(name: str, *, fallback: str = "package") -> str:
    """Make an id of a-z 0-9 . _ - of any name."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    made = re.sub(r"[^a-z0-9._-]+", "-", plain).strip("._-")[:90].strip("._-")
    return made or fallback


def texts(value: Any, limit: int) -> str:
    """Return a value as a bounded text; empty where it is none."""
    return " ".join(str(value).split())[:limit] if isinstance(value, (str, int, float)) else ""


@frozen
class Builder:
    """A manifest that grows by the parts of a package.

    Args:
        package: The files that it is made of.
    """

    package: PackageFiles
    manifest: dict[str, Any] = field(factory=dict)
    unmapped: list[Unmapped] = field(factory=list)
    findings: list[Finding] = field(factory=list)
    refused: list[str] = field(factory=list)

    def identity(self, name: Any, version: Any, given: Mapping[str, Any]) -> None:
        """Say what the package is, of the members that most formats share."""
        shown = texts(name, 200)
        made: dict[str, Any] = {
            "kind": KIND,
            "id": slug(shown),
            "version": texts(version, 100) or "0",
            "title": texts(given.get("displayName") or given.get("title") or shown, 200),
            "description": texts(given.get("description"), 4000),
            "license": texts(given.get("license"), 500),
            "homepage": texts(given.get("homepage") or given.get("websiteUrl"), 2000),
        }
        author = given.get("author")
        if isinstance(author, dict):
            author = author.get("name")
        if texts(author, 200):
            made["publisher"] = {"name": texts(author, 200)}
        words = given.get("keywords") or given.get("tags") or ()
        if isinstance(words, list):
            kept = dict.fromkeys(texts(each, 200) for each in words)
            made["keywords"] = [each for each in kept if each][:100]
        self.manifest.update({key: value for key, value in made.items() if value not in ("", [])})

    def warn(self, code: str, message: str, path: str = "") -> None:
        """Keep something that is worth knowing."""
        severity = Severity.WARNING
        self.findings.append(Finding(code=code, message=message, path=path, severity=severity))

    def refuse(self, code: str, message: str, path: str = "") -> None:
        """Refuse the whole package."""
        self.refused.append(message)
        self.findings.append(Finding(code=code, message=message, path=path))

    def lose(self, path: str, reason: str, *, fault: bool = False) -> None:
        """Say that a part is not mapped, and why; a fault is a finding, too."""
        self.unmapped.append(Unmapped(path=path[:300], reason=reason[:500]))
        if fault:
            self.warn("package_part_unmapped", f"{path[:300]} is refused: {reason[:500]}")

    def add(self, kind: str, entry: dict[str, Any]) -> bool:
        """Add an entry; a second one of its id is lost."""
        known = self.manifest.setdefault(kind, [])
        member = "id" if "id" in entry else "name"
        if any(each[member].casefold() == entry[member].casefold() for each in known):
            self.lose(f"{kind}/{entry[member]}", "another one has this id", fault=True)
            return False
        known.append({name: value for name, value in entry.items() if value not in ("", None)})
        return True

    def slot(self, name: str, env: str, purpose: Any) -> None:
        """Declare a secret by its purpose."""
        env = re.sub(r"[^A-Za-z0-9_]", "_", env)[:100]
        plain = re.sub(r"[^A-Za-z0-9_.-]", "-", name)[:100]
        if not plain or not plain[0].isalpha() or not env or env[0].isdigit():
            self.lose(f"secrets/{name}", "its name is none of a variable")
            return
        known = self.manifest.setdefault("secret_slots", [])
        if not any(each["name"].casefold() == plain.casefold() for each in known):
            known.append({"name": plain, "env": env, "purpose": texts(purpose, 500)})

    def server(self, name: str, given: Any, *, tools: bool = False, note: str = "") -> str:
        """Describe an MCP server; nothing of it is started.

        Values of variables and headers are dropped here; ``launching`` takes those out that
        stand in command, arguments and URL.

        Args:
            name: Its name in the package.
            given: Its entry.
            tools: Its tools are added by themselves.
            note: What is known besides.

        Returns:
            Its id; empty where it was refused.
        """
        if not isinstance(given, dict):
            self.lose(f"mcp_servers/{name}", "it is no object", fault=True)
            return ""
        server_id = slug(name, fallback="server")
        url = given.get("url") or given.get("httpUrl") or given.get("serverUrl") or ""
        command = given.get("command") or ""
        if not isinstance(url, str) or not isinstance(command, str) or not (url or command):
            self.lose(f"mcp_servers/{name}", "it has neither a command nor a url", fault=True)
            return ""
        entry = {
            "id": server_id,
            "title": texts(given.get("title") or name, 200),
            "description": texts(given.get("description") or note, 4000),
            "transport": _transport(given, url),
            "command": command[:1000],
            "arguments": _words(given.get("args")),
            "url": url[:2000],
            "env_names": self._names(name, "env", given.get("env")),
            "header_names": self._names(name, "headers", given.get("headers")),
        }
        if not self.add("mcp_servers", entry):
            return ""
        if not tools:
            self.server_entry(server_id, entry)
        return server_id

    def server_entry(self, server_id: str, entry: Mapping[str, Any]) -> None:
        """Put a server whose tools are not listed into the catalogue, closed."""
        told = entry.get("description") or ""
        text = f"MCP server {entry.get('title') or server_id}; its tools are not listed. {told}"
        self.tool(f"mcp.{server_id}", entry.get("title", ""), text, CLOSED)

    def tool(self, name: str, title: Any, description: Any, schema: Any) -> None:
        """Put a tool of an MCP server into the catalogue, closed."""
        made: dict[str, Any] = {
            "id": re.sub(r"[^A-Za-z0-9._~-]", "-", name)[:110],
            "title": texts(title, 200),
            "description": texts(description, 4000),
            "lane": "mcp",
        }
        if isinstance(schema, dict) and schema.get("type") == "object":
            made["input_schema"] = schema
        self.add("capabilities", made)

    def _names(self, name: str, what: str, given: Any) -> list[str]:
        if not isinstance(given, dict):
            return []
        for key, value in given.items():
            if isinstance(value, str) and not _PLACEHOLDER.search(value[:500]):
                self.warn("host_only", f"the value of {what} {key} of {name} is left out")
        return [str(key)[:200] for key in given if key][:200]

    def done(self) -> Reading:
        """Return the reading."""
        return Reading(
            manifest=None if self.refused else self.manifest,
            unmapped=tuple(self.unmapped),
            findings=tuple(self.findings),
        )


def _transport(given: Mapping[str, Any], url: str) -> str:
    said = given.get("type") or given.get("transport") or ("streamable-http" if url else "stdio")
    return TRANSPORTS.get(str(said).lower(), "unknown")


def _words(given: Any) -> list[str]:
    return [str(each)[:8000] for each in given][:500] if isinstance(given, list) else []
