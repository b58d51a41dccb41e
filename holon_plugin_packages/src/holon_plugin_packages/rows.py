"""The operations of this lane: `plugin-package/register|read|list|import|diff|convert|remove`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from holon_core.errors import Rejected
from holon_core.operations.answers import answer, listed, schema_of, to_json
from holon_core.operations.schemas import AFTER_ID, LIMIT, params, text
from holon_core.records.approval_view import ViewChange
from holon_core.records.finding import Finding
from holon_core.records.operation import Operation
from holon_core.records.skill import SkillOutcome
from holon_core.records.words import Authority, Effect

if TYPE_CHECKING:
    from holon_core.operations.door import Door, Params
    from holon_plugin_packages.packages import Packages
    from holon_plugin_packages.records import StoredPackage, Unmapped

NOUN = "plugin-package"
_STRING = {"type": "string"}
_ID = text("Id of the package.", limit=100)
_WAYS: Mapping[str, Any] = {
    "path": text("A folder, a zip or tar, or a manifest's file of this machine.", limit=4096),
    "manifest": {"type": "object", "description": "Instead of it, the manifest itself."},
    "format": text("Only this format, where a package is of several.", limit=100),
}
_FINDINGS = listed(schema_of(Finding))
_UNMAPPED = listed(answer(path=_STRING, reason=_STRING))
_SUMMARY = answer(
    id=_STRING,
    version=_STRING,
    title=_STRING,
    description=_STRING,
    format=_STRING,
    formats=listed(_STRING),
    digest=_STRING,
    source=_STRING,
    origin=_STRING,
    capabilities={"type": "integer"},
    skills={"type": "integer"},
    mcp_servers={"type": "integer"},
    imported={"type": "boolean"},
    import_outstanding={"type": "boolean"},
    changed=listed(_STRING),
    registered_by=_STRING,
    registered_at_unix_seconds={"type": "integer"},
)
_BEFORE: dict[str, Any] = {
    "anyOf": [
        answer(version=_STRING, format=_STRING, digest=_STRING, origin=_STRING),
        {"type": "null"},
    ]
}
_READS = frozenset({Effect.HOST_STATE_READ})
_WRITES = frozenset({Effect.HOST_STATE_WRITE})
MAX_SHOWN = 200


def register(packages: Packages, door: Door, given: Params) -> Any:
    """Register a package."""
    done = packages.register(
        path=given.get("path"),
        manifest=given.get("manifest"),
        form=given.get("format"),
        by=door.caller.principal,
    )
    return {
        "package": _summary(packages, done.package),
        "is_new": done.is_new,
        "changed": done.changed,
        "replaced": None if done.replaced is None else _before(done.replaced),
        "findings": to_json(done.package.findings[:MAX_SHOWN]),
        "unmapped": _unmapped(done.package.unmapped),
    }


def read(packages: Packages, door: Door, given: Params) -> Any:
    """Answer one package."""
    from holon_plugin_packages.importing import tool_id_of

    found = packages.read(given["package"])
    proposals = list(found.manifest.get("adapter_bindings", ()))
    return {
        "package": _summary(packages, found),
        "manifest": dict(found.manifest),
        "pins": dict(found.pins),
        "tools": [tool_id_of(found.id, each) for each in found.manifest.get("capabilities", ())],
        "secrets": {name: ref for name, ref in found.secrets.items() if door.sees_all},
        "adapter_bindings": [{"package": found.id, **each} for each in proposals],
        "findings": to_json(found.findings[:MAX_SHOWN]),
        "unmapped": _unmapped(found.unmapped),
    }


def list_packages(packages: Packages, door: Door, given: Params) -> Any:
    """Answer a page of packages."""
    limit = given.get("limit", 50)
    found = packages.page(after=given.get("after", ""), limit=limit)
    last = found[-1].id if len(found) == limit else None
    return {"packages": [_summary(packages, each) for each in found], "next_after": last}


def import_package(packages: Packages, door: Door, given: Params) -> Any:
    """Take a package into the catalogue."""
    done = packages.import_package(door.runtime, given["package"], secrets=given.get("secrets"))
    return {"skills": to_json(done)}


def diff(packages: Packages, door: Door, given: Params) -> Any:
    """Compare a package, as it is in the catalogue, with what is there now, or with another."""
    from holon_plugin_packages.differing import difference
    from holon_plugin_packages.managed import pins_of

    before = packages.read(given["package"])
    path = given.get("path")
    if path is None and "manifest" not in given:
        path = before.origin
    after, _ = packages.normalise(
        path=path, manifest=given.get("manifest"), form=given.get("format")
    )
    if after.manifest["id"] != before.id:
        said = f"it is the package {after.manifest['id']}, not {before.id}"
        raise Rejected(before.id, [Finding(code="config_invalid", message=said, path="/package")])
    state = before.in_catalogue or before
    found = difference(
        state.manifest,
        after.manifest,
        pins_before=state.pins,
        pins_after=pins_of(after.files),
    )
    return {
        "same": found.same,
        "import_outstanding": before.in_catalogue is not None,
        "compared_version": state.version,
        "compared_digest": state.digest,
        "added": list(found.added),
        "removed": list(found.removed),
        "changed": [
            {"capability": name, "changes": to_json(each)} for name, each in found.changed.items()
        ],
        "manifest": to_json(found.manifest),
        "files": dict(found.files),
    }


def convert(packages: Packages, door: Door, given: Params) -> Any:
    """Answer a package as a manifest of Holon's; nothing is stored."""
    made, _ = packages.normalise(
        path=given.get("path"), manifest=given.get("manifest"), form=given.get("format")
    )
    return {
        "manifest": dict(made.manifest),
        "format": made.format,
        "formats": list(made.formats),
        "findings": to_json(made.findings[:MAX_SHOWN]),
        "unmapped": _unmapped(made.unmapped),
    }


def remove(packages: Packages, door: Door, given: Params) -> Any:
    """Remove a package."""
    return {"removed": list(packages.remove(door.runtime, given["package"]))}


def _summary(packages: Packages, package: StoredPackage) -> dict[str, Any]:
    from holon_plugin_packages.importing import source_of

    manifest = package.manifest
    return {
        "id": package.id,
        "version": package.version,
        "title": package.title,
        "description": package.description,
        "format": package.format,
        "formats": list(package.formats),
        "digest": package.digest,
        "source": source_of(package.id),
        "origin": package.origin,
        "capabilities": len(manifest.get("capabilities", ())),
        "skills": len(manifest.get("skills", ())),
        "mcp_servers": len(manifest.get("mcp_servers", ())),
        "imported": package.imported,
        "import_outstanding": package.in_catalogue is not None,
        "changed": packages.changed(package)[:MAX_SHOWN],
        "registered_by": package.registered_by,
        "registered_at_unix_seconds": package.registered_at_unix_seconds,
    }


def _before(package: StoredPackage) -> dict[str, str]:
    return {
        "version": package.version,
        "format": package.format,
        "digest": package.digest,
        "origin": package.origin,
    }


def _unmapped(unmapped: tuple[Unmapped, ...]) -> list[dict[str, str]]:
    return [{"path": each.path, "reason": each.reason} for each in unmapped]


def rows(packages: Packages) -> list[Operation]:
    """Return the rows of the table, with the packages of one runtime behind them."""

    def row(
        verb: str,
        handler: Callable[..., Any],
        request: Mapping[str, Any],
        response: Mapping[str, Any],
        *,
        authority: Authority = Authority.OPERATOR,
        effects: frozenset[Effect] = _WRITES,
        doc: str,
        **more: Any,
    ) -> Operation:
        return Operation(
            noun=NOUN,
            verb=verb,
            request=request,
            response=response,
            authority=authority,
            effects=effects,
            handler=partial(handler, packages),
            doc=doc,
            **more,
        )

    return [
        row(
            "register",
            register,
            params(**_WAYS),
            answer(
                package=_SUMMARY,
                is_new={"type": "boolean"},
                changed={"type": "boolean"},
                replaced=_BEFORE,
                findings=_FINDINGS,
                unmapped=_UNMAPPED,
            ),
            positional=("path",),
            effects=_WRITES | {Effect.MACHINE_READ},
            doc=(
                "Register a package: every file is judged, pinned by its digest and copied into "
                "the storage root. Nothing of it is started, and nothing is in the catalogue yet."
            ),
        ),
        row(
            "read",
            read,
            params(("package",), package=_ID),
            answer(
                package=_SUMMARY,
                manifest={"type": "object"},
                pins={"type": "object"},
                tools=listed(_STRING),
                secrets={"type": "object"},
                adapter_bindings=listed({"type": "object"}),
                findings=_FINDINGS,
                unmapped=_UNMAPPED,
            ),
            authority=Authority.CALLER,
            effects=_READS,
            positional=("package",),
            doc=(
                "Read a package: its manifest as holon-plugin/v1, the digest of each file, what "
                "could not be mapped, and the adapter bindings that it proposes."
            ),
        ),
        row(
            "list",
            list_packages,
            params(after=AFTER_ID, limit=LIMIT),
            answer(packages=listed(_SUMMARY), next_after={"type": ["string", "null"]}),
            authority=Authority.CALLER,
            effects=_READS,
            listing="packages",
            columns=(
                "id",
                "version",
                "format",
                "capabilities",
                "skills",
                "imported",
                "import_outstanding",
                "changed",
            ),
            doc=(
                "List registered packages by id; `changed` names files that differ since, and "
                "`import_outstanding` says that another state was imported."
            ),
        ),
        row(
            "import",
            import_package,
            params(
                ("package",),
                package=_ID,
                secrets={
                    "type": "object",
                    "additionalProperties": text("A reference: scheme:rest.", limit=1100),
                    "description": "Which reference each secret slot is bound to.",
                },
            ),
            answer(skills=listed(schema_of(SkillOutcome))),
            positional=("package",),
            listing="skills",
            columns=("id", "state", "tools"),
            doc=(
                "Take a registered package into the catalogue: all of it or nothing. Its "
                "capabilities are found at once, and run only after skill/approve-execution."
            ),
        ),
        row(
            "diff",
            diff,
            params(("package",), package=_ID, **_WAYS),
            answer(
                same={"type": "boolean"},
                import_outstanding={"type": "boolean"},
                compared_version=_STRING,
                compared_digest=_STRING,
                added=listed(_STRING),
                removed=listed(_STRING),
                changed=listed(answer(capability=_STRING, changes=listed(schema_of(ViewChange)))),
                manifest=listed(schema_of(ViewChange)),
                files={"type": "object"},
            ),
            positional=("package", "path"),
            effects=_READS | {Effect.MACHINE_READ},
            listing="changed",
            columns=("capability", "changes"),
            doc=(
                "Compare a registered package with where it came from, or with another state of "
                "it: capabilities, schemas, effects, commands, descriptions, files. Where the "
                "import of a newer registration is outstanding, what was imported is compared."
            ),
        ),
        row(
            "convert",
            convert,
            params(**_WAYS),
            answer(
                manifest={"type": "object"},
                format=_STRING,
                formats=listed(_STRING),
                findings=_FINDINGS,
                unmapped=_UNMAPPED,
            ),
            positional=("path",),
            effects=frozenset({Effect.MACHINE_READ}),
            doc="Show a package of any format as holon-plugin/v1, with what has no place there.",
        ),
        row(
            "remove",
            remove,
            params(("package",), package=_ID),
            answer(removed=listed(_STRING)),
            positional=("package",),
            doc="Remove a package with its capabilities, approvals and files; evidence stays.",
        ),
    ]
