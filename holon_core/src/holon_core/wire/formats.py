"""The formats that are asserted, and how to check them without an engine that knows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(
    r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|([+-])(\d\d):(\d\d))", re.ASCII | re.IGNORECASE
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE)
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf'{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\r\n]|\\.)*"', re.ASCII | re.IGNORECASE)
_PLAIN = r"[a-z0-9._~!$&'()*+,;=:@-]|%[0-9a-f]{2}"
_URI = re.compile(
    rf"[a-z][a-z0-9+.-]*:"
    rf"(?://(?:(?:{_PLAIN.replace('@', '')})*@)?"
    rf"(?P<host>\[[0-9a-fv:.]+\]|(?:{_PLAIN.replace(':@', '')})*)(?::[0-9]*)?(?=[/?#]|\Z)|(?!//))"
    rf"(?:{_PLAIN}|/)*(?:\?(?:{_PLAIN}|[/?])*)?(?:#(?:{_PLAIN}|[/?])*)?",
    re.ASCII | re.IGNORECASE,
)


def is_date(text: str) -> bool:
    """A full date of RFC 3339."""
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    try:
        date(*map(int, found.groups()))
    except ValueError:
        return False
    return True


def is_time(text: str) -> bool:
    """A full time of RFC 3339, with its offset; a leap second only where one can be."""
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    hour, minute, second = (int(part) for part in found.groups()[:3])
    sign, away_h, away_m = found[4], int(found[5] or 0), int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or away_h > 23 or away_m > 59:
        return False
    away = (away_h * 60 + away_m) * (-1 if sign == "-" else 1)
    return second < 60 or (hour * 60 + minute - away) % 1440 == 1439


def is_date_time(text: str) -> bool:
    """A date and a time of RFC 3339 with T between them."""
    return text[10:11] in ("T", "t") and is_date(text[:10]) and is_time(text[11:])


def is_hostname(text: str) -> bool:
    """A host name of RFC 1123: labels of letters, digits and inner hyphens."""
    labels = text.split(".")
    return len(text) <= 253 and all(
        _LABEL.fullmatch(label) and (label[2:4] != "--" or label[:4].lower() == "xn--")
        for label in labels
    )


def is_email(text: str) -> bool:
    """A mailbox of RFC 5321 with a host name or an address literal."""
    local, at, host = text.rpartition("@")
    if not at or len(local) > 64 or not _LOCAL.fullmatch(local):
        return False
    if host.startswith("[") and host.endswith("]"):
        inner = host[1:-1]
        return is_ipv6(inner[5:]) if inner[:5].lower() == "ipv6:" else is_ipv4(inner)
    return is_hostname(host)


def is_ipv4(text: str) -> bool:
    """Four decimal numbers without leading zeros."""
    from ipaddress import AddressValueError, IPv4Address

    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return text.isascii()


def is_ipv6(text: str) -> bool:
    """An address of RFC 4291, without a zone."""
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return text.isascii() and "%" not in text


def is_uri(text: str) -> bool:
    """An absolute URI of RFC 3986."""
    found = _URI.fullmatch(text)
    host = found["host"] if found else None
    return found is not None and (not host or host[0] != "[" or _is_literal(host[1:-1]))


def is_uuid(text: str) -> bool:
    """A UUID of RFC 4122, in either case."""
    return _UUID.fullmatch(text) is not None


def is_regex(text: str) -> bool:
    """A regular expression that Python, too, can compile."""
    from holon_core.wire.patterns import for_python

    try:
        for_python(text)
    except ValueError:
        return False
    return True


def _is_literal(text: str) -> bool:
    return text[:1].lower() == "v" or is_ipv6(text)


CHECKS: dict[str, Callable[[str], bool]] = {
    "date-time": is_date_time,
    "date": is_date,
    "time": is_time,
    "uri": is_uri,
    "uuid": is_uuid,
    "email": is_email,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "hostname": is_hostname,
    "regex": is_regex,
}
