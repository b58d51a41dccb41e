"""From the files of a package to one checked ``holon-plugin/v1`` manifest, in any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from holon_core.errors import JsonRefused, Rejected
from holon_core.records.finding import Finding, has_errors
from holon_core.wire.strict_json import parse
from holon_plugin_packages.checking import file_path, finding, manifest_findings, schema_ref
from holon_plugin_packages.host_only import host_findings
from holon_plugin_packages.launching import without_values
from holon_plugin_packages.records import KIND, PackageFiles, PackageReader, Unmapped
from holon_plugin_packages.shape import shape_findings, spelled

MAX_INSTRUCTIONS = 256 * 1024
MAX_FINDINGS = 500
MAX_UNMAPPED = 1000
PARTS = ("capabilities", "skills", "mcp_servers")
# Formats that are known by their place and that nothing here reads.
NOT_READ: Mapping[str, str] = {
    ".elegy-plugin/plugin.json": "elegy-plugin",
    ".well-known/ai-plugin.json": "ai-plugin",
    "ai-plugin.json": "ai-plugin",
}


@frozen(kw_only=True)
class Normalised:
    """A package as it is registered: its manifest with all that it refers to inside."""

    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]
    format: str
    formats: tuple[str, ...]
    unmapped: tuple[Unmapped, ...]
    findings: tuple[Finding, ...]


def normalised(
    package: PackageFiles, readers: Sequence[PackageReader], *, wanted: str | None = None
) -> Normalised:
    """Recognise a package, read it and check what came of it.

    Args:
        package: Its files.
        readers: In the order of their rank.
        wanted: Only this format.

    Raises:
        Rejected: No reader knows it, or anything of it is refused; with every finding.
    """
    known = [(each, path) for each in readers if (path := each.recognise(package))]
    chosen = [(each, path) for each, path in known if wanted in (None, each.format)]
    if not chosen:
        unknown = _unknown(package, known, readers, wanted=wanted)
        raise Rejected("package", [*package.findings, unknown])
    reader, path = chosen[0]
    reading = reader.read(package, path)
    found = [*package.findings, *reading.findings]
    if len(known) > 1:
        names = ", ".join(each.format for each, _ in known)
        text = f"it is of several formats: {names}; {reader.format} is read"
        found.append(finding("package_formats", text, "", warning=True))
    if reading.manifest is None:
        raise Rejected(f"{reader.format} package", _bounded(found))
    manifest = spelled(reading.manifest)
    faults = shape_findings(manifest)
    found += faults
    if not faults:
        manifest, told = without_values(manifest)
        found += told
    # One fault is one finding, where the schema and the rules beyond it both see it.
    found += [*host_findings(manifest), *manifest_findings(manifest, package)]
    if has_errors(found):
        raise Rejected(str(manifest.get("id") or "package")[:200], _bounded(found))
    whole, told = _whole(manifest, package)
    found += told
    if not any(whole.get(kind) for kind in PARTS):
        text = "nothing of it came in: it brings no skill, no capability and no server that is here"
        found.append(finding("package_part_unmapped", text, "", warning=True))
    if has_errors(found):
        raise Rejected(manifest["id"], _bounded(found))
    return Normalised(
        manifest=whole,
        files=_installed(manifest, package),
        format=reader.format,
        formats=(reader.format, *(e.format for e, _ in known if e is not reader)),
        unmapped=reading.unmapped[:MAX_UNMAPPED],
        findings=tuple(_bounded(found)),
    )


def _bounded(found: Sequence[Finding]) -> list[Finding]:
    seen = list(dict.fromkeys((f.code, f.message, f.path, f.severity) for f in found))
    return [
        Finding(code=code, message=message, path=path, severity=severity)
        for code, message, path, severity in seen[:MAX_FINDINGS]
    ]


def _unknown(
    package: PackageFiles,
    known: Sequence[tuple[PackageReader, str]],
    readers: Sequence[PackageReader],
    *,
    wanted: str | None,
) -> Finding:
    names = ", ".join(each.format for each in readers)
    named = next((NOT_READ[path] for path in NOT_READ if path in package.files), "")
    if wanted is not None:
        there = ", ".join(each.format for each, _ in known) or "none"
        text = f"the package is not of the format {wanted}; it is of {there}"
    elif named:
        text = f"a package of the format {named} is not read; there are readers of {names}"
    else:
        text = f"the package is of no known format; there are readers of {names}"
    return Finding(code="package_format_unknown", message=text)


def _installed(manifest: Mapping[str, Any], package: PackageFiles) -> dict[str, bytes]:
    if "files" not in manifest:
        return dict(package.files)
    declared = {file_path(each["path"]) for each in manifest["files"]}
    return {
        path: data
        for path, data in package.files.items()
        # What stands beside a manifest at the root is the manifest, or a neighbour's.
        if path in declared or path.endswith(("plugin.json", "package.json"))
    }


def _whole(manifest: dict[str, Any], package: PackageFiles) -> tuple[dict[str, Any], list[Finding]]:
    """Put the files that a manifest refers to into it: schemas and instructions."""
    found: list[Finding] = []
    made = dict(manifest)
    if "capabilities" in made:
        made["capabilities"] = [_with_schemas(each, package) for each in made["capabilities"]]
    skills = []
    for at, each in enumerate(made.get("skills", ())):
        one, told = _with_instructions(each, at, package)
        skills.append(one)
        found += told
    if skills:
        made["skills"] = skills
    return made, found


def _with_schemas(each: Mapping[str, Any], package: PackageFiles) -> dict[str, Any]:
    made = dict(each)
    for name in ("input_schema", "output_schema"):
        ref = schema_ref(made.get(name))
        if ref:
            made[name] = parse(package.files[file_path(ref)])
    return made


def _with_instructions(
    each: Mapping[str, Any], at: int, package: PackageFiles
) -> tuple[dict[str, Any], list[Finding]]:
    made = dict(each)
    if "path" not in made or "instructions" in made:
        return made, []
    data = package.files[file_path(made["path"])]
    place = f"/skills/{at}/path"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return made, [finding("package_manifest_invalid", "the skill is not UTF-8", place)]
    if len(data) > MAX_INSTRUCTIONS:
        text = f"the skill has more than {MAX_INSTRUCTIONS} bytes"
        return made, [finding("package_too_large", text, place)]
    made["instructions"] = text
    return made, []


def json_file(package: PackageFiles, path: str) -> tuple[Any, list[Finding]]:
    """Read a JSON file of a package, with a byte order mark or without."""
    return json_data(package.files[path], path)


def json_data(data: bytes, path: str) -> tuple[Any, list[Finding]]:
    """Read JSON of a file, with a byte order mark or without."""
    try:
        return parse(data.removeprefix(b"\xef\xbb\xbf")), []
    except JsonRefused as error:
        text = f"{path} is no JSON: {error}"
        return None, [finding("package_manifest_invalid", text, error.path)]


def is_manifest(data: Any) -> bool:
    """Tell whether JSON says that it is of this format."""
    return isinstance(data, dict) and data.get("kind") == KIND
