"""Regular expressions of schemas: which may cost too much, and their form for Python's engine."""

from __future__ import annotations

import re

_BACKTRACKING = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]|\\k")
_TOKEN = re.compile(
    r"\\c[A-Za-z]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!]|P?<\w+>)|.", re.DOTALL
)
_MEMBER = re.compile(r"\\c[A-Za-z]|\\.|[\[&~|]", re.DOTALL)
_QUANTIFIER = re.compile(r"([*+?]|\{(\d+)(,(\d*))?\})[?+]?")
_SPACE = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_INNER = {r"\d": "0-9", r"\w": "A-Za-z0-9_", r"\s": _SPACE}
_CLASSES = {f"\\{name[1]}": f"[{held}]" for name, held in _INNER.items()} | {
    f"\\{name[1].upper()}": f"[^{held}]" for name, held in _INNER.items()
}

# From here on a bounded repetition counts as an unbounded one.
_MANY = 4


class Shape:
    """What of a pattern decides the cost of matching it by trying.

    ``nested``: a repetition of something that can itself match in several ways, which may
    take a time exponential in the text. ``repeats``: repetitions without a bound that matter.
    """

    def __init__(self, *, anchored: bool) -> None:
        self.nested = False
        self.repeats = 0
        self.anchored = anchored


def needs_backtracking(pattern: str) -> bool:
    """Tell whether a pattern looks around or back, which no linear engine can do."""
    return _BACKTRACKING.search(pattern) is not None


def shape(pattern: str) -> Shape:
    """Read the shape of a pattern; on the safe side where it is unusual."""
    found = Shape(anchored=pattern.startswith("^") and "|" not in pattern)
    # For each open group: may what it matches vary?
    varies = [False]
    closed = False
    at = 0
    while at < len(pattern):
        quantifier = _QUANTIFIER.match(pattern, at) if at else None
        if quantifier is not None:
            least, most = _bounds(quantifier)
            found.nested |= closed and most >= _MANY
            found.repeats += most >= _MANY and least != most
            varies[-1] |= least != most
            at, closed = quantifier.end(), False
            continue
        token = _TOKEN.match(pattern, at)
        assert token is not None
        closed = False
        if token[0].startswith("("):
            varies.append(False)
        elif token[0] == ")" and len(varies) > 1:
            closed = varies.pop()
            varies[-1] |= closed
        elif token[0] == "|":
            varies[-1] = True
        at = token.end()
    return found


def longest_text(pattern: str) -> int:
    """Say how long a text Python's engine may be given: about 10 million steps at the worst."""
    found = shape(pattern)
    power = found.repeats + (not found.anchored)
    return int(1e7 ** (1 / power)) if power else 10**7


def for_python(pattern: str) -> str:
    """Write an ECMA-262 pattern for Python's engine: ``$`` is the very end, digits are ASCII.

    Raises:
        ValueError: Python's engine has no such pattern.
    """
    text = "".join(_python_token(token[0]) for token in _TOKEN.finditer(pattern))
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return text


def _bounds(quantifier: re.Match[str]) -> tuple[int, int]:
    endless = 10**6
    symbol, least, upper, most = quantifier.groups()
    if least is None:
        return {"*": (0, endless), "+": (1, endless), "?": (0, 1)}[symbol]
    if upper is None:
        return int(least[:7]), int(least[:7])
    return int(least[:7]), int(most[:7]) if most else endless


def _python_token(token: str) -> str:
    if token.startswith("[") and len(token) > 1:
        return "[" + _MEMBER.sub(_python_member, token[1:])
    if token.startswith("(?<") and token[3:4] not in ("=", "!"):
        return "(?P<" + token[3:]
    return r"\Z" if token == "$" else _CLASSES.get(token) or _control(token)


def _python_member(found: re.Match[str]) -> str:
    # Python warns of single characters that it may one day read as set operations.
    text = found[0]
    return _INNER.get(text) or _control(text) if len(text) > 1 else "\\" + text


def _control(token: str) -> str:
    return f"\\x{ord(token[2]) % 32:02x}" if token.startswith(r"\c") and token[2:] else token
