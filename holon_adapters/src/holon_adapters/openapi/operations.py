"""Operations of a document, each mapped or refused with the reason, none keeping another out."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_adapters.openapi.document import Document, Unresolved, objects, text, texts
from holon_adapters.openapi.effects import effects_of
from holon_adapters.openapi.parameters import (
    IGNORED_HEADERS,
    Property,
    name_problem,
    read_body,
    read_parameters,
)
from holon_adapters.openapi.responses import read_responses
from holon_adapters.openapi.schemas import Schemas
from holon_adapters.openapi.security import read_schemes, read_security
from holon_adapters.records import MappedOperation, OperationPlan, SchemePlan
from holon_adapters.request.climbing import climbs
from holon_adapters.request.origins import BadOrigin, split
from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_core.wire.schema_check import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

METHODS = ("get", "head", "options", "post", "put", "patch", "delete", "trace")
MAX_OPERATIONS = 10_000
MAX_ID = 64
MAX_DESCRIPTION = 1000
MAX_EXAMPLES = 3
_UNUSABLE = re.compile(r"[^A-Za-z0-9._-]+")
_FIXED = re.compile(r"(?:[A-Za-z0-9._~-]+=[A-Za-z0-9._~%-]*(?:&(?=.)|$))*")
_VARIABLE = re.compile(r"\{([^{}]*)\}")


@frozen(kw_only=True)
class Mapped:
    """What a document came to: its operations by id, and findings on all that was left out."""

    title: str = ""
    version: str = ""
    server: str = ""
    schemes: Mapping[str, SchemePlan] = field(factory=dict)
    operations: Mapping[str, MappedOperation] = field(factory=dict)
    findings: tuple[Finding, ...] = ()
    refused: Mapping[str, str] = field(factory=dict)


def map_document(data: Any) -> Mapped:
    """Map the operations of an OpenAPI document.

    Args:
        data: JSON of OpenAPI 3.0 or 3.1.

    Raises:
        Rejected: It is no such document.
    """
    document = Document(data)
    schemes, findings = read_schemes(document)
    mapper = _Mapper(document)
    operations: dict[str, MappedOperation] = {}
    refused: dict[str, str] = {}
    server, problem = _sound_server(document.data.get("servers"))
    if problem:
        findings.append(_warning(problem, "/servers/0/url"))
    exact = _exact_ids(document.data)
    for path, method, item, operation in _operations(document, findings):
        where = f"{method.upper()} {path}"
        pointer = f"/paths/{path.replace('~', '~0').replace('/', '~1')}/{method}"
        if len(operations) >= MAX_OPERATIONS:
            refused[where] = f"more than {MAX_OPERATIONS} operations"
            break
        try:
            made, notes = mapper.map(path, method.upper(), item, operation)
        except Unresolved as problem:
            refused[where] = problem.message
            findings.append(Finding(code=problem.code, message=problem.message, path=pointer))
            continue
        made = _named(made, operations, exact)
        operations[made.plan.id] = made
        findings += [_warning(note, pointer) for note in notes]
    info = objects(document.data.get("info"))
    return Mapped(
        title=text(info.get("title"))[:200],
        version=str(info.get("version", ""))[:100],
        server=server,
        schemes=schemes,
        operations=operations,
        findings=tuple(findings),
        refused=refused,
    )


def _warning(message: str, path: str) -> Finding:
    code = "operation_unsupported"
    return Finding(code=code, message=message, path=path, severity=Severity.WARNING)


def _operations(
    document: Document, findings: list[Finding]
) -> Iterable[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    for path, given in objects(document.data.get("paths")).items():
        if not path.startswith("/"):
            continue
        try:
            item = document.resolved(given)
        except Unresolved as problem:
            pointer = f"/paths/{path.replace('~', '~0').replace('/', '~1')}"
            findings.append(Finding(code=problem.code, message=problem.message, path=pointer))
            continue
        for method in METHODS:
            if isinstance(item.get(method), dict):
                yield path, method, item, item[method]


class _Mapper:
    """Maps one operation after the other; shared schemas are converted once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._inputs = Schemas(document, hidden="readOnly")
        self._outputs = Schemas(document, hidden="writeOnly")

    def map(
        self, path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any]
    ) -> tuple[MappedOperation, list[str]]:
        """Map one operation; raises ``Unresolved`` where it can't be."""
        if method == "TRACE":
            raise Unresolved("operation_unsupported", "TRACE answers with its own request")
        for place in (operation, item):
            if _own_server(place, self._document.data):
                raise Unresolved("operation_unsupported", "it has a server of its own")
        body_given, notes = operation.get("requestBody"), []
        if method in ("GET", "HEAD") and body_given is not None:
            if self._document.resolved(body_given).get("required") is True:
                raise Unresolved("operation_unsupported", f"{method} with a body")
            notes.append(f"the body of a {method} is left out")
            body_given = None
        body, body_property = read_body(self._document, self._inputs, body_given)
        given = [*_listed(item.get("parameters")), *_listed(operation.get("parameters"))]
        parameters = read_parameters(self._document, self._inputs, given, has_body=body is not None)
        properties = parameters.properties + (() if body_property is None else (body_property,))
        _check_path(path, {p.name for p in parameters.plans if p.place == "path"})
        notes += parameters.left_out
        input_schema = _checked("input", self._input(properties), notes)
        answers = read_responses(
            self._document, self._outputs, operation.get("responses"), method=method
        )
        output_schema = _checked("output", answers.schema, notes)
        touched = effects_of(method, operation)
        name = text(operation.get("operationId")) or f"{method.lower()}-{path.strip('/')}"
        plan = OperationPlan(
            id=operation_id(name),
            method=method,
            path=path,
            parameters=parameters.plans,
            body=body,
            responses=answers.plans,
            security=read_security(operation.get("security", self._document.data.get("security"))),
            idempotency_header=_key_header(operation) or parameters.idempotency_header,
        )
        loose = ("response not checked",) if output_schema is not answers.schema else ()
        mapped = MappedOperation(
            plan=plan,
            name=name[:200],
            title=text(operation.get("summary"))[:200],
            description=_description(method, path, operation),
            examples=tuple(texts(operation.get("x-holon-examples"))[:MAX_EXAMPLES]),
            input_schema=input_schema,
            output_schema=output_schema,
            effects=touched.effects,
            risk_hints=touched.hints + loose,
        )
        return mapped, notes

    def _input(self, properties: tuple[Property, ...]) -> dict[str, Any]:
        refers = {name for each in properties for name in each.refers}
        made: dict[str, Any] = {
            "type": "object",
            "properties": {each.name: each.schema for each in properties},
            "additionalProperties": False,
        }
        required = [each.name for each in properties if each.required]
        if required:
            made["required"] = required
        if refers:
            made["$defs"] = self._inputs.shared(refers)
        return made


def _checked(role: Any, schema: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return a schema that the core takes; of answers one too large is checked in part alone."""
    report = check_schema(schema, role=role)
    if report.usable:
        return schema
    worst = next(f for f in report.findings if f.severity is Severity.ERROR)
    if role == "output" and worst.code == "schema_limit":
        notes.append(f"the schema of its answer is too large to be checked: {worst.message}")
        status = {"type": "integer", "minimum": 200, "maximum": 299}
        return {
            "type": "object",
            "properties": {"status": status, "body": True, "headers": {"type": "object"}},
            "required": ["status"],
            "additionalProperties": False,
        }
    raise Unresolved(worst.code, f"its {role} schema at {worst.path or '/'}: {worst.message}")


def _check_path(path: str, given: set[str]) -> None:
    if climbs(path.partition("?")[0]):
        raise Unresolved("operation_unsupported", "the path leads up, out of the bound base")
    named = set(_VARIABLE.findall(path))
    if named - given:
        text = f"the path names {sorted(named - given)[0]!r:.80}, which is no parameter"
        raise Unresolved("operation_unsupported", text)
    if given - named:
        text = f"the parameter {sorted(given - named)[0]!r:.80} is not in the path"
        raise Unresolved("operation_unsupported", text)
    # Against the specification, and common: one path for each value of a query parameter.
    if not _FIXED.fullmatch(path.partition("?")[2]) or "#" in path:
        raise Unresolved("operation_unsupported", "a path with a query that is not plain")


def _key_header(operation: Mapping[str, Any]) -> str:
    """Return the header of an API for keys; callers choose keys, as they choose arguments."""
    name = text(operation.get("x-holon-idempotency-header"))
    problem = name_problem("header", name) if name else ""
    if problem or name.lower() in IGNORED_HEADERS:
        raise Unresolved("operation_unsupported", problem or f"keys in the header {name}")
    return name


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _own_server(place: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    own = place.get("servers")
    return bool(own) and _server(own) != _server(whole.get("servers"))


def _server(given: Any) -> str:
    """Return the first server's URL, its variables as they are by default."""
    servers = given if isinstance(given, list) and given else [{}]
    server = objects(servers[0])
    url = text(server.get("url"))
    for name, variable in objects(server.get("variables")).items():
        url = url.replace("{" + name + "}", str(objects(variable).get("default", "")))
    return url or "/"


def _sound_server(given: Any) -> tuple[str, str]:
    """Return the URL to propose, and why there is none; one within the document's own is none.

    Nothing of one that is left out is told: a user and a password may stand in it.
    """
    url = _server(given)
    if not url.lower().startswith(("http:", "https:")):
        return "", ""
    try:
        split(url)
    except BadOrigin as problem:
        return "", f"the server is left out: {problem}"
    return url[:500], ""


def _description(method: str, path: str, operation: Mapping[str, Any]) -> str:
    said = [text(operation.get(key)).strip() for key in ("summary", "description")]
    if said[1].startswith(said[0]):
        said = said[1:]
    whole = "\n\n".join(filter(None, said)) or f"{method} {path}"
    return whole if len(whole) <= MAX_DESCRIPTION else whole[: MAX_DESCRIPTION - 1] + "…"


def operation_id(name: str) -> str:
    """Make a capability id of an operation's name, at most 64 characters long."""
    made = _UNUSABLE.sub("-", name).strip("-.") or "operation"
    return made if len(made) <= MAX_ID else f"{made[: MAX_ID - 9]}-{_mark(name)}"


def _mark(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:8]


def _exact_ids(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the document that are ids of capabilities as they are."""
    items = objects(data.get("paths")).values()
    said = (
        text(each.get("operationId"))
        for item in items
        for each in objects(item).values()
        if isinstance(each, dict)
    )
    return frozenset(name for name in said if name and operation_id(name) == name)


def _named(
    made: MappedOperation, others: Mapping[str, MappedOperation], exact: frozenset[str]
) -> MappedOperation:
    """Tell operations of one id apart by what they call; who is named so keeps the name."""
    plan = made.plan
    if plan.id not in others and (plan.id == made.name or plan.id not in exact):
        return made
    from attrs import evolve

    mark = _mark(json.dumps([plan.method, plan.path]))
    return evolve(made, plan=evolve(plan, id=f"{plan.id[: MAX_ID - 9]}-{mark}"))
