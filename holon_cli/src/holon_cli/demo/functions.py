"""The functions that the demo puts behind the door: one reads the workspace, one writes a note."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import holon_core as holon

MAX_FILES = 5_000
MAX_FILE_BYTES = 1_048_576
SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "target", "build", "dist", "_build"})
LANGUAGES = {
    ".c": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".cs": "C#",
    ".css": "CSS",
    ".go": "Go",
    ".h": "C",
    ".html": "HTML",
    ".java": "Java",
    ".js": "JavaScript",
    ".json": "JSON",
    ".kt": "Kotlin",
    ".md": "Markdown",
    ".php": "PHP",
    ".py": "Python",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".rst": "reStructuredText",
    ".sh": "Shell",
    ".sql": "SQL",
    ".swift": "Swift",
    ".toml": "TOML",
    ".ts": "TypeScript",
    ".txt": "Text",
    ".yaml": "YAML",
    ".yml": "YAML",
}


class Language(TypedDict):
    """How much of one language there is."""

    language: str
    files: int
    lines: int


class Counted(TypedDict):
    """Lines by language, most first."""

    languages: list[Language]
    files: int
    lines: int


class Appended(TypedDict):
    """How long the notes are now."""

    lines: int


def functions_on(workspace: Path, notes: Path) -> list[Callable[..., Any]]:
    """Make the two functions for one workspace and one file of notes."""

    @holon.tool(effects={"workspace_read"})
    def count_lines() -> Counted:
        """Count the lines of the workspace by language."""
        return _counted(workspace)

    @holon.tool(effects={"machine_write"})
    def append_note(line: str) -> Appended:
        """Append a line to the notes, a file outside the workspace.

        Args:
            line: The line, without its end.
        """
        with notes.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return {"lines": lines_in(notes)}

    return [append_note, count_lines]


def lines_in(path: Path) -> int:
    """Count the lines of a text file; none where there is no file."""
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def _texts(workspace: Path) -> Iterator[tuple[Path, str]]:
    """Yield text files of known languages in a stable order, bounded in number and size."""
    left = MAX_FILES
    for folder, names, files in os.walk(workspace):
        names[:] = sorted(n for n in names if n not in SKIPPED and not n.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix.lower() not in LANGUAGES or left == 0:
                continue
            try:
                if path.is_symlink() or path.stat().st_size > MAX_FILE_BYTES:
                    continue
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            left -= 1
            yield path, text


def _counted(workspace: Path) -> Counted:
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path, content in _texts(workspace):
        language = LANGUAGES[path.suffix.lower()]
        files[language] += 1
        lines[language] += len(content.splitlines())
    ordered = sorted(files, key=lambda language: (-lines[language], language))
    return {
        "languages": [
            {"language": name, "files": files[name], "lines": lines[name]} for name in ordered
        ],
        "files": files.total(),
        "lines": lines.total(),
    }
