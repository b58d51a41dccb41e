"""The bundle: an exported chain, one JSON object a line, that verifies without a store."""

from __future__ import annotations

import json
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holon_core.records.evidence import EvidenceHead
    from holon_core.store.chains import Row
    from holon_core.wire.json_types import JsonValue

FORMAT = "holon-evidence-bundle/1"
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024


class BrokenLine(Exception):
    """A line that no writer of bundles makes."""


def line(value: dict[str, Any]) -> bytes:
    """Write one line, in the only form that a reader takes.

    ASCII alone, so that nothing in a record can look like the end of a line or steer a terminal.
    """
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f").encode() + b"\n"


def header(chain: str, *, first: int, previous: str) -> dict[str, JsonValue]:
    """Make the first line: what the records that follow begin at and link to."""
    return {"format": FORMAT, "chain": chain, "from": first, "previous": previous}


def tail(head: EvidenceHead) -> dict[str, JsonValue]:
    """Make the last line: where the records end."""
    return {"head": {"chain": head.chain, "seq": head.seq, "hash": head.hash}}


def record(row: Row) -> dict[str, JsonValue]:
    """Make the line of one record; an erased payload has no field."""
    fields: dict[str, JsonValue] = {
        "seq": row.seq,
        "body": _text(row.body),
        "hash": _text(row.hash),
    }
    if row.payload is not None:
        fields["payload"] = _text(row.payload)
    return fields


def write(
    path: Path,
    lines: Iterable[dict[str, JsonValue]],
    *,
    replace: bool = False,
    outside: Path | None = None,
) -> None:
    """Write a bundle whole or not at all, readable by its owner alone.

    Args:
        path: Where to; its folder exists.
        lines: Header, records, tail.
        replace: Write over a bundle that is there; nothing else is ever written over.
        outside: A folder that the file may not lie in, by whichever way its path leads there.

    Raises:
        Refused: ``file_exists``; ``arguments_invalid`` where the place cannot be written.
    """
    reserved = False
    new = None
    try:
        if outside is not None and _is_inside(path, outside):
            raise _refused(path, "it lies in the storage root")
        problem = _in_the_way(path) if replace else ""
        if problem:
            raise _refused(path, problem)
        new = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
        if not replace:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            reserved = True
        _write_new(new, lines)
        new.replace(path)
        reserved = False
    except FileExistsError as error:
        raise Refused(failure("file_exists", f"{path} is there already")) from error
    except (OSError, ValueError) as error:
        raise _refused(path, getattr(error, "strerror", None) or str(error)) from error
    finally:
        if new is not None:
            new.unlink(missing_ok=True)
        if reserved:
            path.unlink(missing_ok=True)


def _refused(path: Path, why: str) -> Refused:
    return Refused(failure("arguments_invalid", f"the bundle cannot be written to {path}: {why}"))


def _is_inside(path: Path, folder: Path) -> bool:
    """Tell whether a path leads into a folder, by its folder or by a link that it is."""
    ends = [Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path))]
    holding = {parent for end in ends for parent in end.parents}
    # Compared as the system does: a path may be spelt in several ways, and mounted twice.
    return any(parent.exists() and parent.samefile(folder) for parent in holding)


def _in_the_way(path: Path) -> str:
    """Say why what is at a path may not be written over; empty where it may."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(found.st_mode):
        return "what is there is no regular file"
    with path.open("rb") as file:
        first = file.readline(MAX_HEADER_BYTES)
    try:
        begun = _parsed(first)
    except BrokenLine:
        begun = {}
    return "" if begun.get("format") == FORMAT else "the file that is there holds no bundle"


def _write_new(new: Path, lines: Iterable[dict[str, JsonValue]]) -> None:
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(map(line, lines))
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[dict[str, JsonValue]]:
    """Read a bundle's lines.

    Raises:
        BrokenLine: A line is not a JSON object in the form that ``line`` writes.
        Refused: ``path_not_found`` where the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            while raw := file.readline(MAX_LINE_BYTES + 1):
                yield _parsed(raw)
    except OSError as error:
        text = f"the bundle {path} cannot be read: {error.strerror}"
        raise Refused(failure("path_not_found", text)) from error


def _parsed(raw: bytes) -> dict[str, JsonValue]:
    from holon_core.wire.strict_json import parse

    try:
        value = parse(raw, max_bytes=MAX_LINE_BYTES)
    except JsonRefused as error:
        raise BrokenLine(str(error)) from error
    if not isinstance(value, dict):
        raise BrokenLine("the line is not an object")
    # One spelling only: every byte of a bundle matters, none can be changed unnoticed.
    if line(value) != raw:
        raise BrokenLine("the line is not written as bundles are")
    return value


def _text(data: Any) -> str:
    # Bytes that are not UTF-8 can only come from tampering; they leave the store as they are and
    # no reader takes them.
    return data.decode(errors="surrogateescape") if isinstance(data, bytes) else str(data)
