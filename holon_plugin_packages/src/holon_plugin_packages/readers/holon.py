"""The reader of ``holon-plugin/v1`` itself."""

from __future__ import annotations

from holon_core.records.finding import Finding
from holon_plugin_packages.normalising import is_manifest, json_file
from holon_plugin_packages.records import KIND, PackageFiles, PackageReader, Reading

PLACES = ("holon-plugin.json", "plugin.json")
GIVEN = "(manifest)"


def recognise(package: PackageFiles) -> str:
    """Return where the manifest is: at the root, or the one file that was given."""
    if package.manifest is not None:
        return GIVEN if is_manifest(package.manifest) else ""
    alone = tuple(package.files) if len(package.files) == 1 else ()
    for path in (*PLACES, *alone):
        if path not in package.files or not path.endswith(".json"):
            continue
        data, faults = json_file(package, path)
        # By its name it is one, whatever is wrong with it.
        if is_manifest(data) or (faults and path == PLACES[0]):
            return path
    return ""


def read(package: PackageFiles, path: str) -> Reading:
    """Return the manifest as it is."""
    if path == GIVEN:
        return Reading(manifest=package.manifest)
    data, faults = json_file(package, path)
    if not faults and not isinstance(data, dict):
        faults = [Finding(code="package_manifest_invalid", message=f"{path} is no object")]
    return Reading(manifest=None if faults else data, findings=tuple(faults))


READERS = (PackageReader(format=KIND, rank=0, recognise=recognise, read=read),)
