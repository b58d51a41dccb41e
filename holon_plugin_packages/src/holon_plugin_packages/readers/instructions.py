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
ALLOWING = frozenset({"allowedtools", "tools"})
FORBIDDING = frozenset({"disallowedtools", "deniedtools", "forbiddentools"})
MAX_TOOLS = 200
MAX_TOOL_CHARS = 300


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
        made = front_matter(text)
        members, body = made.members, made.body
        if members is None and not plain:
            raise FrontMatterRefused("it has no front matter")
        given = members or {}
        tools, forbidden = _tools(given, ALLOWING), _tools(given, FORBIDDING)
        name = _name(given, path, plain)
    except (FrontMatterRefused, UnicodeDecodeError) as error:
        builder.lose(path, str(error), fault=True)
        return False
    if members is None:
        builder.warn("package_manifest_invalid", f"{path} has no front matter")
    _judge(builder, given, path, name=name, plain=plain)
    _told_types(builder, made.typed, path)
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
    if forbidden is not None:
        entry["disallowed_tools"] = forbidden
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


def _tools(given: Mapping[str, Any], names: frozenset[str]) -> list[str] | None:
    """Return the tools that a skill is restricted to; ``None`` where it says nothing of them.

    Raises:
        FrontMatterRefused: They cannot be told for sure; a restriction is never guessed.
    """
    said = {name: value for name, value in given.items() if _bare(name) in names}
    if not said:
        return None
    found = {name: _tool_names(name, value) for name, value in said.items()}
    first, *others = found.values()
    if any(each != first for each in others):
        raise FrontMatterRefused(f"{' and '.join(sorted(said))} restrict its tools differently")
    return first


def _bare(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _tool_names(name: str, value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        found = [each for each in value if each]
    elif not isinstance(value, str):
        raise FrontMatterRefused(f"{name} is neither a text nor a list of texts")
    elif len(value) > MAX_TOOLS_CHARS:
        raise FrontMatterRefused(f"{name} has more than {MAX_TOOLS_CHARS} characters")
    else:
        # Commas and spaces part tools, but not inside of brackets: Bash(git add:*).
        found = re.findall(r"[^\s,(]+(?:\([^)]*\))?", value)
        if value.count("(") != value.count(")"):
            raise FrontMatterRefused(f"{name} has a bracket without its other half")
    if len(found) > MAX_TOOLS or any(len(each) > MAX_TOOL_CHARS for each in found):
        text = f"{name} has more than {MAX_TOOLS} tools, or one of over {MAX_TOOL_CHARS} characters"
        raise FrontMatterRefused(text)
    return found


def _told_types(builder: Builder, typed: tuple[str, ...], path: str) -> None:
    """Say which values the specification wants as texts, and YAML takes for something else."""
    wrong = [each for each in typed if each.startswith("/metadata/") or each.count("/") == 1]
    if wrong:
        shown = ", ".join(each.lstrip("/") for each in wrong)[:300]
        text = f"{path}: values that are no texts in YAML, and are taken as written: {shown}"
        builder.warn("package_manifest_invalid", text)


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
