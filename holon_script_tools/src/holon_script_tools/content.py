"""What a script artifact states beside what every frozen tool does: its command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from holon_core import Effect, Finding, FrozenToolDefinition
from holon_script_tools.interpreters import INTERPRETERS

MAX_WORDS = 64
MAX_WORD = 4096
# Variables through which an interpreter, a loader or Holon itself can be told what to do.
_RESERVED = re.compile(
    r"(HOLON|LD|DYLD|NODE|BASH|NPM|LC|GCONV|GLIBC|MALLOC|NIS|OPENSSL|RES|UV|V8)(_.*)?|"
    r"(PYTHON|SSL|TERM|GETCONF).*|.*_PROXY|"
    r"(PATH|HOME|LANG|LANGUAGE|LOCPATH|NLSPATH|TZ|TZDIR|TMPDIR|TEMP|TMP|ENV|IFS|PS4|SHELLOPTS|"
    r"BASHOPTS|CDPATH|GLOBIGNORE|PROMPT_COMMAND|HOSTALIASES|LOCALDOMAIN|RESOLV_HOST_CONF)"
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


@frozen(kw_only=True)
class Command:
    """An interpreter of the list, the file that it runs, and fixed words after it."""

    interpreter: str
    program: str
    words: tuple[str, ...] = ()


def command_of(definition: FrozenToolDefinition) -> Command:
    """Return the command of a definition that was judged sound."""
    interpreter, program, *words = definition.content["command"]
    return Command(interpreter=interpreter, program=program, words=tuple(words))


def problems(definition: FrozenToolDefinition, files: Mapping[str, bytes]) -> Iterator[Finding]:
    """Name what is wrong with a script artifact, from reading it alone."""
    yield from _content(definition.content, files)
    if Effect.UNKNOWN in definition.policy.effects:
        yield _finding("a script states its effects", "/policy/effects", "effects_undeclared")
    for number, slot in enumerate(definition.secret_slots):
        if not _VARIABLE.fullmatch(slot.name) or _RESERVED.fullmatch(slot.name):
            text = (
                f"{slot.name!r:.100} can't be a secret's variable: A-Z 0-9 _, and no name that an "
                "interpreter or Holon reads"
            )
            yield _finding(text, f"/secret_slots/{number}/name")
    for path, body in files.items():
        if b"\0" in body:
            yield _finding(f"{path} holds a NUL byte; a script is text", "/files", "source_invalid")


def _content(content: Mapping[str, Any], files: Mapping[str, bytes]) -> Iterator[Finding]:
    for name in sorted(set(content) - {"command"}):
        yield _finding("no member of a script's content", f"/content/{name[:80]}")
    command = content.get("command")
    if isinstance(command, str):
        text = "a command is a list of words, never one text for a shell"
        yield _finding(text, "/content/command")
        return
    words = command if isinstance(command, list) else []
    if not 2 <= len(words) <= MAX_WORDS or not all(map(_is_word, words)):
        text = f"a command is 2 to {MAX_WORDS} words: an interpreter, a file, fixed arguments"
        yield _finding(text, "/content/command")
        return
    yield from _command(words, files)


def _command(words: list[str], files: Mapping[str, bytes]) -> Iterator[Finding]:
    interpreter = INTERPRETERS.get(words[0])
    if interpreter is None:
        text = f"{words[0]!r:.100} is no interpreter of the list: {', '.join(INTERPRETERS)}"
        yield _finding(text, "/content/command/0")
    if words[1] not in files:
        text = f"{words[1]!r:.100} is none of its files"
        yield _finding(text, "/content/command/1", "unresolved_ref")
    elif interpreter is not None and not interpreter.archives and len(files) > 1:
        text = (
            f"{interpreter.name} reads what it includes from disk, where it could be swapped; "
            "such a script is one file"
        )
        yield _finding(text, "/files", "source_invalid")
    if interpreter is not None and interpreter.archives and len(files) > 1:
        yield from _modules(words[1], files)


def _modules(program: str, files: Mapping[str, bytes]) -> Iterator[Finding]:
    if "__main__.py" in files and program != "__main__.py":
        text = "a __main__.py beside another program would run in its place"
        yield _finding(text, "/files", "source_invalid")


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and 0 < len(word) <= MAX_WORD and "\0" not in word


def _finding(message: str, path: str, code: str = "record_invalid") -> Finding:
    return Finding(code=code, message=message, path=path)
