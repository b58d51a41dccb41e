"""Words of tools and of queries: names split, accents folded, unspaced scripts cut in pairs."""

from __future__ import annotations

import re
import unicodedata

# What is read of a query: more says nothing more, and would only cost time.
MAX_QUERY = 4000
MAX_TERMS = 48
MAX_TERM = 64

_BREAK = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
# Scripts without spaces: Thai to Khmer, kana, Han; their words are found by pairs of characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_ACCENTS = re.compile("[\u0300-\u036f]")

# Articles and the like, and what a request says about itself and not about the tool.
_STOP = """
a about again all also an and any are as at be been but by can could did do does doing each few
for from further had has have having he her here hers him his how i if in into is it its itself
just many may me might more most much must my no not of off on once only or other another our ours
out over own same shall she should so some such than that the their theirs them then there these
they this those to too under until up us very was we were what when where which while who whom
why will with would you your yours both every
am anything everything give gonna gotta hello help hey hi kindly let lets like looking maybe
need needs now okay please possible really something somehow tell thank thanks tool tools
function functions capability capabilities try trying use using want wanted wants way
"""
STOP_WORDS = frozenset(_STOP.split())


def tokens(text: str) -> list[str]:
    """Return the words of a text in their order: lower case, without accents.

    Names are split at case, punctuation and digits; a run of a script without spaces gives its
    pairs of neighbouring characters.
    """
    found = _WORD.findall(_BREAK.sub(" ", _plain(text)))
    if text.isascii():
        return [word.lower() for word in found]
    return [part for word in found for part in _parts(_letters(word.casefold()))]


def _letters(word: str) -> str:
    """Leave out what is no part of a word: those ranges of scripts hold signs as well."""
    if word.isalnum():
        return word
    kept = "".join(c for c in word if c.isalnum() or unicodedata.category(c)[0] == "M")
    # Vowels and tones of some scripts are marks; without a letter they are no word.
    return kept if any(c.isalnum() for c in kept) else ""


def _plain(text: str) -> str:
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def _parts(word: str) -> list[str]:
    if not word:
        return []
    if len(word) == 1 or not _IS_UNSPACED.match(word):
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)]


def telling(text: str) -> list[str]:
    """Return the words of a text that say what something is for: no stop words."""
    return [word for word in tokens(text) if word not in STOP_WORDS]


def terms(query: str) -> tuple[str, ...]:
    """Return what a query asks for: distinct words in their order, at most ``MAX_TERMS``.

    Stop words are left out, unless nothing else is left. Text without a word gives none.
    """
    words = tokens(query[:MAX_QUERY])
    distinct = [word for word in dict.fromkeys(words) if len(word) <= MAX_TERM]
    said = [word for word in distinct if word not in STOP_WORDS]
    return tuple((said or distinct)[:MAX_TERMS])
