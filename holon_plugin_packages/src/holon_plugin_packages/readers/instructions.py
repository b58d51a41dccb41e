"""Skills, commands and agents: Markdown with front matter, as context that agents may load."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from holon_plugin_packages.normalising import MAX_INSTRUCTIONS
from holon_plugin_packages.readers.building import Builder, texts
from holon_plugin_packages.readers.frontmatter import FrontMatterRefused, front_matter

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_TOOLS_CHARS = 4000
KNOWN = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
# Members that restrict what may be used; under another name in each host.
RESTRICTING = ("allowed-tools", "allowed_tools", "allowedTools", "tools", "disallowed-tools")


def add_skill(builder: Builder, path: str, *, prefix: str = "", plain: str = "") -> bool:
    """Add a ``SKILL.md``, or a command or an agent where ``plain`` names which.

    Args:
        builder: Where it goes.
        path: The file.
        prefix: Before its id.
        plain: ``command`` or ``agent``: front matter and description may lack then.

    Returns:
        Whether it came in. What cannot be read is refused as a whole: never without the
        restrictions that it may have had.
    """
    data = builder.package.files[path]
    try:
        if len(data) > MAX_INSTRUCTIONS:
            raise FrontMatterRefused(f"it has more than {MAX_INSTRUCTIONS} bytes")
        text = data.decode("utf-8-sig")
        members, body = front_matter(text)
        if members is None and not plain:
            raise FrontMatterRefused("it has no front matter")
        given = members or {}
        tools = _tools(given)
        name = _name(given, path, plain)
    except (FrontMatterRefused, UnicodeDecodeError) as error:
        builder.lose(path, str(error), fault=True)
        return False
    if members is None:
        builder.warn("package_manifest_invalid", f"{path} has no front matter")
    _judge(builder, given, path, name=name, plain=plain)
    entry: dict[str, Any] = {
        "id": f"{prefix}{plain}.{name}" if plain else f"{prefix}{name}",
        "name": name[:200],
        "description": texts(given.get("description"), 4000),
        "path": path,
        "instructions": body.strip() or texts(given.get("description"), 4000) or name,
        "license": texts(given.get("license"), 500),
        "metadata": {key: value for key, value in given.items() if key not in ("name", "license")},
    }
    if tools is not None:
        entry["allowed_tools"] = tools
    return builder.add("skills", entry)


def _name(given: Mapping[str, Any], path: str, plain: str) -> str:
    folder, file = posixpath.split(path)
    default = (
        file.removesuffix(".md").removesuffix(".agent") if plain else posixpath.basename(folder)
    )
    name = given.get("name") or default
    if not isinstance(name, str):
        raise FrontMatterRefused("its name is no text")
    made = re.sub(r"[^A-Za-z0-9._~-]+", "-", name).strip("-")[:100]
    if not made:
        raise FrontMatterRefused("it has no name")
    return made


def _tools(given: Mapping[str, Any]) -> list[str] | None:
    """Return the tools that a skill is restricted to; ``None`` where it says nothing of them."""
    said = [name for name in RESTRICTING if name in given]
    if not said:
        return None
    value = given[said[0]]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [each for each in value if each][:200]
    if not isinstance(value, str):
        raise FrontMatterRefused(f"{said[0]} is neither a text nor a list of texts")
    if len(value) > MAX_TOOLS_CHARS:
        raise FrontMatterRefused(f"{said[0]} has more than {MAX_TOOLS_CHARS} characters")
    # Commas and spaces part tools, but not inside of brackets: Bash(git add:*).
    found = re.findall(r"[^\s,(]+(?:\([^)]*\))?", value)
    return [each[:300] for each in found][:200]


def _judge(builder: Builder, given: Mapping[str, Any], path: str, *, name: str, plain: str) -> None:
    if plain:
        return
    folder = posixpath.basename(posixpath.dirname(path))
    code = "package_manifest_invalid"
    if not NAME.fullmatch(str(given.get("name", ""))) or len(name) > MAX_NAME:
        builder.warn(code, f"{path}: the name {given.get('name')!r:.80} breaks the rule for names")
    if folder and folder != "skills" and given.get("name") != folder:
        builder.warn(code, f"{path}: the name {given.get('name')!r:.80} is not its folder's")
    if not given.get("description"):
        builder.warn(code, f"{path}: it has no description")
    elif len(str(given["description"])) > MAX_DESCRIPTION:
        builder.warn(code, f"{path}: the description has more than {MAX_DESCRIPTION} characters")
    if isinstance(given.get("allowed-tools"), list):
        builder.warn(code, f"{path}: allowed-tools is a list")
    others = sorted(given.keys() - KNOWN)
    if others:
        builder.warn(code, f"{path}: members outside the specification: {', '.join(others)[:200]}")


def add_folder(builder: Builder, root: str, *, prefix: str = "") -> None:
    """Add all skills, commands and agents of a plugin's folder at their usual places."""
    for path in sorted(builder.package.files):
        inside = path.removeprefix(root)
        if not path.startswith(root):
            continue
        parts = inside.split("/")
        if len(parts) >= 3 and parts[0] == "skills" and parts[-1] == "SKILL.md":
            add_skill(builder, path, prefix=prefix)
        elif len(parts) >= 2 and parts[0] in ("commands", "agents") and inside.endswith(".md"):
            add_skill(builder, path, prefix=prefix, plain=parts[0].removesuffix("s"))
