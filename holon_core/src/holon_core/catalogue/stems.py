"""Stems of English words, by the rules of the Snowball project's English stemmer."""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = "aeiouy"
_REGION = re.compile(r"[aeiouy][^aeiouy]")
# Beginnings after which the first region starts whatever their letters say.
_BEGINNINGS = ("gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter")
_WHOLE = {
    "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli",
    "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news",
    "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
_SHORT_ING = {"dying": "die", "lying": "lie", "tying": "tie"}
_KEPT = frozenset(
    ["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"]
)
_DOUBLES = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])
# Longest endings first; each with what takes its place.
_STEP_2 = (
    ("ization", "ize"), ("ational", "ate"), ("fulness", "ful"), ("ousness", "ous"),
    ("iveness", "ive"), ("tional", "tion"), ("biliti", "ble"), ("lessli", "less"),
    ("entli", "ent"), ("ation", "ate"), ("alism", "al"), ("aliti", "al"), ("ousli", "ous"),
    ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"), ("anci", "ance"), ("abli", "able"),
    ("izer", "ize"), ("ogist", "og"), ("ator", "ate"), ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"), ("li", ""),
)  # fmt: skip
_STEP_3 = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic"),
    ("ative", ""), ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
)  # fmt: skip


@lru_cache(maxsize=32768)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; words that are not of plain letters as they are."""
    if len(word) < 3 or len(word) > 40 or not (word.isascii() and word.isalpha()):
        return word
    known = _WHOLE.get(word) or _SHORT_ING.get(word)
    if known is not None:
        return known
    word = _marked(word)
    first = _first_region(word)
    second = _after(word, first)
    word = _step_1a(word)
    if word in _KEPT:
        return word
    word = _step_1b(word, first)
    if word[-1] in "yY" and len(word) > 2 and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _step_2(word, first)
    word = _step_3(word, first, second)
    word = _step_4(word, second)
    return _step_5(word, first, second).lower()


def _marked(word: str) -> str:
    """Write a ``y`` that is a consonant as ``Y``."""
    if "y" not in word:
        return word
    letters = list(word)
    for at, letter in enumerate(letters):
        if letter == "y" and (at == 0 or letters[at - 1] in _VOWELS):
            letters[at] = "Y"
    return "".join(letters)


def _first_region(word: str) -> int:
    for beginning in _BEGINNINGS:
        if word.startswith(beginning):
            return len(beginning)
    return _after(word, 0)


def _after(word: str, start: int) -> int:
    found = _REGION.search(word, start)
    return len(word) if found is None else found.end()


def _has_vowel(text: str) -> bool:
    return any(letter in _VOWELS for letter in text)


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")):
        return word
    if word.endswith("s") and _has_vowel(word[:-2]):
        return word[:-1]
    return word


def _step_1b(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return _mended(rest, first) if _has_vowel(rest) else word
    return word


def _mended(rest: str, first: int) -> str:
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-2:] in _DOUBLES:
        return rest[:-1]
    return rest + "e" if first >= len(rest) and _short_syllable(rest) else rest


def _short_syllable(word: str) -> bool:
    """Tell whether a word ends in a short syllable."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return (
        len(word) > 2
        and word[-1] not in _VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _VOWELS
        and word[-3] not in _VOWELS
    )


def _step_2(word: str, first: int) -> str:
    for ending, instead in _STEP_2:
        if word.endswith(ending):
            at = len(word) - len(ending)
            kept = at < first or (
                (ending == "ogi" and word[at - 1] != "l")
                or (ending == "li" and word[at - 1] not in "cdeghkmnrt")
            )
            return word if kept else word[:at] + instead
    return word


def _step_3(word: str, first: int, second: int) -> str:
    for ending, instead in _STEP_3:
        if word.endswith(ending):
            at = len(word) - len(ending)
            return word if at < (second if ending == "ative" else first) else word[:at] + instead
    return word


def _step_4(word: str, second: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            at = len(word) - len(ending)
            kept = at < second or (ending == "ion" and word[at - 1] not in "st")
            return word if kept else word[:at]
    return word


def _step_5(word: str, first: int, second: int) -> str:
    at = len(word) - 1
    if word.endswith("e"):
        if at >= second or (at >= first and not _short_syllable(word[:-1])):
            return word[:-1]
    elif word.endswith("ll") and at >= second:
        return word[:-1]
    return word
