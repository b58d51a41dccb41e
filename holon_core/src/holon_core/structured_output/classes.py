"""The classes of one runtime: the core's, those of plugins and those that the host registers."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from attrs import evolve

from holon_core.errors import Refused, Rejected
from holon_core.nearest import nearest
from holon_core.records.failure import failure
from holon_core.records.finding import Finding, has_errors
from holon_core.records.output import OutputClass, OutputGate
from holon_core.structured_output.builtin import CLASSES
from holon_core.structured_output.gates import SCHEMA_DOMAIN
from holon_core.wire.canonical import digest
from holon_core.wire.schema_check import check_schema

_ID = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)+")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_ID = 200
# Those whose members a class of another's own has by itself.
OPEN_GATES = frozenset({OutputGate.SCHEMA})


class OutputClasses:
    """All classes by id. Safe for many threads.

    Args:
        elsewhere: Finds classes that are kept elsewhere: those of the contracts of agents.
    """

    def __init__(self, elsewhere: Callable[[str], OutputClass | None] = lambda _: None) -> None:
        self._lock = threading.Lock()
        self._elsewhere = elsewhere
        self._classes: dict[str, tuple[OutputClass, str]] = {}
        for each in CLASSES:
            self._classes[each.id] = (each, digest(each.schema, domain=SCHEMA_DOMAIN))

    def register(self, given: OutputClass) -> OutputClass:
        """Add a class of a host's or a plugin's own.

        Returns:
            The class with the schema that counts: a copy, closed where it was silent on
            further properties.

        Raises:
            Rejected: With every finding; also where the id is taken by another class.
        """
        made, findings = admitted(given)
        if has_errors(findings):
            raise Rejected(str(getattr(given, "id", "output class"))[:MAX_ID], findings)
        entry = (made, digest(made.schema, domain=SCHEMA_DOMAIN))
        with self._lock:
            known = self._classes.get(made.id)
            if known is not None and known != entry:
                text = "another class has this id; a changed one gets an id of its own"
                raise Rejected(made.id, [_finding("duplicate_id", text, "/id")])
            self._classes[made.id] = entry
        return made

    def get(self, class_id: str) -> tuple[OutputClass, str]:
        """Return a class and the digest of its schema.

        Raises:
            Refused: ``unknown_output_class``.
        """
        found = self._classes.get(class_id)
        other = self._elsewhere(class_id) if found is None else None
        if other is not None:
            return other, digest(other.schema, domain=SCHEMA_DOMAIN)
        if found is None:
            near = nearest(class_id, self._classes)
            text = f"no structured-output class {class_id!r:.100}{near}"
            raise Refused(failure("unknown_output_class", text))
        return found

    def list(self) -> tuple[OutputClass, ...]:
        """Return all classes: the core's, then others by id."""
        with self._lock:
            others = sorted(each for each in self._classes if "." in each)
            return tuple(self._classes[each][0] for each in [*(c.id for c in CLASSES), *others])


def admitted(given: Any) -> tuple[OutputClass, tuple[Finding, ...]]:
    """Check a class that somebody brings; return it with the schema that counts."""
    if type(given) is not OutputClass:
        return given, (_finding("record_invalid", "an OutputClass is wanted"),)
    findings = list(_words(given))
    report = check_schema(given.schema, role="input")
    schema: Any = report.schema
    findings += [evolve(each, path=f"/schema{each.path}") for each in report.findings]
    made = given if has_errors(findings) else evolve(given, schema=schema)
    return made, tuple(findings)


def _words(given: Any) -> list[Finding]:
    found = []
    if not (isinstance(given.id, str) and len(given.id) <= MAX_ID and _ID.fullmatch(given.id)):
        text = "a class of your own is words of a-z 0-9 _ - joined by dots, one dot at least"
        found.append(_finding("invalid_id", text, "/id"))
    if not isinstance(given.version, str) or not given.version.strip():
        found.append(_finding("record_invalid", "a version is a text", "/version"))
    if not (isinstance(given.producer, str) and _WORD.fullmatch(given.producer)):
        found.append(_finding("record_invalid", "a producer is a word of a-z 0-9 _", "/producer"))
    consumers = given.consumers
    good = type(consumers) is tuple and consumers
    if not good or not all(isinstance(c, str) and _WORD.fullmatch(c) for c in consumers):
        text = "consumers are a tuple of words of a-z 0-9 _, one at least"
        found.append(_finding("record_invalid", text, "/consumers"))
    gate = given.gate
    if type(gate) is not tuple or not set(gate) <= OPEN_GATES or OutputGate.SCHEMA not in gate:
        text = "the gate of a class of your own is the schema; more of it goes into check"
        found.append(_finding("record_invalid", text, "/gate"))
    if given.check is not None and not callable(given.check):
        found.append(_finding("record_invalid", "check is a function", "/check"))
    return found


def _finding(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, message=message, path=path)
