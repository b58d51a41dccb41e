"""The files beside a skill: references, scripts and templates, as its instructions name them."""

from __future__ import annotations

import posixpath
from hashlib import sha256
from typing import TYPE_CHECKING

from holon_core.records.failure import StructuredFailure, failure
from holon_plugin_packages.checking import file_path
from holon_plugin_packages.importing import package_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.records.skill import SkillEntry
    from holon_plugin_packages.packages import Packages
    from holon_plugin_packages.records import StoredPackage

FILE = "SKILL.md"
# The skill itself, and lists of servers, where literal values of secrets stand.
_KEPT_BACK = frozenset({FILE, "mcp.json", ".mcp.json"})


class Resources:
    """The files of the skills of packages: those below a ``SKILL.md``, as they were registered.

    Args:
        packages: The packages of one runtime.
    """

    def __init__(self, packages: Packages) -> None:
        self._packages = packages

    def names(self, skill: SkillEntry, /) -> Sequence[str]:
        """Return the names of a skill's files, relative to its ``SKILL.md``."""
        package, root = self._place(skill)
        if package is None:
            return ()
        inner = [path for path in package.pins if path.startswith(root)]
        # What is below another skill is that skill's.
        others = [f"{posixpath.dirname(path)}/" for path in inner if path.endswith(f"/{FILE}")]
        below = tuple(each for each in others if each != root)
        own = (path for path in inner if not path.startswith(below))
        return [
            path.removeprefix(root) for path in own if posixpath.basename(path) not in _KEPT_BACK
        ]

    def read(self, skill: SkillEntry, name: str, /) -> bytes | StructuredFailure:
        """Return the installed copy of a file, where it is still what was registered."""
        package, root = self._place(skill)
        pin = None if package is None else package.pins.get(f"{root}{name}")
        if package is None or pin is None:
            text = "the package is not registered as it was imported; import it again"
            return failure("definition_changed", text)
        path = self._packages.folder(package) / f"{root}{name}"
        try:
            data = b"" if path.is_symlink() else path.read_bytes()
        except OSError:
            data = b""
        if sha256(data).hexdigest() != pin:
            text = f"{name!r:.200} changed since the package was registered"
            return failure("definition_changed", text, package=package.id)
        return data

    def _place(self, skill: SkillEntry) -> tuple[StoredPackage | None, str]:
        """Return the package that a skill was imported of, and the folder that it has there."""
        package = self._packages.find(package_of(skill.skill.source))
        metadata = skill.skill.metadata
        path = metadata.get("path")
        same = package is not None and metadata.get("package", {}).get("digest") == package.digest
        if not same or not isinstance(path, str):
            return None, ""
        folder, file = posixpath.split(file_path(path))
        if file != FILE:
            return None, ""
        return package, f"{folder}/" if folder else ""
