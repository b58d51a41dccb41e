"""Agent Skills: a folder with a ``SKILL.md``, its resources and scripts."""

from __future__ import annotations

from holon_plugin_packages.readers.building import Builder
from holon_plugin_packages.readers.instructions import add_skill
from holon_plugin_packages.records import PackageFiles, PackageReader, Reading

FILE = "SKILL.md"


def recognise(package: PackageFiles) -> str:
    """Return the skill at the root; else the first of a folder of skills."""
    if FILE in package.files:
        return FILE
    deep = [path for path in package.files if path.endswith(f"/{FILE}")]
    return min(deep, default="")


def read(package: PackageFiles, path: str) -> Reading:
    """Read one skill, or a folder of skills."""
    import posixpath

    builder = Builder(package)
    places = [path] if path == FILE else sorted(p for p in package.files if p.endswith(f"/{FILE}"))
    for each in places:
        add_skill(builder, each)
    skills = builder.manifest.get("skills", [])
    if not skills:
        reasons = "; ".join(each.reason for each in builder.unmapped)
        builder.refuse("package_manifest_invalid", f"no skill of it can be read: {reasons}", path)
        return builder.done()
    first = skills[0]
    alone = len(skills) == 1
    where = posixpath.basename(package.where.rstrip("/").replace("\\", "/"))
    metadata = first.get("metadata", {})
    version = metadata.get("version")
    inner = metadata.get("metadata")
    if version is None and isinstance(inner, dict):
        version = inner.get("version")
    builder.identity(
        first["name"] if alone else where or "skills",
        version if alone else None,
        {"description": first.get("description"), "license": first.get("license")} if alone else {},
    )
    return builder.done()


READERS = (PackageReader(format="agent-skill", rank=140, recognise=recognise, read=read),)
