"""Console transcripts of the manual: commands, and what each printed but for what differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Ids, times, the names of folders, durations: each is replaced by a word for its kind.
VOLATILE = (
    (re.compile(r"\bc[0-9a-f]{32}\b"), "CALL"),
    (re.compile(r"-[0-9a-f]{10}(?=#|\b)"), "-CHAIN"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"in \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?"), "in SECONDS"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each command of a page's console blocks with what it is shown to print."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def plain(text: str) -> str:
    """Return a text with all that differs between two runs replaced."""
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text.strip()
