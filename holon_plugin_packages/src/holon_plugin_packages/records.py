"""What the lane keeps and hands around: the files of a package, a reading, a stored package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from attrs import field, frozen

from holon_core.records.finding import Finding

KIND = "holon-plugin/v1"
LANE = "plugin_package"
OWNER = "holon-plugin-packages"


@frozen(kw_only=True)
class PackageFiles:
    """The files of a package by their path inside it, read once, all of them regular.

    ``where`` says where they come from, for people; ``folder`` is that folder, where it is one.
    ``manifest`` is what was given instead of files. Of an archive ``archive_sha256`` is its
    digest, and ``beside`` the locks that stand beside it, by their names.
    """

    files: Mapping[str, bytes] = field(factory=dict, repr=False)
    where: str = ""
    folder: str = ""
    manifest: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()
    archive_sha256: str = ""
    beside: Mapping[str, bytes] = field(factory=dict, repr=False)


@frozen(kw_only=True)
class Unmapped:
    """A part of a foreign package that ``holon-plugin/v1`` has no place for, and why."""

    path: str
    reason: str


@frozen(kw_only=True)
class Reading:
    """What a reader made of a package.

    ``manifest`` is a ``holon-plugin/v1`` object, in full; ``None`` where nothing came of it.
    ``unmapped`` is everything of the package that is not in it.
    """

    manifest: Mapping[str, Any] | None
    unmapped: tuple[Unmapped, ...] = ()
    findings: tuple[Finding, ...] = ()


class Recognise(Protocol):
    """Says which file of a package is the manifest of a format; empty where none is."""

    def __call__(self, files: PackageFiles, /) -> str:
        """Return the path of the manifest."""
        ...


@frozen(kw_only=True)
class PackageReader:
    """Reads one format of packages; see the hook ``holon_package_readers``.

    ``rank`` orders formats where a package is of several: the lowest is read.
    """

    format: str
    rank: int
    recognise: Recognise = field(repr=False)
    read: Callable[[PackageFiles, str], Reading] = field(repr=False)


@frozen(kw_only=True)
class ImportedState:
    """The state of a package whose capabilities are in the catalogue, where it is another one."""

    digest: str
    version: str
    manifest: Mapping[str, Any]
    pins: Mapping[str, str]


@frozen(kw_only=True)
class StoredPackage:
    """A registered package: its manifest, the digest of every file, what was found.

    ``digest`` covers the manifest and every pinned file. ``pins`` are digests by path.
    ``formats`` are all formats that the package was recognised as, the one read first.
    ``imported`` says whether its capabilities are in the catalogue, ``secrets`` which
    reference the operator bound to which slot. ``in_catalogue`` is the state that was imported,
    where another one was registered since and its import is outstanding; else ``None``.
    """

    id: str
    version: str
    format: str
    formats: tuple[str, ...]
    digest: str
    manifest: Mapping[str, Any]
    pins: Mapping[str, str]
    origin: str
    folder: str
    title: str = ""
    description: str = ""
    unmapped: tuple[Unmapped, ...] = ()
    findings: tuple[Finding, ...] = ()
    secrets: Mapping[str, str] = field(factory=dict)
    imported: bool = False
    in_catalogue: ImportedState | None = None
    registered_by: str = ""
    registered_at_unix_seconds: int = 0
