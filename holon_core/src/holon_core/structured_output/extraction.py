"""Taking the one JSON value out of what a model wrote; two candidates are none."""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused
from holon_core.records.failure import failure
from holon_core.wire.json_types import MAX_BYTES
from holon_core.wire.strict_json import parse
from holon_core.wire.values import normalise

if TYPE_CHECKING:
    from holon_core.records.failure import StructuredFailure

# A fence may be longer than three marks; what closes it is as long or longer.
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_JSON_WORDS = ("", "json", "application/json")
# Places where an object may begin, that are looked at outside of a fenced block.
MAX_PLACES = 100


class NotExtracted(Exception):
    """No single JSON value is in the answer; carries the failure."""

    def __init__(self, problem: StructuredFailure) -> None:
        super().__init__(problem.code)
        self.failure = problem


def extract(answer: object, *, max_bytes: int = MAX_BYTES) -> Any:
    """Return the one JSON value of an answer.

    Args:
        answer: Text (``str`` or UTF-8 ``bytes``), or a JSON value. Text is one JSON value and
            nothing else, or holds exactly one fenced block with one; prose around the block
            is left out, prose around a bare value is not accepted.
        max_bytes: Size accepted, of text or of the value's canonical form.

    Raises:
        NotExtracted: ``extraction_failure`` with ``reason`` in its details: ``empty``,
            ``not_json``, ``prose_around`` (a bare value), ``two_candidates``, ``unclosed_fence``,
            or a rule of strict JSON.

    Source: tooling taxonomy, "Structured Output Contracts".
    """
    try:
        if not isinstance(answer, (str, bytes)):
            return normalise(answer, max_bytes=max_bytes).value
        text = _text(answer, max_bytes)
        fenced, outside = _blocks(text)
        if not fenced:
            return normalise(_whole(text)).value
        if len(fenced) > 1 or _holds_value(outside):
            raise NotExtracted(_problem("two_candidates", "the answer holds more than one value"))
        return normalise(parse(fenced[0], max_bytes=max_bytes)).value
    except JsonRefused as refused:
        raise NotExtracted(_strict(refused)) from None


def _text(answer: str | bytes, max_bytes: int) -> str:
    if len(answer) > max_bytes:
        raise JsonRefused("too_large", f"larger than {max_bytes} bytes")
    if isinstance(answer, bytes):
        try:
            answer = answer.decode()
        except UnicodeDecodeError as error:
            raise JsonRefused("not_utf8", "not UTF-8", "", error.start) from None
    if not answer.strip():
        raise NotExtracted(_problem("empty", "the answer is empty"))
    return answer


def _whole(text: str) -> Any:
    try:
        return parse(text.strip(" \t\r\n"))
    except JsonRefused as refused:
        if refused.rule not in ("syntax", "trailing"):
            raise
        reason = _why(text.strip(" \t\r\n"), refused)
        at = "" if refused.offset is None else f" (offset {refused.offset})"
        where = f"{refused.message}{at}"
        raise NotExtracted(_problem(reason, where)) from None


def _why(text: str, refused: JsonRefused) -> str:
    """Tell prose around a value, several values, and text that is no JSON at all apart."""
    if refused.rule == "trailing":
        several = _holds_value(text[refused.offset or 0 :])
        return "two_candidates" if several else "prose_around"
    if text[0] in "{[":
        return "not_json"
    return "prose_around" if _holds_value(text) else "not_json"


def _blocks(text: str) -> tuple[list[str], str]:
    """Return the contents of fenced JSON blocks, and the text outside of all fences."""
    blocks: list[str] = []
    outside: list[str] = []
    inside: list[str] | None = None
    mark, wanted = "", False
    for line in text.split("\n"):
        found = _FENCE.match(line.rstrip("\r"))
        if inside is None and found is not None:
            mark, wanted, inside = found[1], found[2].lower() in _JSON_WORDS, []
        elif inside is not None and found is not None and _closes(found, mark):
            (blocks if wanted else outside).append("\n".join(inside))
            inside = None
        else:
            (outside if inside is None else inside).append(line)
    if inside is not None:
        raise NotExtracted(_problem("unclosed_fence", "a fenced block is not closed"))
    return blocks, "\n".join(outside)


def _closes(found: re.Match[str], mark: str) -> bool:
    return found[1][0] == mark[0] and len(found[1]) >= len(mark) and not found[2]


def _holds_value(text: str) -> bool:
    """Tell whether prose holds another object, or a line that is a value of its own."""
    places = [at.start() for at in re.finditer(r"\{", text)]
    if len(places) > MAX_PLACES:
        return True
    return any(_begins_object(text, at) for at in places) or any(
        _is_array(line.strip()) for line in text.split("\n")
    )


def _begins_object(text: str, at: int) -> bool:
    try:
        return bool(JSONDecoder().raw_decode(text, at)[0])
    except (ValueError, RecursionError):
        return False


def _is_array(line: str) -> bool:
    if not (line.startswith("[") and line.endswith("]")):
        return False
    try:
        parse(line)
    except JsonRefused:
        return False
    return True


def _strict(refused: JsonRefused) -> StructuredFailure:
    more = {} if refused.offset is None else {"offset": refused.offset}
    text = f"{refused.message} at {refused.path or '/'}"
    return failure("extraction_failure", text, reason=refused.rule, path=refused.path, **more)


def _problem(reason: str, text: str) -> StructuredFailure:
    return failure("extraction_failure", text, reason=reason, path="")
