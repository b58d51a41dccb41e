"""What is odd about a definition and no reason to refuse it: flagged when a tool is registered.

A tool that returns a plan is an answer and no call. Names and values in schemas are shown to models
as they stand: what hides in them is told, and what is too long. Descriptions are cleaned and cut
where they are shown; names of properties and values of enums have to match, so they cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.records.finding import Finding
from holon_core.records.words import Severity
from holon_core.visible import escape_unseen, is_unseen

if TYPE_CHECKING:
    from holon_core.records.tool import RuntimeToolDescriptor

HIDDEN = "hidden_characters"
LONG = "long_text"
MAX_NAME_CHARS = 128
MAX_VALUE_CHARS = 512
MAX_VALUES_CHARS = 15_000
MAX_FOUND = 20
EXCERPT = 80
# In canonical JSON: what is no printable ASCII, an escape, or longer than any text that is flagged.
_ODD = re.compile(rb'[\x7f-\xff\\]|[^"]{129}')
_NAMES = ("properties", "patternProperties", "dependentSchemas")
_VALUES = ("enum", "const")
# After a sign that is seen they make emoji and scripts whole.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_PLANS = (
    r"\b(?:return|give|make|create|propose|submit|present|write|draft|generate)s?"
    r"(?: (?:a|an|the|your|its|my))?(?: [a-z-]+)? plan\b"
)


def returns_plan(tool: RuntimeToolDescriptor) -> Iterator[Finding]:
    """Flag a tool whose declared purpose is to return a plan: that is an answer, not a call."""
    output = tool.output_schema or {}
    properties = output.get("properties")
    steps = isinstance(properties, Mapping) and {"goal", "steps"} <= set(properties)
    said = f"{tool.name} {tool.description[:300]}".replace("_", " ").lower()
    if steps or ("plan" in said and re.search(_PLANS, said)):
        text = (
            "it returns a plan; an agent's plan is its final answer: give its profile the output "
            "class planner_output, and end by session.finish"
        )
        yield Finding(code="returns_plan", message=text, severity=Severity.WARNING)


def may_be_odd(canonical: bytes) -> bool:
    """Tell of most schemas, by their canonical bytes, that there is nothing to look for."""
    return len(canonical) > MAX_VALUES_CHARS or _ODD.search(canonical) is not None


def suspicious(schema: Any) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Look through the names and values of a schema.

    Args:
        schema: An admitted schema.

    Returns:
        Risk hints, and warnings with the place of each.
    """
    hints: dict[str, None] = {}
    found: list[Finding] = []
    for path, hint, message in _odd(schema):
        hints[hint] = None
        if len(found) < MAX_FOUND:
            warning = Severity.WARNING
            found.append(
                Finding(code="text_suspicious", message=message, path=path, severity=warning)
            )
    return tuple(hints), tuple(found)


def with_hints(stated: tuple[str, ...], hints: tuple[str, ...]) -> tuple[str, ...]:
    """Return the risk hints that an author states, and those that were found."""
    return (*stated, *(each for each in hints if each not in stated))


def _odd(schema: Any) -> Iterator[tuple[str, str, str]]:
    waiting = [(schema, "")]
    while waiting:
        held, path = waiting.pop()
        if isinstance(held, list):
            waiting += [(inner, f"{path}/{at}") for at, inner in enumerate(held)]
        if not isinstance(held, Mapping):
            continue
        for keyword, inner in held.items():
            at = f"{path}/{_step(keyword)}"
            if keyword in _VALUES:
                yield from _of_values(inner, at)
            elif keyword in _NAMES and isinstance(inner, Mapping):
                for name, part in inner.items():
                    step = f"{at}/{_step(name)}"[:400]
                    yield from _of_text(name, step, MAX_NAME_CHARS, "the name of a property")
                    waiting.append((part, step))
            elif isinstance(inner, (Mapping, list)) and keyword not in ("default", "examples"):
                waiting.append((inner, at[:400]))


def _of_values(values: Any, path: str) -> Iterator[tuple[str, str, str]]:
    texts = [
        each for each in (values if isinstance(values, list) else [values]) if type(each) is str
    ]
    chars = sum(map(len, texts))
    if chars > MAX_VALUES_CHARS:
        yield path, LONG, f"values of {chars} characters, which models are shown as they stand"
    for at, text in enumerate(texts):
        step = f"{path}/{at}" if isinstance(values, list) else path
        yield from _of_text(text, step, MAX_VALUE_CHARS, "a value")


def _of_text(text: str, path: str, most: int, what: str) -> Iterator[tuple[str, str, str]]:
    if len(text) > most:
        yield path, LONG, f"{what} of {len(text)} characters, which models are shown as it stands"
    if text.isascii() and text.isprintable():
        return
    at = next((i for i, char in enumerate(text) if _hides(text, i, char)), None)
    if at is not None:
        shown = escape_unseen(text[at : at + EXCERPT])
        yield path, HIDDEN, f"characters in {what} that act or hide unseen: {shown}"


def _hides(text: str, at: int, char: str) -> bool:
    return is_unseen(char) and not (char in _JOINERS and at > 0 and ord(text[at - 1]) > 0x2000)


def _step(name: str) -> str:
    return escape_unseen(name.replace("~", "~0").replace("/", "~1"))
