"""Paths inside packages: which names are taken, and which two names are one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from holon_core.records.finding import Finding
from holon_core.visible import escape_controls

MAX_PATH_CHARS = 300
MAX_PARTS = 16
_DRIVE = re.compile(r"[A-Za-z]:")
# Names that Windows gives to devices, whatever their extension.
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?")


def path_problem(path: str) -> str:
    """Say why a path is none inside a package, on every platform; empty where it is one."""
    if not path or len(path) > MAX_PATH_CHARS:
        return f"it is empty or longer than {MAX_PATH_CHARS} characters"
    if "\\" in path:
        return "it holds a backslash"
    if path.startswith("/"):
        return "it is absolute"
    if _DRIVE.match(path):
        return "it names a drive"
    if ":" in path or escape_controls(path) != path:
        return "it holds a colon, or a character that is none of a name or turns what is read"
    parts = path.split("/")
    if len(parts) > MAX_PARTS:
        return f"it is more than {MAX_PARTS} deep"
    if any(part in ("", ".", "..") for part in parts):
        return "it has an empty, . or .. part"
    if any(part[-1] in ". " or _DEVICES.fullmatch(part) for part in parts):
        return "a part of it is no file name on every platform"
    return ""


def escaping(path: str) -> Finding:
    """Make the finding of a path that is refused."""
    text = f"the entry {escape_controls(path)[:200]!r} is refused: {path_problem(path)}"
    return Finding(code="package_path_escape", message=text)


def folded(path: str) -> str:
    """Return what two names share that are one on some platform."""
    return unicodedata.normalize("NFKC", path).casefold()


def collisions(paths: Iterable[str]) -> Iterator[Finding]:
    """Find names that are one on some platform, and files that others take for a folder."""
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        key = folded(path)
        if key in seen:
            text = f"{seen[key]!r:.200} and {path!r:.200} are one name on some platform"
            yield Finding(code="package_duplicate_entry", message=text)
        seen[key] = path
        above = path
        while "/" in above:
            above = above.rpartition("/")[0]
            folders.setdefault(folded(above), above)
            known = folders[folded(above)]
            if known != above:
                text = f"the folders {known!r:.200} and {above!r:.200} are one on some platform"
                yield Finding(code="package_duplicate_entry", message=text)
    for key, path in seen.items():
        if key in folders:
            text = f"{path!r:.200} is a file and a folder"
            yield Finding(code="package_duplicate_entry", message=text)
