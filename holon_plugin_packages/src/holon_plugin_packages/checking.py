"""What is right and wrong with a ``holon-plugin/v1`` manifest beyond its schema, all at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from elegy_contracts.templates import PLACEHOLDER
from holon_core.errors import JsonRefused
from holon_core.ids import RESERVED_SOURCES
from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_core.wire.strict_json import parse
from holon_plugin_packages.effects import EFFECTS
from holon_plugin_packages.paths import path_problem
from holon_plugin_packages.records import OWNER, PackageFiles
from holon_plugin_packages.text_patterns import pattern_problem

LIVE_LANES = frozenset({"cli", "subprocess"})
KNOWN_LANES = LIVE_LANES | {"mcp", "api", "plugin", "rust", "adapter", "library", "script"}
PACKAGE_ROOT = "package_root"
_ID = re.compile(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})+")
_SKILL_ID = re.compile(r"(?:[A-Za-z0-9._~/:@-]|%[0-9A-F]{2})+")
MAX_ID = 120
_PROGRAM = re.compile(r"[A-Za-z0-9._+-]+")


def finding(code: str, message: str, path: str, *, warning: bool = False) -> Finding:
    """Make a finding."""
    severity = Severity.WARNING if warning else Severity.ERROR
    return Finding(code=code, message=message, path=path, severity=severity)


def manifest_findings(manifest: Mapping[str, Any], package: PackageFiles) -> Iterator[Finding]:
    """Check ids, references, files, commands and outputs of a manifest.

    Args:
        manifest: In snake_case; whatever of it has another type is left to its schema.
        package: The files that it speaks of.
    """
    yield from _ids(manifest)
    yield from _references(manifest, package)
    yield from _rings(manifest)
    yield from _declared(manifest, package)
    for path, each in listed(manifest, "capabilities"):
        yield from _capability(each, path, package)


def listed(manifest: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list with their paths."""
    given = manifest.get(name)
    for at, each in enumerate(given if isinstance(given, list) else ()):
        if isinstance(each, dict):
            yield f"/{name}/{at}", each


def text_of(each: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text; empty where it is none."""
    value = each.get(name)
    return value if isinstance(value, str) else ""


def plain_id(given: str, package: str) -> str:
    """Return a capability's id without the package's own before it."""
    return given.removeprefix(f"{package}/")


def _ids(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    package = text_of(manifest, "id")
    if f"{package}.".startswith(RESERVED_SOURCES) or package.startswith(OWNER):
        yield finding("reserved_id", f"the id {package!r:.120} belongs to another owner", "/id")
    if package and path_problem(package):
        text = f"the id {package!r:.120} is no folder name on every platform"
        yield finding("invalid_id", text, "/id")
    kinds = ("capabilities", "skills", "mcp_servers", "assets", "docs")
    named = ("tool_requirements", "secret_slots")
    for kind in (*kinds, *named):
        member = "name" if kind in named else "id"
        seen: dict[str, str] = {}
        for path, each in listed(manifest, kind):
            given = text_of(each, member)
            if not given:
                continue
            if kind in ("capabilities", "skills", "mcp_servers"):
                yield from _id(given, kind, package, path)
            key = plain_id(given, package).casefold()
            if key in seen:
                text = f"{given!r:.120} is there twice: {seen[key]}/{member} and {path}/{member}"
                yield finding("duplicate_id", text, f"{path}/{member}")
            seen[key] = path


def _id(given: str, kind: str, package: str, path: str) -> Iterator[Finding]:
    place = f"{path}/id"
    strange = [char for char in given if not char.isascii() or not char.isprintable()]
    if strange:
        points = ", ".join(f"U+{ord(char):04X}" for char in strange[:5])
        text = f"the id is of A-Z a-z 0-9 . _ ~ -, and holds {points}"
        yield finding("invalid_id", text, place)
        return
    if len(given) > MAX_ID:
        yield finding("invalid_id", f"an id has at most {MAX_ID} characters", place)
    if kind != "capabilities":
        if not _SKILL_ID.fullmatch(given):
            yield finding("invalid_id", f"the id {given!r:.120} is outside the grammar", place)
        return
    source, slash, _ = given.partition("/")
    if slash and source != package:
        reserved = f"{source}.".startswith(RESERVED_SOURCES)
        text = f"{given!r:.120} is not of the package {package!r:.100}"
        yield finding("reserved_id" if reserved else "invalid_id", text, place)
    elif not _ID.fullmatch(plain_id(given, package)):
        yield finding("invalid_id", f"the id {given!r:.120} is outside the grammar", place)


def _references(manifest: Mapping[str, Any], package: PackageFiles) -> Iterator[Finding]:
    skills = {text_of(each, "id") for _, each in listed(manifest, "skills")}
    for path, each in listed(manifest, "capabilities"):
        skill = text_of(each, "skill")
        if skill and skill not in skills:
            yield _unresolved("skill", skill, f"{path}/skill")
        for member in ("input_schema", "output_schema"):
            yield from _schema_file(each.get(member), f"{path}/{member}", package)
    yield from _names(manifest, "capabilities", "requires_tools", among="tool_requirements")
    yield from _names(manifest, "capabilities", "secret_slots", among="secret_slots")
    yield from _names(manifest, "skills", "requires", among="skills", member="id")
    for kind in ("skills", "assets", "docs", "files"):
        for path, each in listed(manifest, kind):
            if text_of(each, "path"):
                yield from _file(each["path"], f"{path}/path", package)


def _names(
    manifest: Mapping[str, Any], kind: str, name: str, *, among: str, member: str = "name"
) -> Iterator[Finding]:
    """Find names in a list of each entry that nothing of the package has."""
    known = {text_of(each, member) for _, each in listed(manifest, among)}
    for path, each in listed(manifest, kind):
        given = each.get(name)
        for at, one in enumerate(given if isinstance(given, list) else ()):
            if isinstance(one, str) and one not in known:
                yield _unresolved(name, one, f"{path}/{name}/{at}")


def _unresolved(what: str, name: str, path: str) -> Finding:
    return finding("unresolved_ref", f"the {what} {name!r:.120} is not in the package", path)


def file_path(given: str) -> str:
    """Return a path inside the package as it is keyed: without ``./`` before it."""
    return given.removeprefix("./")


def _file(given: str, place: str, package: PackageFiles) -> Iterator[Finding]:
    path = file_path(given)
    problem = path_problem(path)
    if problem:
        text = f"the path {given!r:.200} is refused: {problem}"
        yield finding("package_path_escape", text, place)
    elif path not in package.files:
        yield finding("unresolved_ref", f"the package has no file {given!r:.200}", place)


def schema_ref(schema: Any) -> str:
    """Return the file that stands for a schema; empty where the schema is there itself."""
    if isinstance(schema, dict) and set(schema) == {"$ref"} and isinstance(schema["$ref"], str):
        ref = schema["$ref"]
        return "" if ref.startswith("#") else ref
    return ""


def _schema_file(schema: Any, place: str, package: PackageFiles) -> Iterator[Finding]:
    ref = schema_ref(schema)
    if not ref:
        return
    found = list(_file(ref, place, package))
    yield from found
    if not found:
        try:
            read = parse(package.files[file_path(ref)])
        except JsonRefused as error:
            yield finding("schema_invalid", f"{ref!r:.200} is no JSON: {error}", place)
            return
        if schema_ref(read):
            text = f"{ref!r:.200} is only a reference to another file"
            yield finding("cyclic_ref", text, place)


def _rings(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Find a ring of skills, by taking away again and again those that need nothing."""
    needs: dict[str, list[str]] = {}
    for _, each in listed(manifest, "skills"):
        wanted = each.get("requires")
        names = [n for n in wanted if isinstance(n, str)] if isinstance(wanted, list) else []
        needs[text_of(each, "id")] = names
    needed_by: dict[str, list[str]] = {name: [] for name in needs}
    left: dict[str, int] = {}
    for name, wants in needs.items():
        known = [one for one in dict.fromkeys(wants) if one in needs]
        left[name] = len(known)
        for one in known:
            needed_by[one].append(name)
    free = [name for name, count in left.items() if not count]
    while free:
        name = free.pop()
        del left[name]
        for one in needed_by[name]:
            left[one] -= 1
            if not left[one]:
                free.append(one)
    if left:
        yield finding("cyclic_ref", f"a ring: {' -> '.join(_one_ring(left, needs))}", "/skills")


def _one_ring(left: Mapping[str, int], needs: Mapping[str, list[str]]) -> list[str]:
    way = [next(iter(left))]
    seen = {way[0]: 0}
    while True:
        following = next(each for each in needs[way[-1]] if each in left)
        way.append(following)
        if following in seen:
            return way[seen[following] :]
        seen[following] = len(way) - 1


def _declared(manifest: Mapping[str, Any], package: PackageFiles) -> Iterator[Finding]:
    if "files" not in manifest:
        return
    from hashlib import sha256

    declared = {}
    for path, each in listed(manifest, "files"):
        given = file_path(text_of(each, "path"))
        if given in declared:
            yield finding("duplicate_id", f"{given!r:.200} is there twice", f"{path}/path")
        declared[given] = path
        data, said = package.files.get(given), each.get("sha256")
        if data is not None and said is not None and sha256(data).hexdigest() != said:
            text = f"{given!r:.200} is not what its digest says"
            yield finding("package_digest_mismatch", text, f"{path}/sha256")
    for given in package.files:
        if given not in declared and "/" in given:
            text = f"the file {given!r:.200} is not declared, and not installed"
            yield finding("undeclared_file", text, "/files", warning=True)
    for path, each in listed(manifest, "capabilities"):
        program = text_of(each.get("command") or {}, "program")
        if program.startswith("./") and file_path(program) not in declared:
            text = f"the program {program!r:.200} is not among the declared files"
            yield finding("undeclared_file", text, f"{path}/command/program")


def _capability(each: Mapping[str, Any], path: str, package: PackageFiles) -> Iterator[Finding]:
    lane = text_of(each, "lane")
    if lane and lane not in KNOWN_LANES:
        text = f"the lane {lane!r:.60} is not known, and stays closed"
        yield finding("lane_unknown", text, f"{path}/lane", warning=True)
    if "effects" in each and "side_effect" in each:
        yield finding("record_invalid", "give effects or side_effect, not both", path)
    side = text_of(each, "side_effect")
    if side and side not in EFFECTS:
        text = f"the side effect {side!r:.60} is not known, so that it is not executable"
        yield finding("effects_undeclared", text, f"{path}/side_effect", warning=True)
    command = each.get("command")
    if isinstance(command, dict):
        yield from _command(each, command, path, package)
    elif lane in LIVE_LANES and not each.get("blocked"):
        text = f"a capability of the lane {lane} says how it is started: command"
        yield finding("record_invalid", text, path)
    output = each.get("output")
    if isinstance(output, dict):
        yield from _output(output, f"{path}/output")


def _command(
    each: Mapping[str, Any], command: Mapping[str, Any], path: str, package: PackageFiles
) -> Iterator[Finding]:
    program = text_of(command, "program")
    place = f"{path}/command/program"
    if program.startswith("./"):
        yield from _file(program, place, package)
    elif program and not _PROGRAM.fullmatch(program):
        text = f"the program {program!r:.200} is a plain name, or ./path of a packaged file"
        yield finding("package_path_escape", text, place)
    if PLACEHOLDER.search(program):
        yield finding("record_invalid", "the program is no template", place)
    known = _properties(each.get("input_schema"), package)
    if known is None:
        return
    if PACKAGE_ROOT in known:
        text = f"{PACKAGE_ROOT} is the installed package, and no argument"
        yield finding("reserved_id", text, f"{path}/input_schema/properties/{PACKAGE_ROOT}")
    arguments = command.get("arguments")
    for at, item in enumerate(arguments if isinstance(arguments, list) else ()):
        for name in PLACEHOLDER.findall(item) if isinstance(item, str) else ():
            if name.casefold() not in {each.casefold() for each in (*known, PACKAGE_ROOT)}:
                text = f"${{{name}}} is no property of the input schema"
                yield finding("unresolved_ref", text, f"{path}/command/arguments/{at}")
    dry = text_of(each, "dry_run")
    if dry and dry not in known:
        text = f"the dry run {dry!r:.100} is no property of the input schema"
        yield finding("unresolved_ref", text, f"{path}/dry_run")


def _properties(schema: Any, package: PackageFiles) -> frozenset[str] | None:
    ref = schema_ref(schema)
    if ref:
        try:
            schema = parse(package.files[file_path(ref)])
        except (JsonRefused, KeyError):
            return None
    found = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and found is None:
        return frozenset()
    return frozenset(found) if isinstance(found, dict) else None


def _output(output: Mapping[str, Any], path: str) -> Iterator[Finding]:
    form, pattern, place = (
        output.get("format"),
        text_of(output, "pattern"),
        text_of(output, "pointer"),
    )
    if pattern and form != "text":
        yield finding("record_invalid", "a pattern is for text", f"{path}/pattern")
    if form == "text" and not pattern:
        yield finding("record_invalid", "text is taken by a pattern", f"{path}/format")
    if pattern and (problem := pattern_problem(pattern)):
        yield finding("record_invalid", f"the pattern is refused: {problem}", f"{path}/pattern")
    if place and not re.fullmatch(r"(/([^~/]|~[01])*)*", place):
        yield finding("record_invalid", "it is no JSON pointer", f"{path}/pointer")
