"""The normalised model that lanes share: any kind of skill as capabilities with closed schemas.

Skill definitions of both versions, capability definitions and capability catalogues become the
same records. Nothing here is fetched: a reference to a schema is resolved to one that this
package carries, or is unresolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from elegy_contracts.finding import ContractError, Finding, Severity, pointer
from elegy_contracts.package_rules import skill_class, supports_dry_run
from elegy_contracts.reading import Reading, examine
from elegy_contracts.shapes import names, schema
from elegy_contracts.templates import STDIN, names_in

IMPORTABLE = (
    "skill",
    "skill-definition",
    "capability-definition",
    "elegy-capability-catalog-v1",
    "elegy-capability-catalog-v2",
)
DEFAULT_TIMEOUT_S = 30
# More parameters than this make a schema that hosts look at themselves.
MANY = 200
# Kinds of parameters; every other word is read as a text.
PARAMETERS: Mapping[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "path": {"type": "string"},
    "path-or-stdin": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "array": {"type": "array", "items": {"type": "string"}},
}
# Readiness of a catalogue's entry from which on it is meant to be called.
ROUTABLE = frozenset({"usable", "production"})


@frozen(kw_only=True)
class NormalCapability:
    """One capability.

    A schema that is ``None`` is not usable. ``claims`` are words of side effects with the name
    of their vocabulary; ``has_side_effects`` is ``None`` where nothing is declared.
    ``input_is_made`` says that its input schema is made of parameters, and thus sound.
    ``implementation`` is how it is invoked, ``None`` where nothing says so; ``blocked`` says in
    texts what keeps it from being executed.
    """

    id: str
    name: str
    description: str
    input_schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    input_is_made: bool = False
    claims: tuple[tuple[str, str], ...] = ()
    has_side_effects: bool | None = None
    is_deterministic: bool | None = None
    timeout_s: int = DEFAULT_TIMEOUT_S
    implementation: Mapping[str, Any] | None = None
    supports_dry_run: bool = False
    blocked: tuple[str, ...] = ()


@frozen(kw_only=True)
class NormalSkill:
    """A skill, or what is read as one; ``key`` names it, ``definition`` is its data."""

    contract: str
    key: str
    name: str
    version: str
    lifecycle: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(factory=dict)
    governance: Mapping[str, Any] = field(factory=dict)
    is_hidden: bool = False
    capabilities: tuple[NormalCapability, ...] = ()
    definition: Mapping[str, Any] = field(factory=dict)
    findings: tuple[Finding, ...] = ()


def normalise(data: Any) -> NormalSkill:
    """Read data that holds a skill, and normalise it.

    Args:
        data: JSON; skill definitions of both versions, capability definitions, catalogues.

    Raises:
        ContractError: It is refused, or is another contract; with every finding and its path.
    """
    one = data if isinstance(data, Reading) else examine(None, data)
    if not one.valid:
        raise ContractError(one.contract or "unknown contract", one.findings)
    if one.contract not in IMPORTABLE:
        text = f"{one.contract} is read, but holds no skill to import"
        raise ContractError(one.contract, [*one.findings, Finding(code="no_skill", message=text)])
    found = list(one.findings)
    if one.contract == "skill":
        return _skill(one.data, found)
    if one.contract == "skill-definition":
        return _skill_v1(one.data, found)
    if one.contract == "capability-definition":
        return _definition(one.data, found)
    return _catalogue(one.contract, one.data, found)


def _warn(found: list[Finding], code: str, message: str, *path: str | int) -> None:
    found.append(
        Finding(code=code, message=message, path=pointer(*path), severity=Severity.WARNING)
    )


def resolve(ref: str | None) -> dict[str, Any] | None:
    """Return the schema that a reference names, among those that this package carries.

    Args:
        ref: A URL whose last part is ``<name>.schema.json``; no host is ever asked.
    """
    if not ref or not ref.startswith("https://"):
        return None
    name = ref.rsplit("/", 1)[-1].removesuffix(".schema.json")
    return schema(name) if name in names() else None


def input_schema(
    given: Mapping[str, Any], found: list[Finding], *path: str | int
) -> dict[str, Any]:
    """Make the closed schema of what a capability takes: the one it refers to, else parameters."""
    ref = given.get("schemaRef")
    known = resolve(ref)
    if known is not None and known.get("type") == "object":
        return {**known, "additionalProperties": False}
    if ref:
        text = f"the input schema {ref!r:.120} is not known; it is made of the parameters"
        _warn(found, "schema_ref_unresolved", text, *path, "schemaRef")
    properties: dict[str, Any] = {}
    required = []
    for at, each in enumerate(given.get("parameters") or ()):
        made = PARAMETERS.get(each["type"])
        if made is None:
            text = f"the type {each['type']!r:.60} is read as a text"
            _warn(found, "parameter_type_unknown", text, *path, "parameters", at, "type")
        properties[each["name"]] = _parameter(each, made or PARAMETERS["string"])
        if each["required"]:
            required.append(each["name"])
    if given.get("stdinFormat") is not None:
        text = f"What the tool reads from standard input, as {given['stdinFormat']}."
        properties.setdefault(STDIN, {"type": "string", "description": text})
    made = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made


def _parameter(each: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(made)
    if each.get("description"):
        shown["description"] = each["description"]
    if each.get("default") is not None:
        shown["default"] = each["default"]
    return shown


def output_schema(
    given: Mapping[str, Any], found: list[Finding], *path: str | int
) -> dict[str, Any] | None:
    """Return the schema of what a capability gives; ``None`` where it is not known."""
    ref = given.get("schemaRef")
    known = resolve(ref)
    if known is None and ref:
        text = f"the output schema {ref!r:.120} is not known, so it is not executable"
        _warn(found, "schema_ref_unresolved", text, *path, "schemaRef")
    return known


def _skill(data: Mapping[str, Any], found: list[Finding]) -> NormalSkill:
    identity, metadata = data["identity"], data.get("metadata", {})
    discovery = data.get("discovery", {})
    spoiled: dict[str, list[str]] = {}
    for each in found:
        if each.spoils and each.code != "output_schema_missing":
            spoiled.setdefault(each.spoils, []).append(each.message)
    return NormalSkill(
        contract="skill",
        key=f"{identity['namespace']}.{identity['name']}",
        name=identity.get("displayName") or metadata.get("displayName") or identity["name"],
        version=identity["version"],
        lifecycle=data["lifecycleState"],
        description=_described(metadata),
        aliases=tuple(identity.get("aliases", ())),
        keywords=(*discovery.get("keywords", ()), *metadata.get("tags", ())),
        examples=tuple(_triggers(discovery.get("triggers", ()))),
        constraints=tuple(_constraints(data)),
        metadata=metadata,
        governance=data.get("governance", {}),
        is_hidden=discovery.get("isHidden", False),
        capabilities=tuple(
            _capability(data, each, at, spoiled.get(each["id"], []), found)
            for at, each in enumerate(data["capabilities"])
        ),
        definition=data,
        findings=tuple(found),
    )


def _described(metadata: Mapping[str, Any]) -> str:
    texts = dict.fromkeys(str(metadata[n]) for n in ("description", "summary") if metadata.get(n))
    return "\n".join(texts)


def _triggers(triggers: Any) -> Iterator[str]:
    for each in triggers:
        text = each.get("description")
        yield f"{each['pattern']} ({text})" if text else each["pattern"]


def _constraints(data: Mapping[str, Any]) -> Iterator[str]:
    for each in data.get("constraints", ()):
        word = "must" if each["required"] else "should"
        yield f"{word}: {each.get('description') or each['constraintId']}"


def _capability(
    skill: Mapping[str, Any],
    each: Mapping[str, Any],
    at: int,
    spoiled: list[str],
    found: list[Finding],
) -> NormalCapability:
    path = ("capabilities", at)
    given, execution = each.get("input", {}), each.get("execution", {})
    claimed = skill_class(skill, each["id"])
    blocked = [*spoiled]
    implementation = _implementation(each)
    kind = (each.get("implementation") or {}).get("executionType")
    if kind not in (None, "subprocess"):
        blocked.append(f"a capability of type {kind} is not invoked here")
    return NormalCapability(
        id=each["id"],
        name=each["name"],
        description=each["description"],
        input_schema=input_schema(given, found, *path, "input"),
        output_schema=output_schema(each.get("output", {}), found, *path, "output"),
        input_is_made=not given.get("schemaRef") and len(given.get("parameters", ())) <= MANY,
        claims=() if claimed is None else (("host_class", claimed),),
        has_side_effects=execution.get("hasSideEffects"),
        is_deterministic=execution.get("isDeterministic"),
        timeout_s=execution.get("timeoutSeconds") or DEFAULT_TIMEOUT_S,
        implementation=implementation,
        supports_dry_run=supports_dry_run(each),
        blocked=tuple(blocked),
    )


def _implementation(each: Mapping[str, Any]) -> dict[str, Any] | None:
    said = each.get("implementation")
    if said is None:
        return None
    given = each.get("input", {})
    dashes = [p["name"] for p in given.get("parameters") or () if p["type"] == "path-or-stdin"]
    return {
        "execution_type": said["executionType"],
        "executable": said["executableName"],
        "arguments": list(said["arguments"]),
        "stdin_format": given.get("stdinFormat"),
        "dash_names": dashes,
        "placeholders": list(names_in(said["arguments"])),
    }


def _skill_v1(data: Mapping[str, Any], found: list[Finding]) -> NormalSkill:
    identity, metadata = data.get("identity", {}), data.get("metadata", {})
    discovery, execution = data.get("discovery", {}), data.get("execution", {})
    text = "skills of version 1 do not say how they are invoked"
    _warn(found, "implementation_missing", text)
    capability = NormalCapability(
        id=data["id"],
        name=data["name"],
        description=data.get("description") or metadata.get("summary") or data["name"],
        input_schema=input_schema(data.get("input", {}), found, "input"),
        output_schema=output_schema(data.get("output", {}), found, "output"),
        has_side_effects=execution.get("hasSideEffects"),
        is_deterministic=execution.get("isDeterministic"),
        timeout_s=execution.get("timeoutSeconds") or DEFAULT_TIMEOUT_S,
        blocked=(text,),
    )
    return NormalSkill(
        contract="skill-definition",
        key=data["id"],
        name=identity.get("displayName") or data["name"],
        version=identity.get("version") or "0",
        lifecycle=data["lifecycleState"],
        description=data.get("description") or _described(metadata),
        aliases=tuple(identity.get("aliases", ())),
        keywords=(*discovery.get("keywords", ()), *metadata.get("tags", ())),
        examples=tuple(_triggers(data["triggers"])),
        constraints=tuple(_constraints(data)),
        metadata=metadata,
        governance=data.get("governance", {}),
        is_hidden=discovery.get("isHidden", False),
        capabilities=(capability,),
        definition=data,
        findings=tuple(found),
    )


def _definition(data: Mapping[str, Any], found: list[Finding]) -> NormalSkill:
    execution = data["execution"]
    text = "a capability definition does not say how it is invoked"
    _warn(found, "implementation_missing", text)
    capability = NormalCapability(
        id=data["id"],
        name=data["displayName"],
        description=data.get("description") or data["displayName"],
        input_schema=_inline(data["input"], found, "input"),
        output_schema=_inline(data["output"], found, "output"),
        claims=(("capability_class", execution["sideEffectClass"]),),
        is_deterministic=None,
        timeout_s=execution.get("timeoutSeconds") or DEFAULT_TIMEOUT_S,
        blocked=(text,),
    )
    return NormalSkill(
        contract="capability-definition",
        key=data["id"],
        name=data["displayName"],
        version=data["version"],
        lifecycle=data["lifecycleState"],
        description=data.get("description") or "",
        keywords=tuple(data["tags"]),
        metadata={"family": data["family"]},
        governance=data["governance"],
        capabilities=(capability,),
        definition=data,
        findings=tuple(found),
    )


def _inline(given: Mapping[str, Any], found: list[Finding], side: str) -> Mapping[str, Any] | None:
    inline = given.get("schema")
    if isinstance(inline, dict) and inline:
        return inline
    return output_schema(given, found, side)


def _catalogue(contract: str, data: Mapping[str, Any], found: list[Finding]) -> NormalSkill:
    return NormalSkill(
        contract=contract,
        key=data["plugin"],
        name=data["plugin"],
        version=data["pluginVersion"],
        lifecycle="active",
        capabilities=tuple(_entry(each) for each in data["capabilities"]),
        definition=data,
        findings=tuple(found),
    )


def _entry(each: Mapping[str, Any]) -> NormalCapability:
    invocation = each.get("invocation") or {}
    blocked = []
    if "readiness" in each and each["readiness"] not in ROUTABLE:
        blocked.append(f"its readiness is {each['readiness']}; usable or production is needed")
    kind = each.get("kind", "cli")
    implementation = None
    if kind == "cli":
        implementation = {
            "execution_type": "subprocess",
            "executable": invocation["executable"],
            "arguments": list(invocation["command"]),
            "stdin_format": "object",
            "dash_names": [],
            "placeholders": [],
        }
        if "readiness" not in each:
            blocked.append("version 1 does not say how arguments are passed")
    else:
        blocked.append(f"a capability of kind {kind} is not invoked here")
    schemas = [each.get(name) or invocation.get(name) for name in ("inputSchema", "outputSchema")]
    taken, given = [one if isinstance(one, dict) and one else None for one in schemas]
    return NormalCapability(
        id=each["id"],
        name=each["id"],
        description=each["description"],
        input_schema=taken,
        output_schema=given,
        claims=(("catalogue_class", each["sideEffectClass"]),),
        implementation=implementation,
        blocked=tuple(blocked),
    )
