"""What is kept of an adapter: how each operation's request is made, and what an operator bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import ge, gt, in_, le, max_len, optional

from holon_core.records.words import Effect

BODY = "body"
PLACES = ("path", "query", "header", "cookie")
STYLES = ("simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject")
BODY_FORMS = ("json", "form", "multipart", "text", "binary")
ADDRESS_WORDS = ("loopback", "private", "link_local")
MAX_RETRIES = 5


@frozen(kw_only=True)
class ParameterPlan:
    """Where one property of the arguments goes: its place, its name there, how it is written.

    ``as_json`` parameters are JSON texts (OpenAPI's ``content``).
    """

    property: str
    name: str
    place: str = field(validator=in_(PLACES))
    style: str = field(validator=in_(STYLES))
    explode: bool = False
    allow_reserved: bool = False
    as_json: bool = False


@frozen(kw_only=True)
class FieldPlan:
    """How one field of a form is written; ``base64`` fields are sent as the bytes they encode."""

    name: str
    style: str = field(default="form", validator=in_(STYLES))
    explode: bool = True
    base64: bool = False
    content_type: str = ""


@frozen(kw_only=True)
class BodyPlan:
    """How the property ``body`` is sent."""

    content_type: str
    form: str = field(validator=in_(BODY_FORMS))
    required: bool = False
    fields: tuple[FieldPlan, ...] = ()


@frozen(kw_only=True)
class ResponsePlan:
    """A success response: its status (``200`` or ``2XX``) and what it may carry.

    ``forms`` maps media types to ``json``, ``text`` or ``binary``; none means no content.
    ``headers`` are the documented ones, which the answer shows.
    """

    status: str
    forms: Mapping[str, str] = field(factory=dict)
    headers: tuple[str, ...] = ()


@frozen(kw_only=True)
class OperationPlan:
    """How one operation is called. Its schemas are in the tool's definition.

    ``security`` lists alternatives, each a set of scheme names; none at all needs no secret.
    """

    id: str
    method: str
    path: str
    parameters: tuple[ParameterPlan, ...] = ()
    body: BodyPlan | None = None
    responses: tuple[ResponsePlan, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()
    idempotency_header: str = ""

    @property
    def idempotent(self) -> bool:
        """Whether doing it twice is doing it once (RFC 9110, section 9.2.2)."""
        return self.method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE")


@frozen(kw_only=True)
class SchemePlan:
    """Where a secret goes: the header, query parameter or cookie of a security scheme.

    ``prefix`` stands before it; ``basic`` values are ``user:password`` and sent as base64.
    """

    place: str = field(validator=in_(("header", "query", "cookie")))
    name: str
    prefix: str = ""
    basic: bool = False


@frozen(kw_only=True)
class MappedOperation:
    """One operation as it was read: its plan, and what the catalogue says of it."""

    plan: OperationPlan
    name: str
    title: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    effects: frozenset[Effect]
    risk_hints: tuple[str, ...] = ()


@frozen(kw_only=True)
class Binding:
    """What an operator allowed: one origin, addresses beyond public ones, secrets by reference.

    ``allow_addresses`` are words of ``loopback``, ``private``, ``link_local``, or networks
    (``10.1.0.0/16``). ``ca_file`` names certificates to trust instead of the system's.
    ``proposed_by`` is the package whose hint was accepted.
    """

    origin: str
    base_path: str = ""
    secrets: Mapping[str, str] = field(factory=dict)
    allow_addresses: tuple[str, ...] = ()
    timeout_s: float = field(default=30.0, validator=[gt(0), le(600)])
    max_response_bytes: int = field(default=256 * 1024, validator=[ge(1024), le(16 * 1024 * 1024)])
    max_retries: int = field(default=2, validator=[ge(0), le(MAX_RETRIES)])
    ca_file: str | None = field(default=None, validator=optional(max_len(4096)))
    by: str
    reason: str
    proposed_by: str | None = None
    at_unix_seconds: int


@frozen(kw_only=True)
class StoredAdapter:
    """An adapter as it is kept; ``source`` is the id of its source of tools.

    ``server`` is what the document names, a proposal and no permission. ``document_sha256``
    identifies what was registered.
    """

    name: str
    source: str
    workspace: str | None = None
    title: str = ""
    version: str = ""
    kind: str
    server: str = ""
    document_sha256: str
    schemes: Mapping[str, SchemePlan] = field(factory=dict)
    binding: Binding | None = None
    registered_by: str
    registered_at_unix_seconds: int

    @property
    def bound_to(self) -> str | None:
        """The base URL that its operations call; ``None`` where nobody bound it."""
        return None if self.binding is None else self.binding.origin + self.binding.base_path
