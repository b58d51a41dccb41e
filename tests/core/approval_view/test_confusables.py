"""Characters that deceive, and the proper uses of the same characters that do not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holon_core.guard.confusables import flags_of, skeleton
from holon_core.records.approval_view import FlagCode
from holon_core.visible import escape_controls, escape_unseen, has_unseen


def codes(text: str) -> set[str]:
    """Name the flags of a text."""
    return {flag.code.value for flag in flags_of(text, "/t")}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("abc\u202egpj.exe", "bidirectional"),
        ("\u2066x\u2069", "bidirectional"),
        ("a\u200bb", "invisible"),
        ("a\u00adb", "invisible"),
        ("a\u2060b", "invisible"),
        ("a\u3164b", "invisible"),
        ("a\ue000b", "invisible"),
        ("\ufeffstart", "invisible"),
        ("a\u200db", "invisible"),
        ("end\u200d", "invisible"),
        ("\ufe0fstart", "invisible"),
        ("a\ufe01\ufe02\ufe03", "invisible"),
        ("a\U000e0101", "invisible"),
        ("ok\U000e0072\U000e006d", "tag_character"),
        ("\x1b[2J", "control"),
        ("a\x00b", "control"),
        ("é\x9b2J", "control"),
        ("overwritten\rseen", "control"),
        ("a\u2028b", "control"),
        ("p\u0430ypal.com", "look_alike"),
        ("\u0455udo", "look_alike"),
        ("\u0430\u0440\u0440\u04cf\u0435", "look_alike"),
        ("https://\u0440\u0430\u0443.com", "look_alike"),
        ("\u039c\u0391\u0399\u039d main", "look_alike"),
        ("\uff52\uff4d -rf", "look_alike"),
        ("\U0001d42b\U0001d426", "look_alike"),
        ("a\u2215b", "look_alike"),
        ("..\uff0fetc", "look_alike"),
        ("\u2024\u2024/etc", "look_alike"),
        ("\u0261oogle", "look_alike"),
        ("user\u0436", "mixed_script"),
        ("x" * 4001, "very_long"),
    ],
)
def test_a_deceiving_text_is_flagged(text, code):
    """Each kind has its word, and only that kind is named."""
    assert codes(text) == {code}


@pytest.mark.parametrize(
    "text",
    [
        "plain ASCII\twith\nlines\r\n",
        "naïve café Ærøskøbing Straße ½ m² 10 µm “quoted” – dash … €",
        "Привет, мир! Встреча с Bob в Zoom",
        "Καλημέρα κόσμε",
        "שלום עולם",
        "می\u200cخواهم",
        "क\u094d\u200dष",
        "日本語：テスト（全角）ＡＢＣ",
        "파일 이름",
        "👩\u200d👩\u200d👧 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 ☺\ufe0e",
        "葛\U000e0100",
        "≤\ufe00",
        "ᠠ\u180b",
        "",
    ],
)
def test_an_honest_text_is_not_flagged(text):
    """Languages, emoji and typography use such characters properly."""
    assert codes(text) == set()


def test_a_flag_shows_the_character_and_its_surroundings():
    """The reader sees by number what cannot be seen."""
    (flag,) = flags_of("0123456789abcdefghij\u200bklmnopqrstuvwxyz\u200b0123", "/a")

    assert flag.message == "U+200B ZERO WIDTH SPACE, and 1 more"
    assert flag.shown == "…456789abcdefghij⟨U+200B⟩klmnopqrstuvwxyz…"


def test_a_look_alike_is_named_with_what_it_looks_like():
    """The message says which letter was meant to be read."""
    (flag,) = flags_of("p\u0430y", "/a")

    assert flag.code is FlagCode.LOOK_ALIKE
    assert flag.message == "U+0430 CYRILLIC SMALL LETTER A, looks like a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paypal", "p\u0430yp\u0430l"),
        ("café", "cafe\u0301"),
        ("rm -rf /", "\uff52\uff4d -rf \u2215"),
        ("a", "a\u200b\u202e"),
    ],
)
def test_texts_that_look_alike_have_one_skeleton(one, other):
    """The skeleton is what an eye compares."""
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(("one", "other"), [("a\nb", "ab"), ("a", "b"), ("A", "a"), ("0", "o")])
def test_texts_that_look_different_keep_their_difference(one, other):
    """A line break is seen, so it is part of the skeleton."""
    assert skeleton(one) != skeleton(other)


@given(st.text())
def test_flags_never_hold_what_they_warn_of(text):
    """Message and excerpt are safe to print for any text."""
    for flag in flags_of(text, "/t"):
        assert not has_unseen(flag.shown)
        assert not has_unseen(flag.message)


@given(st.text(alphabet=st.characters(categories=("Cf", "Cc", "Co", "Zl", "Zp"))))
def test_every_format_and_control_character_is_written_out(text):
    """What Unicode calls format, control, private or a separator of lines is never shown raw."""
    exempt = {
        c
        for c in text
        if unicodedata.category(c) == "Cf"
        and unicodedata.name(c, "")[:6]
        in ("ARABIC", "SYRIAC", "KAITHI", "EGYPTI", "SHORTH", "MUSICA")
    }

    assert set(escape_unseen(text)) - exempt <= set(map(chr, range(32, 127)))


@given(st.text())
def test_escaping_leaves_what_is_seen_alone(text):
    """Escaping twice is escaping once, and plain text is returned as it is."""
    once = escape_unseen(text)

    assert escape_unseen(once) == once
    assert escape_controls(once) == once
    if not has_unseen(text):
        assert once == text
