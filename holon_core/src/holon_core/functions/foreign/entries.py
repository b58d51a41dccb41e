"""Catalogue entries of the tools of other frameworks: all of them, or every reason against."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from attrs import evolve

from holon_core.catalogue.catalogue import Entry
from holon_core.catalogue.suspicious import returns_plan, suspicious, with_hints
from holon_core.errors import Misuse, Rejected
from holon_core.functions.decorator import UNDECLARED, ToolOptions, options_from
from holon_core.functions.foreign import langchain, openai_agents, pydantic_ai
from holon_core.functions.foreign.records import AsyncForeignExecutor, ForeignExecutor, ForeignTool
from holon_core.functions.host import DEFINITION_DOMAIN, undeclared
from holon_core.ids import capability_id, id_problem
from holon_core.names import several
from holon_core.nearest import nearest
from holon_core.plugins.faults import kind_of, told
from holon_core.records.finding import Finding, has_errors
from holon_core.records.tool import Limits, RuntimeToolDescriptor
from holon_core.records.words import ApprovalRequirement, LaneKind, Origin, Posture
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema

ADAPTERS: tuple[ModuleType, ...] = (langchain, pydantic_ai, openai_agents)
# What a host may state for all of the tools; the rest is theirs to say.
STATED = (
    "approval",
    "risk_hints",
    "version",
    "timeout_s",
    "max_output_bytes",
    "idempotent",
)
KNOWN = "a LangChain tool or toolkit, a Pydantic AI tool or toolset, an OpenAI Agents function tool"
Made = tuple[Entry, tuple[Finding, ...]]


def entries_of(
    given: Any,
    app: str,
    *,
    effects: Any,
    context: Any,
    options: Mapping[str, Any],
    run: Callable[[Any], Any],
    taken: Callable[[str], bool],
) -> list[Made]:
    """Make the entries of foreign tools, or none of them.

    Args:
        given: One tool, toolkit or toolset, or several.
        app: The application's name.
        effects: Effects of all of them, or by the tool's name; ``None`` leaves them unknown.
        context: What the frameworks hand to their tools.
        options: What the host states for all of them, of ``STATED``.
        run: Runs a coroutine to its end, within a time.
        taken: Tells whether an id is of a function of the host's own.

    Raises:
        Rejected: With every finding; nothing was registered.
        Misuse: An option or an effect is not understood, or names a tool that is not there.
    """
    base = _options(options)
    tools, findings = _described(_listed(given), context, run)
    by_name = _effects(effects, [tool.name for tool in tools])
    made: dict[str, Made] = {}
    for tool in tools:
        entry, found = _made(tool, app, base, by_name.get(tool.name, UNDECLARED))
        if entry is not None and entry.tool.id in made:
            text = f"two of the tools are named {tool.name}"
            found = [*found, Finding(code="duplicate_id", message=text)]
        elif entry is not None and taken(entry.tool.id):
            text = f"{entry.tool.id} is a function of the host's own; rename one of the two"
            found = [*found, Finding(code="duplicate_id", message=text)]
        findings += [evolve(each, path=f"/{tool.name}{each.path}") for each in found]
        if entry is not None:
            made[entry.tool.id] = entry, tuple(found)
    if has_errors(findings):
        raise Rejected(f"tools of host.{app}", findings)
    return list(made.values())


def _options(options: Mapping[str, Any]) -> ToolOptions:
    for name in options:
        if name not in STATED:
            raise Misuse(
                f"register_tools takes no option {name}{nearest(name, STATED)}; it takes"
                f" effects, context, {', '.join(STATED)}"
            )
    return options_from(options)


def _listed(given: Any) -> list[Any]:
    if _adapter(given) is not None:
        return [given]
    return list(several(given, "tools"))


def _adapter(given: object) -> Any:
    """Return the adapter of a tool's framework; its class exists only if that is imported."""
    for adapter in ADAPTERS:
        module = sys.modules.get(adapter.MODULE)
        if module is not None and adapter.understands(module, given):
            return adapter
    return None


def _described(
    given: Sequence[Any], context: Any, run: Callable[[Any], Any]
) -> tuple[list[ForeignTool], list[Finding]]:
    tools: list[ForeignTool] = []
    findings: list[Finding] = []
    for position, each in enumerate(given):
        adapter = _adapter(each)
        problem = f"{kind_of(each)} is none of {KNOWN}"
        if adapter is not None:
            try:
                tools += adapter.tools_of(each, context, run)
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                problem = f"looking at it raised {told(error)}"
        findings.append(Finding(code="record_invalid", message=problem, path=f"/{position}"))
    return tools, findings


def _effects(given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        made = options_from({"effects": given}).effects
        return dict.fromkeys(names, made)
    for name in given:
        if name not in names:
            text = f"effects names the tool {name!r}{nearest(str(name), names)}"
            raise Misuse(f"{text}, and none of these tools has that name")
    return {name: options_from({"effects": words}).effects for name, words in given.items()}


def _made(
    tool: ForeignTool, app: str, base: ToolOptions, effects: Any
) -> tuple[Entry | None, list[Finding]]:
    findings = list(tool.findings)
    tool_id = f"host.{app}/{capability_id(tool.name)}"
    problem = id_problem(tool_id)
    if problem is not None:
        findings.append(Finding(code="invalid_id", message=problem, path="/id"))
    inputs = check_schema(tool.input_schema, role="input")
    outputs = check_schema(tool.output_schema(), role="output")
    findings += [*inputs.findings, *outputs.findings, *_undeclared(effects)]
    if has_errors(findings):
        return None, findings
    assert isinstance(inputs.schema, dict), "an input schema that is no object is an error finding"
    hints, odd = suspicious(inputs.schema)
    findings += odd
    base = evolve(base, risk_hints=with_hints(base.risk_hints, hints))
    descriptor = _descriptor(tool, tool_id, base, effects, inputs.schema)
    findings += returns_plan(descriptor)
    kind = AsyncForeignExecutor if tool.is_async else ForeignExecutor
    return Entry(descriptor, kind(tool), is_async=tool.is_async), findings


def _undeclared(effects: Any) -> Iterator[Finding]:
    if effects == UNDECLARED:
        yield undeclared("register_tools(…, effects={…})")


def _descriptor(
    tool: ForeignTool,
    tool_id: str,
    base: ToolOptions,
    effects: Any,
    input_schema: Mapping[str, Any],
) -> RuntimeToolDescriptor:
    # The lower of two limits, the stricter of two requirements: a host cannot take either away.
    limits = Limits(timeout_s=_lower(tool.timeout_s, base.timeout_s))
    if base.max_output_bytes is not None:
        limits = evolve(limits, max_output_bytes=base.max_output_bytes)
    asks = ApprovalRequirement.REQUIRED in (tool.approval, base.approval)
    made = RuntimeToolDescriptor(
        id=tool_id,
        lane=LaneKind.HOST.value,
        origin=Origin.HOST,
        posture=Posture.HOST_FUNCTION,
        version=base.version,
        name=tool.name,
        description=tool.description,
        input_schema=input_schema,
        output_schema=tool.output_schema(),
        effects=effects,
        approval=ApprovalRequirement.REQUIRED if asks else base.approval,
        risk_hints=base.risk_hints,
        idempotent=base.idempotent,
        limits=limits,
        executor_ref=f"{tool.framework}:version:{base.version}",
    )
    return made.with_digest(digest(made.definition(), domain=DEFINITION_DOMAIN))


def _lower(*limits: float | None) -> float | None:
    stated: Iterable[float] = [limit for limit in limits if limit is not None]
    return min(stated, default=None)
