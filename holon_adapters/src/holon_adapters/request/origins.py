"""Origins: scheme, host and port, in one form."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urlsplit

from holon_adapters.request.climbing import climbs

_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?\.?|\[[0-9a-f:.]+\]")
# What systems read as an address, in octal or as one number, and others as a name.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
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
        raise BadOrigin("not a URL, or its port is no port") from None
    if port == 0:
        raise BadOrigin("the port is 1 to 65535")
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
    if not _HOST.fullmatch(shown.lower()) or ".." in shown or not _is_address(host.lower()):
        raise BadOrigin("the host is no name, and no address as 127.0.0.1 or [::1]")
    if climbs(parts.path):
        raise BadOrigin("the path goes up")
    at = "" if port in (None, PORTS[parts.scheme]) else f":{port}"
    path = quote(parts.path.rstrip("/"), safe="/%-._~:@!$&'()*+,;=")
    return f"{parts.scheme}://{shown.lower()}{at}", path


def _is_address(host: str) -> bool:
    """Tell whether what looks like an address is one, in the one usual form; a name is fine."""
    try:
        if ":" in host:
            IPv6Address(host)
        elif _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
            IPv4Address(host)
    except ValueError:
        return False
    return True


def host_and_port(origin: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an origin that ``split`` made."""
    parts = urlsplit(origin)
    assert parts.hostname is not None
    return parts.scheme, parts.hostname, parts.port or PORTS[parts.scheme]
