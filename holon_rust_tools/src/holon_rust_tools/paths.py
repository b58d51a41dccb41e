"""The proposal's files as files: their paths, names, sizes and text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from holon_core.visible import escape_controls
from holon_rust_tools.findings import RustFinding

MANIFEST = "Cargo.toml"
LOCK = "Cargo.lock"
MAX_FILES = 200
MAX_FILE_BYTES = 1024 * 1024
MAX_TOTAL_BYTES = 4 * 1024 * 1024
MAX_PATH = 200
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_TOOLCHAIN = re.compile(r"rust-toolchain(\.toml)?")
_CONFIG_NAMES = frozenset({"rustfmt.toml", ".rustfmt.toml", "clippy.toml", ".clippy.toml"})


def path_findings(files: Sequence[tuple[str, str]]) -> Iterator[RustFinding]:
    """Judge paths, sizes and texts of source files.

    Args:
        files: Path and text of each, in the proposal's order.
    """
    if len(files) > MAX_FILES:
        yield RustFinding(rule="rust_size", message=f"more than {MAX_FILES} files", path="/files")
        return
    seen: dict[str, str] = {}
    total = 0
    for number, (path, text) in enumerate(files):
        where = f"/files/{number}"
        yield from _path(path, where)
        same = _one_name(path)
        if same in seen:
            told = f"{path!r:.100} and {seen[same]!r:.100} are one file where names are folded"
            yield RustFinding(rule="rust_source_path", message=told, path=where)
        seen.setdefault(same, path)
        yield from _text(path, text, where)
        total += len(text.encode("utf-8", "surrogatepass"))
    if total > MAX_TOTAL_BYTES:
        told = f"all files together have more than {MAX_TOTAL_BYTES} bytes"
        yield RustFinding(rule="rust_size", message=told, path="/files")
    for path in seen:
        parts = path.split("/")
        if any("/".join(parts[:end]) in seen for end in range(1, len(parts))):
            told = f"{path!r:.100}: a file and a folder of one name"
            yield RustFinding(rule="rust_source_path", message=told, path="/files")


def _one_name(path: str) -> str:
    """Return what two paths have in common that some file system takes for one."""
    parts = path.replace("\\", "/").split("/")
    plain = "/".join(part for part in parts if part not in ("", "."))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


def _path(path: str, where: str) -> Iterator[RustFinding]:
    problem = _path_problem(path)
    if problem is not None:
        yield RustFinding(rule=problem[0], message=f"{path!r:.100} {problem[1]}", path=where)


def _path_problem(path: str) -> tuple[str, str] | None:
    rule = "rust_source_path"
    if not 0 < len(path) <= MAX_PATH:
        return rule, f"has to have 1 to {MAX_PATH} characters"
    parts = path.split("/")
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        return rule, "is rooted; paths are relative to the manifest"
    if ".." in parts or "\\" in path:
        return rule, "leads out of its folder, or is written with backslashes"
    if any(part.casefold() == ".cargo" for part in parts):
        return "rust_config_file", "would configure cargo"
    last = parts[-1].casefold()
    if _TOOLCHAIN.fullmatch(last) or last in _CONFIG_NAMES:
        return "rust_config_file", "would choose or configure the toolchain"
    if last == "build.rs" and len(parts) == 1:
        return "rust_build_script", "is run by cargo while it builds"
    if last in ("cargo.toml", "cargo.lock") and path not in (MANIFEST, LOCK):
        return "rust_manifest", "is a second manifest; a tool is one package"
    if not all(_PART.fullmatch(part) for part in parts):
        return rule, "has parts of other characters than A-Z a-z 0-9 . _ -, or empty ones"
    if any(_DEVICE.fullmatch(part) or part.endswith(".") for part in parts):
        return rule, "is a device, or no name of a file, on some systems"
    return None


def _text(path: str, text: str, where: str) -> Iterator[RustFinding]:
    if not text.strip():
        yield RustFinding(rule="rust_source_path", message=f"{path!r:.100} is empty", path=where)
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        told = f"{path!r:.100} is no text that UTF-8 can hold"
        yield RustFinding(rule="rust_source_text", message=told, path=where)
        return
    if size > MAX_FILE_BYTES:
        told = f"{path!r:.100} has more than {MAX_FILE_BYTES} bytes"
        yield RustFinding(rule="rust_size", message=told, path=where)
        return
    plain = text.replace("\t", " ").replace("\r\n", "\n")
    for number, line in enumerate(plain.split("\n"), 1):
        if escape_controls(line) != line:
            told = "a control or bidirectional character; write it as an escape"
            yield RustFinding(
                rule="rust_source_text", message=told, file=path, line=number, path=where
            )
