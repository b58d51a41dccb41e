"""What contracts demand beyond their schemas: names, pairs, paths, order of side effects.

Source: docs/elegy.md, "Rules beyond the schemas".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from elegy_contracts.finding import Finding, Severity, pointer
from elegy_contracts.package_rules import elegy_lock, elegy_package, plugin_package
from elegy_contracts.templates import STDIN, names_in

T = TypeVar("T")
Rule = Callable[[dict[str, Any]], Iterator[Finding]]
# What a rule meets in data that does not fit the schema it counts on.
_UNFIT = (LookupError, TypeError, AttributeError, ValueError)


def beyond_schema(
    contract: str, data: dict[str, Any], *, broken: frozenset[str] = frozenset()
) -> list[Finding]:
    """Return what breaks the rules of a contract.

    Args:
        contract: Its name.
        data: In the contract's own spelling.
        broken: Paths at which it does not fit its schema. What the rules say beside these is
            returned, as far as they can be applied at all.
    """
    rule = _RULES.get(contract)
    if rule is None:
        return []
    parts = _skill_parts(data) if contract == "skill" else iter([rule(data)])
    if not broken:
        return [finding for part in parts for finding in part]
    found = [finding for part in _as_far_as(parts) for finding in _as_far_as(part)]
    return [each for each in found if each.code != "blank" or each.path not in broken]


def _as_far_as(items: Iterator[T]) -> Iterator[T]:
    """Give what comes before data is met that cannot be judged."""
    try:
        yield from items
    except _UNFIT:
        return


def _error(code: str, message: str, *path: str | int) -> Finding:
    return Finding(code=code, message=message, path=pointer(*path))


def _warning(code: str, message: str, *path: str | int, spoils: str = "") -> Finding:
    return Finding(
        code=code,
        message=message,
        path=pointer(*path),
        severity=Severity.WARNING,
        spoils=spoils,
    )


def _all(items: Any, name: str) -> Iterator[Any]:
    """Return a member of each; of what has none, nothing, which the schema tells."""
    return (each.get(name) if isinstance(each, dict) else None for each in items)


def _twice(values: Iterable[Any], what: str, *path: str | int) -> Iterator[Finding]:
    """Find values that are there twice, ignoring case."""
    seen: set[str] = set()
    for at, value in enumerate(values):
        if not isinstance(value, str):
            continue
        if value.casefold() in seen:
            yield _error("duplicate", f"the {what} {value!r:.80} is there twice", *path, at)
        seen.add(value.casefold())


def _blank(values: Any, *path: str | int) -> Iterator[Finding]:
    for at, value in enumerate(values or ()):
        if not value.strip():
            yield _error("blank", "a text is blank", *path, at)


def _skill(data: dict[str, Any]) -> Iterator[Finding]:
    for part in _skill_parts(data):
        yield from part


def _skill_parts(data: dict[str, Any]) -> Iterator[Iterator[Finding]]:
    """Give the rules of a skill part by part, so that a part that is broken hides no other."""
    yield _identity(data)
    yield _metadata(data)
    yield _host_projection(data)
    capabilities = data["capabilities"]
    yield _twice(_all(capabilities, "id"), "capability", "capabilities")
    for at, each in enumerate(capabilities):
        yield _capability(each, "capabilities", at)


def _identity(data: Mapping[str, Any]) -> Iterator[Finding]:
    identity = data["identity"]
    yield from _twice(identity.get("aliases", ()), "alias", "identity", "aliases")
    yield from _blank_members(identity, ("namespace", "name", "version"), "identity")


def _metadata(data: Mapping[str, Any]) -> Iterator[Finding]:
    metadata = data.get("metadata", {})
    for name in ("tags", "owners"):
        yield from _blank(metadata.get(name), "metadata", name)


def _blank_members(
    data: Mapping[str, Any], names: Iterable[str], *path: str | int
) -> Iterator[Finding]:
    for name in names:
        given = data.get(name)
        if isinstance(given, str) and not given.strip():
            yield _error("blank", f"the {name} is blank", *path, name)


def _capability(each: Mapping[str, Any], *path: str | int) -> Iterator[Finding]:
    yield from _blank_members(each, ("id", "name", "description"), *path)
    parameters = each.get("input", {}).get("parameters", ())
    yield from _twice(_all(parameters, "name"), "parameter", *path, "input", "parameters")
    spoils = each["id"]
    names = [parameter["name"] for parameter in parameters]
    implementation = each.get("implementation")
    if implementation is None:
        text = "it does not say how it is invoked, as skills of the first days of version 2"
        yield _warning("implementation_missing", text, *path, spoils=spoils)
        return
    if not implementation["executableName"].strip():
        at = (*path, "implementation", "executableName")
        yield _error("blank", "the name of the executable is blank", *at)
    known = {name.casefold() for name in names}
    if each.get("input", {}).get("stdinFormat") is not None:
        known.add(STDIN)
    for name in names_in(implementation["arguments"]):
        if name.casefold() not in known:
            text = f"the placeholder {name!r:.80} names no declared parameter"
            at = (*path, "implementation", "arguments")
            yield _warning("placeholder_undeclared", text, *at, spoils=spoils)
    schema = (each.get("output", {}).get("schemaRef") or "").strip()
    if implementation["executionType"] == "subprocess" and not schema:
        text = "a capability that is a subprocess names no output schema"
        yield _warning("output_schema_missing", text, *path, "output", spoils=spoils)


def _host_projection(data: Mapping[str, Any]) -> Iterator[Finding]:
    projections = data.get("hostProjection", {}).get("capabilityProjections", ())
    path = ("hostProjection", "capabilityProjections")
    for name in ("capabilityId", "functionName"):
        yield from _twice(_all(projections, name), name, *path)
    known = {each["id"].casefold() for each in data["capabilities"]}
    for at, each in enumerate(projections):
        if each["capabilityId"].casefold() not in known:
            text = f"no capability {each['capabilityId']!r:.80} is defined"
            yield _error("unknown_capability", text, *path, at, "capabilityId")


def _skill_v1(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _blank_members(data, ("id", "name", "description"))
    parameters = data.get("input", {}).get("parameters", ())
    yield from _twice(_all(parameters, "name"), "parameter", "input", "parameters")


def _capability_definition(data: dict[str, Any]) -> Iterator[Finding]:
    governance, source = data["governance"], data["source"]
    if governance["approvalRequirement"] == "required" and not governance.get("policyRefs"):
        text = "a required approval names the policy that requires it"
        yield _error("policy_ref_missing", text, "governance", "policyRefs")
    manual = source["sourceKind"] == "manual"
    if not manual and not (source.get("sourceRef") or source.get("artifactRef")):
        yield _error("source_ref_missing", "what is not manual says where it is from", "source")
    yield from _blank(data.get("tags"), "tags")
    yield from _blank(governance.get("policyRefs"), "governance", "policyRefs")
    yield from _blank(data["observability"].get("labels"), "observability", "labels")


def _catalogue_v1(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _entries(data)
    for at, each in enumerate(data["capabilities"]):
        kind = each.get("kind", "cli")
        if kind == "app-binding":
            if not each.get("appBinding"):
                text = "an app binding names its connector"
                yield _error("binding_missing", text, "capabilities", at)
        elif not ((each.get("invocation") or {}).get("executable") or "").strip():
            text = f"a capability of kind {kind} needs an invocation with an executable"
            yield _error("invocation_missing", text, "capabilities", at)


def _entries(data: dict[str, Any]) -> Iterator[Finding]:
    if not data["capabilities"]:
        yield _error("empty", "a catalogue holds a capability at least", "capabilities")
    yield from _twice(_all(data["capabilities"], "id"), "id", "capabilities")


def _catalogue_v2(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _entries(data)
    for at, each in enumerate(data["capabilities"]):
        path = ("capabilities", at, "invocation")
        if each["kind"] == "cli" and not each["invocation"]["command"]:
            yield _error("empty", "the command is empty", *path, "command")
        if each["kind"] == "cli" and not each["invocation"]["executable"].strip():
            yield _error("blank", "the executable is blank", *path, "executable")


def _failure(data: Mapping[str, Any], *path: str | int) -> Iterator[Finding]:
    yield from _blank_members(data, ("code", "message"), *path)


def _response(data: dict[str, Any]) -> Iterator[Finding]:
    if data["status"] == "completed" and data.get("output") is None:
        yield _error("output_missing", "what completed has an output", "output")
    if data["status"] != "completed" and data.get("failure") is None:
        yield _error("failure_missing", f"what is {data['status']} has a failure", "failure")
    if data.get("failure"):
        yield from _failure(data["failure"], "failure")
    yield from _texts(data)


def _event(data: dict[str, Any]) -> Iterator[Finding]:
    if data["eventType"] in ("failed", "cancelled") and data.get("failure") is None:
        yield _error("failure_missing", f"a {data['eventType']} event has a failure", "failure")
    progress = data.get("progress")
    if progress and progress["total"] < progress["current"]:
        text = "the total is less than what is done"
        yield _error("progress_beyond_total", text, "progress", "total")
    yield from _texts(data)


def _texts(data: Mapping[str, Any]) -> Iterator[Finding]:
    for name in ("requestId", "executionId", "eventId", "capabilityId"):
        if isinstance(data.get(name), str) and not data[name].strip():
            yield _error("blank", f"{name} is blank", name)
    for name, value in (data.get("metadata") or {}).items():
        if not name.strip() or not value.strip():
            yield _error("blank", "an entry of the metadata is blank", "metadata", name)


def _request(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _texts(data)
    yield from _texts(data["context"])


def _workflow(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _twice(_all(data["nodes"], "id"), "node", "nodes")
    ids = [node["id"] for node in data["nodes"]]
    known = set(ids)
    for at, edge in enumerate(data["edges"]):
        for end in ("fromStepId", "toStepId"):
            if edge[end] not in known and edge[end] != "trigger":
                text = f"no node {edge[end]!r:.80} is defined"
                yield _error("unknown_node", text, "edges", at, end)
    entry = data.get("entryStepId")
    if entry and entry not in known:
        yield _error("unknown_node", f"no node {entry!r:.80} is defined", "entryStepId")


def _crystallized(data: dict[str, Any]) -> Iterator[Finding]:
    from elegy_contracts.portable import host_only

    yield from host_only(data)
    for name in ("variableSlots", "secretSlots"):
        yield from _twice(_all(data.get(name, ()), "name"), "slot", name)
    yield from _twice(_all(data.get("validation", ()), "id"), "id", "validation")


_RULES: Mapping[str, Rule] = {
    "skill": _skill,
    "skill-definition": _skill_v1,
    "capability-definition": _capability_definition,
    "elegy-capability-catalog-v1": _catalogue_v1,
    "elegy-capability-catalog-v2": _catalogue_v2,
    "elegy-plugin-package": plugin_package,
    "elegy-package-v1": elegy_package,
    "elegy-lock-v1": elegy_lock,
    "structured-failure": _failure,
    "invocation-response": _response,
    "invocation-request": _request,
    "execution-event": _event,
    "canonical-workflow-graph": _workflow,
    "crystallized-capability": _crystallized,
}
