"""Words of tools and of queries: names split, requests stripped of what names no tool."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# What is read of a query: more says nothing more, and would only cost time.
MAX_QUERY = 4000
MAX_TERMS = 32
MAX_TERM = 64

_BREAK = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
# Scripts without spaces: each of their characters stands alone.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")

# Articles and the like, and what a request says about itself and not about the tool.
_STOP = """
a about all also an and any are as at be been but by can could did do does doing for from had
has have having he her hers him his how i if in into is it its itself just me my of off on
only or our ours out over she should so some such than that the their theirs them then there
these they this those to too under until up us very was we were what when where which while
who whom why will with would you your yours
am anything everything give gonna gotta hello help hey hi kindly let lets like looking maybe
need needs now okay please possible really something somehow tell thank thanks tool tools
function functions capability capabilities try trying use using want wanted wants way
"""
STOP_WORDS = frozenset(_STOP.split())


# Names of parameters and sources come again and again.
@lru_cache(maxsize=4096)
def split(name: str) -> str:
    """Return a name's own words and its parts: by case, punctuation and digits."""
    return _split(name)


def _split(name: str) -> str:
    plain = _normal(name)
    whole = _WORD.findall(plain)
    parts = _WORD.findall(_BREAK.sub(" ", plain))
    return " ".join(whole if parts == whole else (*whole, *parts))


def prose(text: str) -> str:
    """Return running text with its words apart, as an index can split it further."""
    if text.isascii():
        return text
    return " ".join(_WORD.findall(_normal(text)))


def tokens(text: str) -> list[str]:
    """Return the words of text that ``split`` or ``prose`` made."""
    return _WORD.findall(text)


def terms(query: str) -> tuple[str, ...]:
    """Return what a query asks for: distinct words in their order, at most ``MAX_TERMS``.

    Stop words are left out, unless nothing else is left. Text without a word gives none.
    """
    words = _split(query[:MAX_QUERY]).lower().split()
    distinct = [word for word in dict.fromkeys(words) if len(word) <= MAX_TERM]
    telling = [word for word in distinct if word not in STOP_WORDS]
    return tuple((telling or distinct)[:MAX_TERMS])


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
