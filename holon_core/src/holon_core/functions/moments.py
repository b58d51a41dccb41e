"""Dates and times as RFC 3339 writes them, exact to Python's microsecond."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import cache
from typing import Any

from holon_core.functions.codec import ArgumentRefused, Codec, text_codec

_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
_DATE_TIME = f"{_DAY}[Tt]{_CLOCK}"
# Compiled when first used: few functions take times.
_compiled = cache(re.compile)


def _groups(pattern: str, text: str, what: str) -> tuple[Any, ...]:
    found = _compiled(pattern).fullmatch(text)
    if found is None:
        raise ArgumentRefused(f"not {what} as RFC 3339 writes it")
    return found.groups()


def _zone(text: str) -> tzinfo:
    if text in "Zz":
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[4:])
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _clock(hour: str, minute: str, second: str, fraction: str | None, zone: str) -> time:
    digits = (fraction or "").rstrip("0")
    if len(digits) > 6:
        raise ArgumentRefused("a time finer than microseconds")
    micros = int(digits.ljust(6, "0"))
    return time(int(hour), int(minute), int(second), micros, tzinfo=_zone(zone))


def _read_date(text: str) -> date:
    year, month, day = _groups(_DAY, text, "a date")
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        raise ArgumentRefused("not a date of the calendar") from None


def _read_time(text: str) -> time:
    groups = _groups(_CLOCK, text, "a time with its offset")
    try:
        return _clock(*groups)
    except ArgumentRefused:
        raise
    except ValueError:
        raise ArgumentRefused("not a time that Python can hold") from None


def _read_date_time(text: str) -> datetime:
    _groups(_DATE_TIME, text, "a date and time with its offset")
    return datetime.combine(_read_date(text[:10]), _read_time(text[11:]))


def _write(moment: datetime | time) -> str:
    if moment.utcoffset() is None:
        kind = type(moment).__name__
        raise TypeError(f"a {kind} without an offset from UTC; give it a time zone")
    text = moment.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def date_codec() -> Codec:
    """Dates as ``2026-01-31``."""
    return text_codec(
        {"format": "date"},
        owns=lambda value: isinstance(value, date) and not isinstance(value, datetime),
        read=_read_date,
        write=date.isoformat,
    )


def time_codec() -> Codec:
    """Times of day with their offset, as ``09:30:00Z``."""
    return text_codec(
        {"format": "time"},
        owns=lambda value: isinstance(value, time),
        read=_read_time,
        write=_write,
    )


def date_time_codec() -> Codec:
    """Moments with their offset, as ``2026-01-31T09:30:00Z``."""
    return text_codec(
        {"format": "date-time"},
        owns=lambda value: isinstance(value, datetime),
        read=_read_date_time,
        write=_write,
    )
