"""Origins: scheme, host and port, in one form."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\]")
PORTS = {"http": 80, "https": 443}


class BadOrigin(ValueError):
    """A URL that names no origin; the text says why."""


def split(url: str) -> tuple[str, str]:
    """Split a base URL into its origin and the path before all others.

    Args:
        url: ``https://host[:port][/base]``; no user, query or fragment.

    Returns:
        The origin, the standard port left out, and the path without a slash at its end.

    Raises:
        BadOrigin: It is no such URL.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadOrigin("not a URL") from None
    if not url.isprintable() or " " in url or "\\" in url:
        raise BadOrigin("a URL has no spaces, backslashes or control characters")
    if parts.scheme not in PORTS or not host:
        raise BadOrigin("an origin is written https://host or http://host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise BadOrigin("an origin names no user, query or fragment; secrets go by reference")
    try:
        host = host.encode("ascii").decode() if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise BadOrigin("the host has no ASCII form") from None
    shown = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(shown.lower()) or ".." in shown:
        raise BadOrigin("the host is no name or address")
    segments = parts.path.split("/")
    if any(segment in (".", "..") for segment in segments):
        raise BadOrigin("the path goes up")
    at = "" if port in (None, PORTS[parts.scheme]) else f":{port}"
    path = quote(parts.path.rstrip("/"), safe="/%-._~:@!$&'()*+,;=")
    return f"{parts.scheme}://{shown.lower()}{at}", path


def host_and_port(origin: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an origin that ``split`` made."""
    parts = urlsplit(origin)
    assert parts.hostname is not None
    return parts.scheme, parts.hostname, parts.port or PORTS[parts.scheme]
