"""One SQL file: its front comments read into what the query is, takes and is bounded by."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

from attrs import frozen

MAX_FILE_BYTES = 64 * 1024
MAX_ROWS = 10_000
DEFAULT_ROWS = 200

_FIELD = re.compile(r"(database|rows):\s*(.+)")
_PARAMETER = re.compile(
    r"param\s+(?P<name>[a-z_][a-z0-9_]{0,63})\s+(?P<type>\w+)"
    r"(?:\s*=\s*(?P<default>[^:]+?))?\s*:\s*(?P<doc>.+)"
)
_SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "maxLength": 10_000},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
}
# What can hold a colon without naming a parameter: texts, quoted names, comments.
_QUOTED = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[[^\]]*\]|`[^`]*`|--[^\n]*|/\*.*?\*/", re.S
)
_NAMED = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")
_OTHER = re.compile(r"\?|[@$][A-Za-z_]")
# SQLite ends no function in the middle: a width that a caller chooses would hold it for minutes.
_FORMATS = re.compile(r"\b(?:printf|format)\s*\(", re.I)
_PLAIN_FORMAT = re.compile(r"\s*'(?:[^'*0-9]|[0-9]{1,4}(?![0-9]))*'\s*[,)]")


class BadQuery(ValueError):
    """A file that cannot become a tool; the text says why."""


@frozen(kw_only=True)
class Parameter:
    """A named value of the query; ``default`` is None where the caller has to give one."""

    name: str
    type: str
    doc: str
    default: Any = None

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        made = {**_SCHEMAS[self.type], "description": self.doc}
        return made if self.default is None else {**made, "default": self.default}


@frozen(kw_only=True)
class Query:
    """A query: ``digest`` is the SHA-256 of its file, ``database`` a path in the workspace."""

    name: str
    sql: str
    digest: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    database: str | None = None
    rows: int = DEFAULT_ROWS


def read_query(name: str, data: bytes) -> Query:
    """Read one file.

    Args:
        name: The file's name without its ending.
        data: Its bytes: UTF-8, at most 64 KiB, one statement after the front comments.

    Raises:
        BadQuery: It is none of that, a front comment is wrong, or the parameters of the
            statement are not those that are described.
    """
    if len(data) > MAX_FILE_BYTES:
        raise BadQuery(f"larger than {MAX_FILE_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadQuery("not UTF-8") from None
    front, sql = _split(text)
    description, fields, parameters = _front(front)
    if not description:
        raise BadQuery("the front comment does not say what the query is for")
    _check_statement(sql, {parameter.name for parameter in parameters})
    return Query(
        name=name,
        sql=sql,
        digest=sha256(data).hexdigest(),
        description=description,
        parameters=tuple(parameters),
        database=fields.get("database"),
        rows=_rows(fields.get("rows")),
    )


def _split(text: str) -> tuple[list[str], str]:
    lines = text.lstrip("\ufeff").splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("--")), len(lines))
    return [line[2:].strip() for line in lines[:count]], "\n".join(lines[count:]).strip()


def _front(lines: list[str]) -> tuple[str, dict[str, str], list[Parameter]]:
    told: list[str] = []
    fields: dict[str, str] = {}
    parameters: list[Parameter] = []
    for line in lines:
        if line.startswith("param ") or line.startswith("param:"):
            parameters.append(_parameter(line))
        elif field := _FIELD.fullmatch(line):
            fields[field[1]] = field[2].strip()
        else:
            told.append(line)
    names = [parameter.name for parameter in parameters]
    if len(set(names)) < len(names):
        raise BadQuery("a parameter is described twice")
    return " ".join(filter(None, told)), fields, parameters


def _parameter(line: str) -> Parameter:
    found = _PARAMETER.fullmatch(line)
    if found is None:
        raise BadQuery(f"not `param NAME TYPE: what it is` (with `= DEFAULT` after TYPE): {line}")
    if found["type"] not in _SCHEMAS:
        raise BadQuery(f"{found['name']}: the types are {', '.join(_SCHEMAS)}")
    if found["name"] == "database":
        raise BadQuery("database is the lane's own parameter")
    default = None if found["default"] is None else _default(found["default"], found["type"])
    return Parameter(
        name=found["name"], type=found["type"], doc=found["doc"].strip(), default=default
    )


def _default(text: str, kind: str) -> Any:
    if kind in {"text", "date"}:
        return text.strip("'\"")
    try:
        value = json.loads(text)
    except ValueError:
        raise BadQuery(f"{text} is no {kind}") from None
    wanted = {"integer": (int,), "number": (int, float), "boolean": (bool,)}[kind]
    if type(value) not in wanted:
        raise BadQuery(f"{text} is no {kind}")
    return value


def _rows(text: str | None) -> int:
    if text is None:
        return DEFAULT_ROWS
    if not text.isdecimal() or not 0 < int(text) <= MAX_ROWS:
        raise BadQuery(f"rows is a whole number from 1 to {MAX_ROWS}")
    return int(text)


def _check_statement(sql: str, described: set[str]) -> None:
    bare = _QUOTED.sub(" ", sql)
    if any(not _PLAIN_FORMAT.match(sql, each.end()) for each in _FORMATS.finditer(sql)):
        raise BadQuery("printf and format take a literal text, with widths of up to 4 digits")
    if not bare.strip(" \n\t;"):
        raise BadQuery("there is no statement after the front comment")
    if ";" in bare.rstrip().rstrip(";"):
        raise BadQuery("one file holds one statement")
    if _OTHER.search(bare):
        raise BadQuery("parameters are written :name")
    used = set(_NAMED.findall(bare))
    if used != described:
        differing = ", ".join(sorted(used ^ described))
        raise BadQuery(f"described and used parameters differ: {differing}")
