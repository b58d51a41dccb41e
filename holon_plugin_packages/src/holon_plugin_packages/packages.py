"""The packages of a storage root: registered, read, imported, compared, converted, removed."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_core.errors import Misuse, Refused, Rejected
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.skill import (
    SkillOutcome,
    SkillSourceDescriptor,
    SkillSourceKind,
    SkillState,
)
from holon_core.records.words import Severity
from holon_core.wire.canonical import digest as digest_of
from holon_plugin_packages.importing import skills_of, source_of, tool_id_of
from holon_plugin_packages.limits import PackageLimits, limits_of
from holon_plugin_packages.managed import Managed, Watched, pins_of
from holon_plugin_packages.normalising import Normalised, normalised
from holon_plugin_packages.reading_files import LEFT_OUT, read_path
from holon_plugin_packages.records import (
    ImportedState,
    PackageFiles,
    PackageReader,
    StoredPackage,
)

if TYPE_CHECKING:
    from holon_core.plugins.documents import Documents
    from holon_core.plugins.host import PluginHost
    from holon_core.runtime import Runtime

COLLECTION = "packages"
# As the schema has it: what names a folder is never anything else.
PACKAGE_ID = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
DOMAIN = "holon-plugin-package/1"
MAX_LISTED = 1000
KEPT = 1000


@frozen(kw_only=True)
class Registration:
    """What registering came to; ``replaced`` is what was registered by this id before."""

    package: StoredPackage
    changed: bool
    replaced: StoredPackage | None = None

    @property
    def is_new(self) -> bool:
        """Whether no package of this id was there."""
        return self.changed and self.replaced is None


class Packages:
    """The packages of one runtime.

    Args:
        host: What this lane sees of the runtime.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host
        self._watched = Watched()
        self._plans: OrderedDict[str, Mapping[str, Mapping[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()
        self._readers: tuple[PackageReader, ...] | None = None
        self._installed: Managed | None = None

    # What is read and kept.

    def find(self, package: str) -> StoredPackage | None:
        """Return a package, if it is registered."""
        found = self._documents().get(package) if package else None
        return None if found is None else found.value

    def read(self, package: str) -> StoredPackage:
        """Return a package.

        Raises:
            Refused: ``unknown_package``: none of this id is registered.
        """
        found = self.find(package)
        if found is None:
            text = f"no package {package!r:.120} is registered"
            raise Refused(failure("unknown_package", text))
        return found

    def page(self, *, after: str = "", limit: int = 50) -> list[StoredPackage]:
        """Return packages by id."""
        return [each.value for each in self._documents().list(after=after, limit=limit)]

    def folder(self, package: StoredPackage) -> Path:
        """Return where the files of a package are installed."""
        return self._managed().folder(package.id, package.digest)

    def changed(self, package: StoredPackage) -> list[str]:
        """Return the files that differ from what was registered.

        Looked at are the installed copies, and the folder that they came from while it is
        there: whoever changes that means the package to be another one. What came besides
        differs, too: a program may take it for a part of itself. Not so beside a manifest that
        says which files are its own, in the folder that they came from.
        """
        found = self._watched.changed(self.folder(package), package.pins)
        if not found and package.folder:
            found = self._watched.changed(
                Path(package.folder),
                package.pins,
                may_lack=True,
                left_out=None if "files" in package.manifest else LEFT_OUT,
            )
        return found

    def plan(self, package: StoredPackage, tool_id: str) -> Mapping[str, Any] | None:
        """Return what the manifest says of one capability, by its catalogue id."""
        plans = self._plans.get(package.digest)
        if plans is None:
            capabilities = package.manifest.get("capabilities", ())
            plans = {tool_id_of(package.id, each): each for each in capabilities}
            with self._lock:
                self._plans[package.digest] = plans
                if len(self._plans) > KEPT:
                    self._plans.popitem(last=False)
        return plans.get(tool_id)

    # What changes something.

    def collect(self, *, path: str | None = None, manifest: Any = None) -> PackageFiles:
        """Read the files of a package, from one of both.

        Raises:
            Rejected: It cannot be read, or any entry is refused.
        """
        if (path is None) == (manifest is None):
            text = "give the package in one way: path or manifest"
            raise Rejected("package", [Finding(code="config_invalid", message=text)])
        if path is not None:
            return read_path(path, self._limits())
        return PackageFiles(manifest=manifest, where="a manifest that was given")

    def normalise(
        self, *, path: str | None = None, manifest: Any = None, form: str | None = None
    ) -> tuple[Normalised, PackageFiles]:
        """Read a package and make a manifest of it; nothing is stored.

        Raises:
            Rejected: It is refused, with every finding.
        """
        files = self.collect(path=path, manifest=manifest)
        return normalised(files, self.readers(), wanted=form), files

    def register(
        self,
        *,
        path: str | None = None,
        manifest: Any = None,
        form: str | None = None,
        by: str = "",
    ) -> Registration:
        """Register a package: its files are pinned and installed, nothing of it is started.

        Args:
            path: A folder, an archive or a manifest's file of this machine.
            manifest: Instead of it, the manifest as JSON.
            form: Only this format, where a package is of several.
            by: Who registers it.

        Raises:
            Rejected: It is refused, with every finding; nothing is stored.
        """
        made, files = self.normalise(path=path, manifest=manifest, form=form)
        package_id = made.manifest["id"]
        before = self.find(package_id)
        if before is not None:
            _check_same(before, made)
        stored = self._stored(made, files, before, by)
        if before is not None and before.digest == stored.digest and not self.changed(before):
            self._keep(evolve(before, folder=stored.folder, origin=stored.origin))
            return Registration(package=self.read(package_id), changed=False)
        self._managed().install(
            package_id, stored.digest, made.files, programs=_programs(made.manifest)
        )
        self._keep(stored)
        self._managed().keep_only(package_id, stored.digest)
        return Registration(package=stored, changed=True, replaced=before)

    def _stored(
        self, made: Normalised, files: PackageFiles, before: StoredPackage | None, by: str
    ) -> StoredPackage:
        pins = pins_of(made.files)
        manifest = made.manifest
        digest = digest_of([manifest, pins], domain=DOMAIN)
        slots = {each["name"] for each in manifest.get("secret_slots", ())}
        secrets = {} if before is None else before.secrets
        return StoredPackage(
            id=manifest["id"],
            version=manifest["version"],
            format=made.format,
            formats=made.formats,
            digest=digest,
            manifest=manifest,
            pins=pins,
            origin=files.where,
            folder=files.folder,
            title=manifest.get("title", ""),
            description=manifest.get("description", ""),
            unmapped=made.unmapped,
            findings=made.findings,
            secrets={name: ref for name, ref in secrets.items() if name in slots},
            imported=False if before is None else before.imported,
            in_catalogue=None if before is None else _in_catalogue(before, digest),
            registered_by=by,
            registered_at_unix_seconds=int(self._host.clock.now()),
        )

    def import_package(
        self, runtime: Runtime, package: str, *, secrets: Mapping[str, str] | None = None
    ) -> tuple[SkillOutcome, ...]:
        """Take all of a registered package into the catalogue, or nothing of it.

        Args:
            runtime: The runtime.
            package: Its id.
            secrets: References by slot; those of an earlier import where left out.

        Raises:
            Refused: It is not registered; ``definition_changed``: its files changed.
            Rejected: Any capability or skill of it is refused.
        """
        stored = self.read(package)
        changed = self.changed(stored)
        if changed:
            text = f"files changed since it was registered: {', '.join(changed[:5])}"
            raise Refused(failure("definition_changed", text, files=changed[:5]))
        stored = evolve(stored, secrets=_bound(stored, secrets), imported=True, in_catalogue=None)
        source = SkillSourceDescriptor(
            id=source_of(package),
            kind=SkillSourceKind.PLUGIN_PACKAGE,
            title=(stored.title or stored.id)[:200],
        )
        given = skills_of(stored)

        def work() -> tuple[SkillOutcome, ...] | Refused:
            try:
                runtime.skills.register_source(source)
            except Refused as refused:
                # Nothing has changed yet but what policy kept of it, which stays: a held call.
                return refused
            outcomes = runtime.skills.store(source.id, given, whole=True)
            # A skill may come in while the registry keeps one of its tools out.
            found = [one for each in outcomes for one in each.findings]
            if has_errors(found) or any(each.state is SkillState.REJECTED for each in outcomes):
                raise Rejected(package, [one for one in found if one.severity is Severity.ERROR])
            self._keep(stored)
            return outcomes

        done = self._host.workbench().together(work)
        if isinstance(done, Refused):
            raise done
        return done

    def remove(self, runtime: Runtime, package: str) -> tuple[str, ...]:
        """Remove a package with its capabilities and files; evidence stays.

        Returns:
            The ids of the tools that are gone.

        Raises:
            Refused: It is not registered.
        """
        if self.find(package) is None:
            # Files that a crash left behind, after the package itself was gone.
            if PACKAGE_ID.fullmatch(package):
                self._managed().keep_only(package, None)
            self.read(package)

        def work() -> tuple[str, ...] | Refused:
            gone: tuple[str, ...] = ()
            try:
                gone = runtime.skills.remove_source(source_of(package))
            except Refused as refused:
                if refused.failure.code != "unknown_skill":
                    return refused
            self._documents().remove(package)
            return gone

        done = self._host.workbench().together(work)
        if isinstance(done, Refused):
            raise done
        self._managed().keep_only(package, None)
        return done

    def _keep(self, package: StoredPackage) -> None:
        self._documents().put(package.id, package)

    # What it stands on.

    def _documents(self) -> Documents[StoredPackage]:
        return self._host.documents(COLLECTION, StoredPackage)

    def _managed(self) -> Managed:
        if self._installed is None:
            try:
                self._installed = Managed(self._host.folder / "packages")
            except Misuse as error:
                raise Refused(failure("host_unsupported", str(error))) from None
        return self._installed

    def _limits(self) -> PackageLimits:
        try:
            return limits_of(self._host.config)
        except (TypeError, ValueError) as error:
            text = f"[lane.packages] of holon.toml: {error}"
            raise Rejected(
                "configuration", [Finding(code="config_invalid", message=text)]
            ) from None

    def readers(self) -> tuple[PackageReader, ...]:
        """Return all readers, this lane's and those of plugins, by rank."""
        if self._readers is None:
            from holon_plugin_packages.joining import joined_readers

            self._readers = joined_readers(self._host)
        return self._readers


def _in_catalogue(before: StoredPackage, digest: str) -> ImportedState | None:
    """Return the imported state of a package that is registered anew by a digest."""
    state = before.in_catalogue
    if state is None and before.imported:
        state = ImportedState(
            digest=before.digest,
            version=before.version,
            manifest=before.manifest,
            pins=before.pins,
        )
    return None if state is None or state.digest == digest else state


def _check_same(before: StoredPackage, made: Normalised) -> None:
    """Refuse what takes the id of a package of somebody else, or of another format.

    Raises:
        Rejected: ``duplicate_id``.
    """
    publisher = publisher_of(before.manifest)
    now = publisher_of(made.manifest)
    if before.format == made.format and publisher in ("", now):
        return
    text = (
        f"the id {before.id} is taken by {before.title or before.id} {before.version}, of the "
        f"format {before.format}{publisher and f' by {publisher}'}; this one is of the format "
        f"{made.format}{now and f' by {now}'}: plugin-package/remove the other first, if this is "
        "to be in its place"
    )
    raise Rejected(before.id, [Finding(code="duplicate_id", message=text[:1000], path="/id")])


def publisher_of(manifest: Mapping[str, Any]) -> str:
    """Return who publishes a package, by its own word."""
    name: str = manifest.get("publisher", {}).get("name", "")
    return name


def _programs(manifest: Mapping[str, Any]) -> list[str]:
    """Return the packaged files that capabilities start."""
    programs = [
        each["command"]["program"] for each in manifest.get("capabilities", ()) if "command" in each
    ]
    return [each.removeprefix("./") for each in programs if each.startswith("./")]


def _bound(package: StoredPackage, secrets: Mapping[str, str] | None) -> dict[str, str]:
    known = {each["name"] for each in package.manifest.get("secret_slots", ())}
    made = {**package.secrets, **(secrets or {})}
    wrong = sorted(made.keys() - known)
    if wrong:
        findings = [
            Finding(
                code="unresolved_ref",
                message=f"the package has no secret slot {name!r:.100}",
                path=f"/secrets/{name}",
            )
            for name in wrong
        ]
        raise Rejected(package.id, findings)
    return made
