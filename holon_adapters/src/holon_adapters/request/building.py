"""From a plan and arguments to the exact request; pure, so that a preview shows what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from attrs import field, frozen

from holon_adapters.records import BODY, Binding, OperationPlan, ParameterPlan, SchemePlan
from holon_adapters.request import styles
from holon_adapters.request.bodies import body_of
from holon_adapters.request.climbing import climbs
from holon_adapters.request.styles import Unwritable

_VARIABLE = re.compile(r"\{([^{}]*)\}")
# Visible characters, space and tab; bytes beyond ASCII are read by servers in many ways.
_FIELD = re.compile(r"[\x21-\x7e]([\t \x21-\x7e]*[\x21-\x7e])?|")
# RFC 6265, section 4.1.1.
_COOKIE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
MAX_URL = 64 * 1024
# What the lane says of itself with every request; only these codings are taken apart.
OWN_HEADERS = (("user-agent", "holon-adapters"), ("accept-encoding", "gzip, deflate"))
MAX_HEADER = 16 * 1024


class BadArgument(Exception):
    """An argument that cannot be sent; ``property`` is the argument, the text says why."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(where, message)
        self.property, self.message = where, message


@frozen(kw_only=True)
class Request:
    """One request as it is sent, but for secrets.

    ``query`` are pairs, already encoded. ``headers`` and ``cookies`` are in the order in which
    they are sent.
    """

    method: str
    origin: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)

    @property
    def target(self) -> str:
        """The request's target: path and query."""
        return self.path + ("?" + "&".join(f"{k}={v}" for k, v in self.query) if self.query else "")

    @property
    def url(self) -> str:
        """The whole URL."""
        return self.origin + self.target


def build(
    plan: OperationPlan,
    arguments: Mapping[str, Any],
    *,
    origin: str,
    base_path: str,
    key: str,
) -> Request:
    """Make the request of a call.

    Args:
        plan: The operation.
        arguments: Valid by the tool's input schema.
        origin: Scheme, host and port.
        base_path: What stands before every path.
        key: For the API's own header for keys, where it has one.

    Raises:
        BadArgument: A value cannot stand where it goes.
    """
    template, _, fixed = plan.path.partition("?")
    path = _path(template, plan, arguments)
    query = [(k, v) for k, _, v in (pair.partition("=") for pair in fixed.split("&") if pair)]
    headers: list[tuple[str, str]] = [("accept", _accept(plan))]
    cookies: list[tuple[str, str]] = []
    for each in plan.parameters:
        if each.place == "path" or each.property not in arguments:
            continue
        value = arguments[each.property]
        with_place = {"query": query, "cookie": cookies}.get(each.place)
        if with_place is not None:
            with_place += _pairs(each, value)
        else:
            headers.append((each.name, _header(each, value)))
    if plan.idempotency_header:
        if not _FIELD.fullmatch(key):
            raise BadArgument("", "the key cannot stand in a header: visible ASCII in one line")
        headers.append((plan.idempotency_header, key))
    body = b""
    if plan.body is not None and BODY in arguments:
        try:
            content_type, body = body_of(plan.body, arguments[BODY], key)
        except Unwritable as problem:
            raise BadArgument(BODY, str(problem)) from None
        headers.append(("content-type", content_type))
    made = Request(
        method=plan.method,
        origin=origin,
        path=base_path + path,
        query=tuple(query),
        headers=tuple(headers),
        cookies=tuple(cookies),
        body=body,
    )
    if len(made.target) > MAX_URL:
        raise BadArgument("", f"the URL is longer than {MAX_URL} characters")
    return made


def _accept(plan: OperationPlan) -> str:
    kinds = sorted({kind for each in plan.responses for kind in each.forms})
    return ", ".join(kinds) or "*/*"


def _path(template: str, plan: OperationPlan, arguments: Mapping[str, Any]) -> str:
    by_name = {each.name: each for each in plan.parameters if each.place == "path"}

    def written(found: re.Match[str]) -> str:
        each = by_name[found[1]]
        text = _in_path(each, arguments[each.property])
        # Dots are unreserved: as a whole segment they would be a way up, for servers and caches.
        if not text:
            raise BadArgument(each.property, "an empty text would change the path")
        return text

    made = _VARIABLE.sub(written, template)
    if climbs(made):
        raise BadArgument("", "the path would hold a segment of dots alone")
    return quote(made, safe="/%" + styles.RESERVED.replace("?", "").replace("[]", ""))


def _in_path(each: ParameterPlan, value: Any) -> str:
    try:
        if each.as_json:
            return styles.encoded(_json(value))
        return styles.in_path(each.name, value, style=each.style, explode=each.explode)
    except Unwritable as problem:
        raise BadArgument(each.property, str(problem)) from None


def _pairs(each: ParameterPlan, value: Any) -> list[tuple[str, str]]:
    encode = styles.reserved_kept if each.allow_reserved else styles.encoded
    try:
        if each.as_json:
            return [(styles.encoded(each.name), styles.encoded(_json(value)))]
        made = styles.pairs(each.name, value, style=each.style, explode=each.explode, encode=encode)
        return list(made)
    except Unwritable as problem:
        raise BadArgument(each.property, str(problem)) from None


def _header(each: ParameterPlan, value: Any) -> str:
    try:
        text = (
            _json(value)
            if each.as_json
            else styles.simple(value, explode=each.explode, encode=styles.as_it_is)
        )
    except Unwritable as problem:
        raise BadArgument(each.property, str(problem)) from None
    if not _FIELD.fullmatch(text):
        raise BadArgument(each.property, "a header takes visible ASCII characters in one line")
    if len(text) > MAX_HEADER:
        raise BadArgument(each.property, f"a header is at most {MAX_HEADER} characters long")
    return text


def _json(value: Any) -> str:
    from holon_core.wire.canonical import canonical

    return canonical(value).decode()


@frozen(kw_only=True)
class Signed:
    """A request with its secrets, as it goes over the wire."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    target: str = field(repr=False)


def with_secrets(
    request: Request,
    secrets: Mapping[str, str],
    schemes: Mapping[str, SchemePlan],
    *,
    masked: bool = False,
) -> Signed:
    """Put secrets where their schemes say.

    Args:
        request: The request.
        secrets: Values by scheme, or what stands for them in a preview.
        schemes: Where each goes.
        masked: The values are marks, which need not be sendable.

    Raises:
        BadArgument: A value cannot stand there; ``property`` is the scheme.
    """
    query, headers, cookies = list(request.query), list(request.headers), list(request.cookies)
    for name, value in secrets.items():
        scheme = schemes[name]
        text = scheme.prefix + (_basic(value) if scheme.basic else value)
        if scheme.place == "query":
            query.append((styles.encoded(scheme.name), styles.encoded(text)))
        elif scheme.place == "header":
            if not masked and not _FIELD.fullmatch(text):
                raise BadArgument(name, "the secret cannot stand in a header")
            headers = [each for each in headers if each[0].lower() != scheme.name.lower()]
            headers.append((scheme.name, text))
        else:
            if not masked and not _COOKIE.fullmatch(text):
                raise BadArgument(name, "the secret cannot stand in a cookie")
            cookies.append((scheme.name, text))
    if cookies:
        headers.append(("cookie", "; ".join(f"{name}={value}" for name, value in cookies)))
    target = request.path
    if query:
        target += "?" + "&".join(f"{k}={v}" for k, v in query)
    return Signed(url=request.origin + target, target=target, headers=tuple(headers))


def _basic(value: str) -> str:
    from base64 import b64encode

    return b64encode(value.encode()).decode()


def all_headers(signed: Signed, request: Request) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request in the order in which they are sent."""
    host = (("host", request.origin.partition("://")[2]),)
    sized = request.body or request.method in ("POST", "PUT", "PATCH")
    length = (("content-length", str(len(request.body))),) if sized else ()
    return (*host, *OWN_HEADERS, *signed.headers, *length)


def masks(names: tuple[str, ...]) -> dict[str, str]:
    """Return what stands for each secret in a preview."""
    return {name: f"[secret {name}]" for name in names}


def chosen_schemes(plan: OperationPlan, bound: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the first alternative of schemes that are all bound; ``None`` where none is."""
    if not plan.security:
        return ()
    return next((each for each in plan.security if all(name in bound for name in each)), None)


def place_of(binding: Binding | None, server: str) -> tuple[str, str]:
    """Return origin and base path: those bound, else what the document names."""
    if binding is not None:
        return binding.origin, binding.base_path
    from holon_adapters.request.origins import split

    return split(server) if server else ("", "")
