"""Characters that are not what they seem: unseen, reordering, or of another script's alphabet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_letters, digits
from unicodedata import category, combining, decomposition, name, normalize

from holon_core.records.approval_view import FlagCode, ViewFlag
from holon_core.visible import escape_unseen, has_unseen, is_unseen

MAX_CHARACTERS = 4_000
_AROUND = 16

# Letters whose usual glyph is, or nearly is, that of an ASCII letter: ours, by eye, for Cyrillic,
# Greek, Armenian and rare Latin. Written by number, since nobody could proofread them otherwise.
_PAIRS = (
    (
        "aeopcyxijsdhqwlvkb",
        "0430 0435 043E 0440 0441 0443 0445 0456 0458 0455 0501 04BB 051B 051D 04CF 0475 043A 044C",
    ),
    (
        "ABEKMHOPCTYX",
        "0410 0412 0415 041A 041C 041D 041E 0420 0421 0422 0423 0425",
    ),
    ("IJSGQWVI", "0406 0408 0405 050C 051A 051C 0474 04C0"),
    ("aovpikuxycjntw", "03B1 03BF 03BD 03C1 03B9 03BA 03C5 03C7 03B3 03F2 03F3 03B7 03C4 03C9"),
    (
        "ABEZHIKMNOPTYXC",
        "0391 0392 0395 0396 0397 0399 039A 039C 039D 039F 03A1 03A4 03A5 03A7 03F9",
    ),
    ("onuhgq", "0585 0578 057D 0570 0581 0566"),
    ("ag", "0251 0261"),
)
_LETTERS = {
    chr(int(number, 16)): letter
    for letters, numbers in _PAIRS
    for letter, number in zip(letters, numbers.split(), strict=True)
}
# Slashes, backslashes, one dot leader, ratio and the colon of Lisu.
_MARKS = {
    **dict.fromkeys("\u2215\u2044\u29f8", "/"),
    **dict.fromkeys("\u2216\u29f9", "\\"),
    "\u2024": ".",
    **dict.fromkeys("\u2236\ua4fd", ":"),
}
_FOLDED = frozenset(f"{ascii_letters}{digits}/\\.:;@-_&=?#%|<>$")
_ALPHABETS = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "GEORGIAN", "LISU", "DESERET", "GOTHIC"}
)
_WORDS = re.compile(r"\w+")
_EASTERN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
_RARE_LATIN = "\u0251\u0261"
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\r(?!\n)")
_JOINERS = "\u200c\u200d"


def flags_of(text: str, path: str) -> Iterator[ViewFlag]:
    """Find what a person would not see, or take for something else, in one text.

    Args:
        text: Any text; its cost is linear in its length.
        path: JSON pointer of the text, for the flags.

    Yields:
        At most one flag of each code.
    """
    if len(text) > MAX_CHARACTERS:
        size = f"{len(text):,} characters: read all of it before deciding"
        yield ViewFlag(path=path, code=FlagCode.VERY_LONG, message=size)
    if text.isascii():
        places = [found.start() for found in _CONTROLS.finditer(text)]
        yield from _flag(text, path, FlagCode.CONTROL, places)
        return
    if has_unseen(text):
        yield from _unseen(text, path)
    yield from _letters(text, path)


def _unseen(text: str, path: str) -> Iterator[ViewFlag]:
    named = (
        (FlagCode.CONTROL, _CONTROLS),
        (FlagCode.BIDIRECTIONAL, _BIDI),
        (FlagCode.TAG_CHARACTER, _TAGS),
    )
    known: set[int] = set()
    for code, pattern in named:
        places = [found.start() for found in pattern.finditer(text)]
        known.update(places)
        yield from _flag(text, path, code, places)
    others = [
        at
        for at, character in enumerate(text)
        if character not in "\n\r\t" and is_unseen(character) and at not in known
    ]
    yield from _flag(text, path, FlagCode.INVISIBLE, [at for at in others if not _apt(text, at)])


def _apt(text: str, at: int) -> bool:
    """Tell whether an invisible character does its proper work between its neighbours."""
    before = text[at - 1] if at else ""
    after = text[at + 1 : at + 2]
    if not before:
        return False
    if _SELECTORS.match(text[at]):
        return _selects(before, text[at])
    if text[at] not in _JOINERS or not after:
        return False
    shapes = _script(before) in ("ARABIC", "SYRIAC") and _script(after) in ("ARABIC", "SYRIAC")
    return shapes or combining(before) == 9 or (text[at] == "\u200d" and _pictured(before, after))


def _selects(base: str, selector: str) -> bool:
    if selector in "\ufe0e\ufe0f":
        return (
            category(base) in ("So", "Sm", "Sk") or base in "0123456789#*\u203c\u2049\u3030\u303d"
        )
    if "\u180b" <= selector <= "\u180f":
        return _script(base) == "MONGOLIAN"
    return _script(base) == "CJK" or (selector < "\ufe04" and category(base) == "Sm")


def _pictured(before: str, after: str) -> bool:
    return category(after) == "So" and (category(before) in ("So", "Sk") or before == "\ufe0f")


def _letters(text: str, path: str) -> Iterator[ViewFlag]:
    odd = [at for at, character in enumerate(text) if not character.isascii()]
    foreign = {at for at in odd if _alphabet(text[at])}
    # Letters that only that alphabet has say that the text is really written in it.
    genuine = any(text[at] not in _LETTERS for at in foreign)
    alike: list[int] = []
    mixed: list[int] = []
    for word in _WORDS.finditer(text) if foreign else ():
        others = [at for at in range(*word.span()) if at in foreign]
        if others and (not genuine or any(map(_latin, word[0]))):
            pretended = [at for at in others if text[at] in _LETTERS]
            alike += pretended
            mixed += [] if pretended else others
    eastern = any(_script(text[at]) in _EASTERN for at in odd)
    alike += [at for at in odd if _stands_for(text[at]) and not (eastern and _wide(text[at]))]
    yield from _flag(text, path, FlagCode.LOOK_ALIKE, sorted(alike))
    yield from _flag(text, path, FlagCode.MIXED_SCRIPT, mixed)


def _wide(character: str) -> bool:
    """Tell a full-width form, which is at home in text of East Asia."""
    return "\uff01" <= character <= "\uff5e"


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return name(character, "").partition(" ")[0]


def _alphabet(character: str) -> bool:
    return character > "\u036f" and _script(character) in _ALPHABETS and character.isalpha()


def _latin(character: str) -> bool:
    return character.isalpha() and (character.isascii() or _script(character) == "LATIN")


@lru_cache(maxsize=4096)
def _stands_for(character: str) -> str:
    """Return the ASCII character that one of another alphabet's range pretends to be, or none."""
    if character.isascii():
        return ""
    if character in _MARKS or character in _RARE_LATIN:
        return _MARKS.get(character) or _LETTERS[character]
    tag = decomposition(character).partition(" ")[0]
    if tag not in ("<wide>", "<narrow>", "<font>", "<small>", "<compat>"):
        return ""
    folded = normalize("NFKC", character)
    return folded if folded in _FOLDED else ""


def skeleton(text: str) -> str:
    """Reduce a text to what it looks like; two texts of one skeleton can be mistaken.

    Invisible characters go, look-alikes become the ASCII character, composed and decomposed
    forms become one.
    """
    shown = "".join(
        _LETTERS.get(c) or _stands_for(c) or c for c in text if c in "\n\t" or not is_unseen(c)
    )
    return normalize("NFKC", shown)


def compared(before: str, after: str, path: str) -> Iterator[ViewFlag]:
    """Flag a text that differs from the last approved one and looks the same."""
    if before == after or skeleton(before) != skeleton(after):
        return
    if normalize("NFC", before) == normalize("NFC", after):
        text = "the last approved text in other code points (composed or decomposed)"
        yield ViewFlag(path=path, code=FlagCode.COMPOSITION, message=text)
    else:
        text = "looks like the last approved text and is another"
        yield ViewFlag(path=path, code=FlagCode.LOOK_ALIKE, message=text)


def _flag(text: str, path: str, code: FlagCode, places: list[int]) -> Iterator[ViewFlag]:
    if not places:
        return
    first = text[places[0]]
    label = name(first, "") or "unnamed"
    pretends = _LETTERS.get(first) or _stands_for(first)
    like = f", looks like {pretends}" if pretends and code is FlagCode.LOOK_ALIKE else ""
    more = f", and {len(places) - 1} more" if len(places) > 1 else ""
    message = f"U+{ord(first):04X} {label}{like}{more}"
    yield ViewFlag(path=path, code=code, message=message, shown=_around(text, places))


def _around(text: str, places: list[int]) -> str:
    marked = set(places)
    start, end = max(0, places[0] - _AROUND), min(len(text), places[0] + _AROUND + 1)
    parts = [
        f"⟨U+{ord(text[at]):04X}⟩" if at in marked else escape_unseen(text[at])
        for at in range(start, end)
    ]
    return ("…" if start else "") + "".join(parts) + ("…" if end < len(text) else "")
