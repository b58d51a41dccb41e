"""A sink that appends evidence to a file, one JSON object a line."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holon_core.records.evidence import EvidenceRecord

# What some reader takes for the end of a line, or shows as something else than it is. JSON
# escapes C0 itself; the rest is allowed in it as it is.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


class JsonLinesSink:
    r"""Appends each record to a file as one line of JSON, whatever the record holds.

    The file is opened for each batch, so that it may be moved away at any time (rotation); it is
    made with mode 0600. A line that a crash left unfinished is ended before the next record.
    Control characters, U+2028, U+2029 and bidirectional controls are written as ``\uXXXX``.

    Args:
        path: The file; its folder exists.
        name: The sink's name, under which the store remembers how far it has come.
        required: Refuse calls where the sink is too far behind.
        fsync: Flush each batch to the disk.
        include_payloads: Write payloads too; a payload that is erased later stays in the file.

    Source: docs/evidence.md, "Sinks".
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str = "jsonl",
        *,
        required: bool = False,
        fsync: bool = False,
        include_payloads: bool = False,
    ) -> None:
        self.path = Path(path)
        self.name = name
        self.required = required
        self._fsync = fsync
        self._include_payloads = include_payloads

    def write(self, records: Sequence[EvidenceRecord]) -> None:
        """Append records.

        Raises:
            OSError: The file can't be written, or is none (a pipe, a device).
        """
        lines = "".join(self._line(record) for record in records).encode()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(self.path, flags, 0o600)
        with open(descriptor, "ab", buffering=0) as file:  # noqa: PTH123 - a descriptor
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(f"{self.path} is not a regular file")
            if found.st_size and os.pread(descriptor, 1, found.st_size - 1) != b"\n":
                lines = b"\n" + lines
            while lines:
                lines = lines[file.write(lines) or 0 :]
            if self._fsync:
                os.fsync(descriptor)

    def close(self) -> None:
        """Nothing is kept open."""

    def _line(self, record: EvidenceRecord) -> str:
        fields: dict[str, Any] = {
            "chain": record.chain,
            "seq": record.seq,
            "call_id": record.call_id,
            "kind": record.kind,
            "created_at_unix_seconds": record.created_at_unix_seconds,
            "hash": record.hash,
            "body": record.body,
        }
        if self._include_payloads and record.payload is not None:
            fields["payload"] = record.payload
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
