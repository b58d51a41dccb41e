"""Check the values of settings, reporting each fault where it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeVar

from holon_core.config.document import Findings
from holon_core.config.lines import Path
from holon_core.records.rule import glob
from holon_core.records.words import Word

W = TypeVar("W", bound=Word)
# A check returns the value as Holon keeps it, or None after it reported why not.
Check = Callable[[Any, Path, Findings], Any]

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SLOT = re.compile(r"[A-Za-z0-9._-]+")
_REFERENCE = re.compile(r"[a-z][a-z0-9-]*:\S(?:.*\S)?")
_MAX_TEXT = 500
_MAX_INTEGER = 2**53 - 1


def text(value: Any, path: Path, findings: Findings) -> str | None:
    """Accept text of at most 500 characters."""
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        return value
    findings.add(path, f"must be text of at most {_MAX_TEXT} characters")
    return None


def pattern(value: Any, path: Path, findings: Findings) -> str | None:
    """Accept a glob that is not empty."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_TEXT:
        findings.add(path, f"must be a glob of 1 to {_MAX_TEXT} characters")
        return None
    try:
        glob(value)
    except ValueError as error:
        findings.add(path, str(error))
        return None
    return value


def flag(value: Any, path: Path, findings: Findings) -> bool | None:
    """Accept true or false."""
    if isinstance(value, bool):
        return value
    findings.add(path, "must be true or false")
    return None


def number(value: Any, path: Path, findings: Findings) -> float | None:
    """Accept a number that JSON arguments can hold."""
    if _is_number(value):
        return value  # type: ignore[no-any-return]
    findings.add(path, "must be a number, an integer within ±(2**53-1)")
    return None


def scalar(value: Any, path: Path, findings: Findings) -> str | float | bool | None:
    """Accept what a JSON argument can equal."""
    if isinstance(value, str | bool) or _is_number(value):
        return value  # type: ignore[no-any-return]
    findings.add(path, "must be text, a number (an integer within ±(2**53-1)), true or false")
    return None


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= _MAX_INTEGER
    return type(value) is float and isfinite(value)


def between(low: float, high: float, *, whole: bool = True) -> Check:
    """Make a check for numbers of a range, both ends included."""
    kinds = (int,) if whole else (int, float)

    def check(value: Any, path: Path, findings: Findings) -> float | None:
        if type(value) in kinds and low <= value <= high:
            return value  # type: ignore[no-any-return]
        kind = "a whole number" if whole else "a number"
        findings.add(path, f"must be {kind} from {low:g} to {high:.10g}")
        return None

    return check


def word(words: type[W]) -> Check:
    """Make a check for a closed choice."""

    def check(value: Any, path: Path, findings: Findings) -> W | None:
        if isinstance(value, str) and value in [str(each) for each in words]:
            return words(value)
        findings.add(path, f"must be one of {', '.join(words)}")
        return None

    return check


def list_of(check: Check, *, least: int = 0) -> Check:
    """Make a check for a list; each element that is wrong is reported."""

    def check_list(value: Any, path: Path, findings: Findings) -> tuple[Any, ...] | None:
        if not isinstance(value, list | tuple) or len(value) < least:
            findings.add(path, "must be a list" + (" that is not empty" if least else ""))
            return None
        items = [check(item, (*path, at), findings) for at, item in enumerate(value)]
        return tuple(item for item in items if item is not None)

    return check_list


def distribution(value: Any, path: Path, findings: Findings) -> str | None:
    """Accept the name of a distribution, normalised as package indexes do."""
    if isinstance(value, str) and _DISTRIBUTION.fullmatch(value):
        return re.sub(r"[-_.]+", "-", value).lower()
    findings.add(path, "must be the name of a distribution")
    return None


def table(value: Any, path: Path, findings: Findings) -> Mapping[str, Any] | None:
    """Accept a table."""
    if isinstance(value, Mapping):
        return value
    findings.add(path, "must be a table")
    return None


def secret_references(value: Any, path: Path, findings: Findings) -> Mapping[str, str] | None:
    """Accept names bound to references; what stands there by mistake is never repeated."""
    names = table(value, path, findings) or {}
    for name, reference in names.items():
        if not _SLOT.fullmatch(name):
            findings.add((*path, name), "a name holds letters, digits, dots, - and _ only")
        if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
            message = 'must be a reference such as "env:NAME", never the secret itself'
            findings.add((*path, name), message)
        elif reference.startswith("secret:"):
            message = "names another name; bind it to where the value is, such as env:NAME"
            findings.add((*path, name), message)
    return names


def memory(value: Any, path: Path, findings: Findings) -> Mapping[str, Any] | None:
    """Accept the table of the memory lane, of which the core knows the keys."""
    found = table(value, path, findings)
    findings.unknown_keys(found or {}, ["command"], path)
    return found


def tables(value: Any, path: Path, findings: Findings) -> Mapping[str, Mapping[str, Any]] | None:
    """Accept a table of tables."""
    outer = table(value, path, findings) or {}
    return {
        name: found
        for name, inner in outer.items()
        if (found := table(inner, (*path, name), findings)) is not None
    }
