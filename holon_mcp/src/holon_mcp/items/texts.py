"""Texts of servers that hide something, or speak to a model instead of about a tool.

What is found is told and never altered: a hint, and no verdict. The patterns find common forms
and no clever one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_core.visible import escape_unseen, is_unseen

HIDDEN = "hidden_characters"
INSTRUCTIONS = "instruction_like_text"
LONG = "long_text"
LONG_CHARS = 8192
MAX_TEXTS = 2000
MAX_FOUND = 20
EXCERPT = 80
_PLAIN = "\n\r\t"
_JOINERS = "\u200d\ufe0f\ufe0e\u200c"
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPEECH = re.compile(
    r"(?i)\b(?:"
    r"ignore (?:all |any |the )*(?:previous|prior|above|earlier|other)"
    r"|disregard (?:all |any |the )*(?:previous|prior|above|earlier)"
    r"|do not (?:tell|mention|inform|reveal|show|disclose)[^.\n]{0,40}"
    r"\b(?:user|human|person|anyone)"
    r"|without (?:telling|informing|asking|notifying) (?:the )?(?:user|human)"
    r"|before (?:us(?:e|ing)|call(?:ing)?)[^.\n]{0,60}\b(?:read|open|send|fetch|cat|include|pass)\b"
    r"|(?:read|send|include|pass|attach|exfiltrate)[^.\n]{0,60}"
    r"(?:\.ssh|id_rsa|\.env\b|credentials|secrets?\.[a-z]+|api[ _-]?keys?|private key|mcp\.json)"
    r"|(?:system|developer) prompt"
    r"|you (?:must|have to) (?:always|first|never)"
    r"|always (?:call|use|invoke|run) this (?:tool|function)"
    r"|instead of (?:any|all|every) other tools?"
    r")"
)
_TAGS = re.compile(r"(?i)<\s*/?\s*(?:important|system|instructions?|secret|hidden|admin)\s*>")


def suspicions(definition: Any) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Look through all texts of a definition.

    Returns:
        Risk hints, and warnings that say where and show what, written out visibly.
    """
    hints: set[str] = set()
    found: list[Finding] = []
    for count, (path, text) in enumerate(_texts(definition, "")):
        if count >= MAX_TEXTS:
            break
        for hint, message in _of(text):
            hints.add(hint)
            if len(found) < MAX_FOUND:
                found.append(
                    Finding(
                        code="text_suspicious",
                        message=message,
                        path=path,
                        severity=Severity.WARNING,
                    )
                )
    return tuple(sorted(hints)), tuple(found)


def _of(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > LONG_CHARS:
        yield LONG, f"a text of {len(text)} characters"
    at = next((i for i, char in enumerate(text) if _hides(text, i, char)), None)
    if at is not None:
        yield HIDDEN, f"characters that act or hide unseen: {_excerpt(text, at)}"
    for pattern, what in (
        (_MARKUP, "a comment that no reader sees"),
        (_TAGS, "marks as for a model"),
        (_SPEECH, "words that instruct a model"),
    ):
        seen = pattern.search(text)
        if seen is not None:
            hint = HIDDEN if pattern is _MARKUP else INSTRUCTIONS
            yield hint, f"{what}: {_excerpt(text, seen.start())}"
            if pattern is _MARKUP:
                yield INSTRUCTIONS, f"{what}, with text in it"


def _hides(text: str, at: int, char: str) -> bool:
    if (char.isascii() and char.isprintable()) or char in _PLAIN or not is_unseen(char):
        return False
    # Joiners and variation selectors after another visible sign make emoji and scripts whole.
    return not (char in _JOINERS and at > 0 and ord(text[at - 1]) > 0x2000)


def _excerpt(text: str, at: int) -> str:
    return escape_unseen(text[at : at + EXCERPT])


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    waiting = [(value, path)]
    while waiting:
        held, at = waiting.pop()
        if isinstance(held, str):
            yield at, held
        elif isinstance(held, dict):
            for key, inner in held.items():
                step = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"[:400]
                yield f"{step} (name)", key
                waiting.append((inner, step))
        elif isinstance(held, list):
            waiting += [(inner, f"{at}/{index}") for index, inner in enumerate(held)]
