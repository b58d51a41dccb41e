"""Redaction by value: no shape of a secret gets through, and nothing else is touched."""

import base64
import html
import json
import re
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holon_core.guard.redaction import MAX_VALUES, Redactor
from holon_core.guard.secret_forms import unusable
from holon_core.wire.json_types import JsonValue
from support import label

SECRET = "s3cr3t/Value+1="
MARK = "[redacted:api]"


def lower_hex(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text)


def mixed_case(text: str) -> str:
    return "".join(c.upper() if n % 2 else c.lower() for n, c in enumerate(text))


def upper_codes(text: str) -> str:
    return re.sub(r"\\u[0-9a-f]{4}", lambda code: "\\u" + code[0][2:].upper(), text)


def utf16(text: str, sign: str) -> str:
    units = text.encode("utf-16-be").hex()
    return "".join(sign + units[at : at + 4] for at in range(0, len(units), 4))


# Written here once more, and not taken from the code under test.
ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda s: s,
    "url": lambda s: quote(s, safe=""),
    "url-path": quote,
    "url-lower-hex": lambda s: lower_hex(quote(s, safe="")),
    "form": quote_plus,
    "uri-component": lambda s: quote(s, safe="!'()*"),
    "json": lambda s: json.dumps(s)[1:-1],
    "json-unicode": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "json-slash": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "html": html.escape,
    "html-decimal": lambda s: html.escape(s).replace("&#x27;", "&#39;"),
    "hex-mixed": lambda s: mixed_case(s.encode().hex()),
    "url-mixed": lambda s: re.sub(
        "%[0-9A-F]{2}", lambda code: mixed_case(code[0]), quote(s, safe="")
    ),
    "url-every-byte": lambda s: "".join(f"%{b:02X}" for b in s.encode()),
    "url-every-byte-mixed": lambda s: mixed_case("".join(f"%{b:02x}" for b in s.encode())),
    "json-every-character": lambda s: utf16(s, "\\u"),
    "json-every-character-upper": lambda s: utf16(s, "\\u").upper().replace("\\U", "\\u"),
    "json-upper": lambda s: upper_codes(json.dumps(s)[1:-1]),
    "json-in-json": lambda s: json.dumps(json.dumps(s))[3:-3],
    "json-in-json-unicode": lambda s: json.dumps(
        json.dumps(s, ensure_ascii=False), ensure_ascii=False
    )[3:-3],
    "html-every-character": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "html-every-character-hex": lambda s: "".join(f"&#x{ord(c):x};" for c in s),
    "html-every-character-upper": lambda s: "".join(f"&#X{ord(c):X};" for c in s),
    "escaped-every-byte": lambda s: "".join(f"\\x{b:02x}" for b in s.encode()),
    "python": lambda s: repr(s)[1:-1],
    "python-beside-quotes": lambda s: repr("'\"" + s)[4:-1],
    "python-ascii": lambda s: ascii(s)[1:-1],
    "python-bytes": lambda s: repr(s.encode())[2:-1],
    "python-in-json": lambda s: json.dumps(repr(s)[1:-1])[1:-1],
    "hex": lambda s: s.encode().hex(),
    "hex-upper": lambda s: s.encode().hex().upper(),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64-unpadded": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "base64url": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
}
BREAKS = ("\n", "\r\n", "\r", "\\n", "\\r\\n")

# Characters that encoders change, that line breaks and marks are made of, and any others.
characters = st.sampled_from("ab=/+&<>'\"%\\nr~ ]*\n\té") | st.characters(exclude_categories=["Cs"])
secrets = st.text(characters, min_size=4, max_size=90).filter(lambda s: unusable(s) is None)
texts = st.text(characters, max_size=30)
encodings = st.sampled_from(sorted(ENCODINGS))


def redactor(*values: str) -> Redactor:
    made = Redactor()
    for value in values or (SECRET,):
        assert made.register("api", value) is None
    return made


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_every_encoding_of_a_secret_is_replaced(encoding: str) -> None:
    """AB-EVIDENCE-001: none of the encoded forms remains, and what stands around them does."""
    shown = ENCODINGS[encoding](SECRET)

    assert redactor().text(f"before {shown} after") == f"before {MARK} after"


@pytest.mark.parametrize("line_break", BREAKS, ids=label)
@pytest.mark.parametrize("at", range(1, len(SECRET)))
def test_a_secret_split_over_lines_is_replaced(line_break: str, at: int) -> None:
    """AB-EVIDENCE-001: a line break anywhere inside a secret does not hide it."""
    split = SECRET[:at] + line_break + SECRET[at:]

    assert redactor().data(f"<{split}>".encode()) == f"<{MARK}>".encode()


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "user:x"])
@pytest.mark.parametrize("after", ["", "a", "ab", "abc"])
def test_a_secret_inside_a_longer_base64_payload_is_replaced(before: str, after: str) -> None:
    """Basic credentials are base64 of user and password together."""
    payload = base64.b64encode(f"{before}{SECRET}{after}".encode()).decode()

    shown = redactor().text(f"Basic {payload}")

    assert MARK in shown
    left = shown.replace("Basic ", "").partition(MARK)
    assert len(left[0]) <= len(payload) // 4 + 4 * bool(before)
    for offset in range(3):
        assert base64.b64encode(bytes(offset) + SECRET.encode())[4:16].decode() not in shown


def test_base64_broken_into_lines_is_replaced_to_its_last_character() -> None:
    """Mail wraps base64; the characters at its ends hold bits of the secret as well."""
    coded = base64.b64encode(b"x" + SECRET.encode() + b"yz").decode()
    wrapped = "\\n".join(coded) + "\n"

    shown = redactor().text(wrapped)

    assert shown == f"e\\n{MARK}\\ne\\nX\\no\\n=\n" or MARK in shown
    letters = re.sub(r"\\n|\n|=", "", shown.replace(MARK, ""))
    assert len(letters) <= 4


def test_base64_at_the_start_of_a_text_is_replaced() -> None:
    """Nothing stands before the characters that hold nothing but the secret."""
    middle = base64.b64encode(b"x" + SECRET.encode()).decode()[2:21]

    assert redactor().text(middle) == MARK
    assert redactor().text("\r\n" + middle) == "\r\n" + MARK
    assert redactor().text("." + middle) == "." + MARK


@pytest.mark.parametrize("after", ["", "n", "next", "r"])
@pytest.mark.parametrize("size", [6, 70])
def test_a_backslash_at_the_end_of_a_secret_is_not_taken_for_a_line_break(
    after: str, size: int
) -> None:
    """Together with what follows it looks like one."""
    secret = "x" * size + "\\"

    assert redactor(secret).text(f"<{secret}{after}") == f"<{MARK}{after}"
    assert redactor(secret).text(f"<{secret[:-1]}{after}") == f"<{secret[:-1]}{after}"


@given(secret=secrets, encoding=encodings, before=texts, after=texts)
def test_no_encoding_of_any_secret_remains(
    secret: str, encoding: str, before: str, after: str
) -> None:
    """Whatever stands around it, the encoded secret is gone, and doing it again changes nothing."""
    shown = ENCODINGS[encoding](secret)
    made = redactor(secret)

    clean = made.text(before + shown + after)

    assert shown.rstrip("=") not in clean or encoding.startswith("base64")
    for each in ENCODINGS.values():
        assert each(secret) not in clean
    assert made.text(clean) is clean
    assert made.data((before + shown + after).encode()).decode() == clean


@given(secret=secrets, data=st.data(), line_break=st.sampled_from(BREAKS), around=texts)
def test_no_split_secret_remains(
    secret: str, data: st.DataObject, line_break: str, around: str
) -> None:
    """A secret with line breaks at any of its places is gone, whatever it consists of."""
    places = data.draw(st.sets(st.integers(1, len(secret) - 1), max_size=4))
    split = "".join(line_break * (i in places) + c for i, c in enumerate(secret))
    made = redactor(secret)

    clean = made.text(around + split + around)

    assert split not in clean
    assert secret not in clean
    assert made.text(clean) is clean


@given(secret=secrets, before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_no_base64_payload_shows_the_secret_inside_it(
    secret: str, before: bytes, after: bytes
) -> None:
    """The characters that hold nothing but the secret are gone at each of the three offsets."""
    raw = secret.encode()
    payload = base64.b64encode(before + raw + after)
    start, end = 8 * len(before), 8 * (len(before) + len(raw))
    middle = payload[-(-start // 6) : end // 6]

    clean = redactor(secret).data(b"<" + payload + b">")

    assert middle not in clean


@given(secret=secrets, pieces=st.lists(st.integers(0, 60), max_size=12), noise=texts)
def test_a_text_without_the_secret_is_the_same_object(
    secret: str, pieces: list[int], noise: str
) -> None:
    """Beginnings and ends of a secret alone are not the secret."""
    text = noise.join(secret[: i % len(secret)] for i in pieces)
    bare = re.sub(r"\\[nr]|[\r\n]", "", text)
    for each in ENCODINGS.values():
        shape = re.sub(r"\\[nr]|[\r\n]", "", each(secret)).rstrip("=")[:-1] or "\n"
        assume(shape not in text and shape not in bare)
    for offset in range(3):
        coded = base64.b64encode(bytes(offset) + secret.encode()).decode()[4:-4]
        assume(not coded or coded not in bare)

    assert redactor(secret).text(text) is text


def test_nothing_is_looked_at_before_a_secret_is_known() -> None:
    """Without secrets redaction costs nothing and says so."""
    made = Redactor()
    text, data = "a text", b"bytes"
    value: JsonValue = {"a": ["b"]}

    assert not made.active
    assert made.text(text) is text
    assert made.data(data, cut_end=True) is data
    assert made.value(value) is value
    made.register("api", SECRET)
    assert made.active


@pytest.mark.parametrize("value", ["abc", "", "ab\n\r\ncd"[:6], "a\\nb\\rc", "ééé", "\n\n\n\n\n"])
def test_a_value_under_four_characters_is_refused_with_a_finding(value: str) -> None:
    """Every text would be full of it; line breaks do not count."""
    made = Redactor()

    finding = made.register("pin", value)

    assert finding is not None
    assert finding.code == "config_invalid"
    assert "pin" in finding.message
    assert "4 characters" in finding.message
    assert not made.active


def test_a_value_that_is_no_unicode_text_is_refused() -> None:
    """Bytes that are no UTF-8 reach Python as lone surrogates."""
    finding = Redactor().register("raw", "abcd\udcff")

    assert finding is not None
    assert "Unicode" in finding.message


def test_a_value_keeps_its_first_name() -> None:
    """One value under two names is one secret."""
    made = redactor()

    assert made.register("other", SECRET) is None
    assert made.text(SECRET) == MARK


def test_the_longer_of_two_overlapping_secrets_is_replaced_whole() -> None:
    """A secret that contains another leaves nothing of itself behind."""
    made = Redactor()
    made.register("short", "abcdef")
    made.register("long", "xabcdefghi")

    assert made.text("1 xabcdefghi 2 abcdef 3") == "1 [redacted:long] 2 [redacted:short] 3"


def test_secrets_that_overlap_in_a_text_go_together() -> None:
    """The end of one secret is the beginning of the other."""
    made = Redactor()
    made.register("first", "abcdefgh")
    made.register("second", "efghijkl")

    assert made.text("<abcdefghijkl>") == "<[redacted:first]>"


@pytest.mark.parametrize(
    ("secret", "mark"),
    [("redacted", "***"), ("api]", "[redacted]"), ("[redacted:api]", "[redacted]")],
)
def test_a_mark_never_holds_a_secret(secret: str, mark: str) -> None:
    """Somebody's password is a word of the mark."""
    made = redactor(secret)

    assert made.text(f"a {secret} b") == f"a {mark} b"


def test_a_secret_made_up_by_a_mark_and_its_neighbours_is_replaced_too() -> None:
    """Text after a mark can make up another occurrence with the mark's last character."""
    made = redactor("]abc")

    assert "]abc" not in made.text("x ]abcabcabc y")


def test_a_text_that_makes_up_a_secret_again_and_again_is_withheld() -> None:
    """Redaction ends, also for input that was made to keep it going."""
    made = redactor("]abc")

    assert made.text("]abc" + "abc" * 50) == "***"


def test_a_key_of_several_kilobytes_is_replaced_in_every_shape() -> None:
    """Private keys have many lines; JSON and environment files write them as one."""
    key = "-----BEGIN KEY-----\n" + "\n".join(
        base64.b64encode(bytes([i]) * 48).decode() for i in range(40)
    )
    made = redactor(key)

    for shape in (key, json.dumps(key), key.replace("\n", "\r\n"), key.replace("\n", "")):
        assert made.text(f"<{shape}>").replace('"', "") == f"<{MARK}>"
    almost = key[:-2]
    assert made.text(almost) is almost
    assert made.text(almost + key) == almost + MARK


def test_json_values_are_redacted_deeply_and_share_what_is_unchanged() -> None:
    """Keys, items and values are looked at; parts without a secret stay the same objects."""
    same: JsonValue = {"x": [1, None, True, 2.5]}
    value = {"a": same, f"key {SECRET}": [f"v {SECRET}", "other"], "t": ("p", SECRET)}

    clean = redactor().value(value)  # type: ignore[arg-type]

    assert clean == {"a": same, f"key {MARK}": [f"v {MARK}", "other"], "t": ["p", MARK]}
    assert isinstance(clean, dict)
    assert clean["a"] is same
    assert redactor().value(same) is same


def test_keys_that_become_equal_keep_their_values() -> None:
    """Redaction loses no member of an object."""
    split = SECRET[:5] + "\n" + SECRET[5:]

    clean = redactor().value({SECRET: 1, split: 2, MARK: 3})

    assert clean == {f"{MARK}~": 1, f"{MARK}~~": 2, MARK: 3}


def test_keys_that_are_no_text_stay() -> None:
    """A lane's draft may hold what is not JSON; that is refused elsewhere."""
    value: Any = {1: "a"}

    assert redactor().value(value) is value


def test_a_secret_that_is_a_number_is_replaced_where_it_stands_as_one() -> None:
    """A PIN comes back as a JSON number."""
    made = redactor("123456")

    assert made.value({"pin": 123456, "n": 7, "f": 0.123456}) == {
        "pin": MARK,
        "n": 7,
        "f": f"0.{MARK}",
    }


def test_what_lies_too_deep_to_be_looked_at_is_replaced() -> None:
    """A value that contains itself ends as well."""
    value: list[object] = []
    value.append(value)

    clean = redactor().value(value)  # type: ignore[arg-type]

    assert "[redacted]" in repr(clean)


def test_lone_surrogates_in_a_text_do_no_harm() -> None:
    """Redaction takes any text that Python can hold."""
    assert redactor().text(f"\ud800{SECRET}") == f"\ud800{MARK}"


def test_the_value_registered_longest_ago_is_forgotten_first() -> None:
    """Rotating values cannot fill the memory; one in use is registered again and stays."""
    made = Redactor()
    made.register("kept", "a value in use")
    made.register("old", "an old value")
    for i in range(MAX_VALUES - 2):
        made._known.values[f"filler {i}"] = ("f", ())  # type: ignore[union-attr]
    made.register("kept", "a value in use")

    made.register("new", "the newest value")

    text = "a value in use, an old value, the newest value"
    assert made.text(text) == "[redacted:kept], an old value, [redacted:new]"


def test_registering_while_others_redact_is_safe() -> None:
    """A value that was registered before is found at every moment while others are added."""
    made = redactor()
    missed = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            if SECRET in made.text(f"x {SECRET}"):
                missed.append(1)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(30):
        made.register(f"n{i}", f"another secret {i}")
    done.set()
    for thread in threads:
        thread.join()

    assert not missed


def test_a_name_with_control_characters_cannot_forge_a_line() -> None:
    """The mark is written into line-oriented output."""
    made = Redactor()
    made.register("a\nAPPROVED", SECRET)

    assert made.text(SECRET) == "[redacted:a\\nAPPROVED]"


@pytest.mark.parametrize("cut", range(1, 60))
@pytest.mark.parametrize("line_break", ["", "\n", "\\n"])
def test_neither_half_of_a_secret_across_a_cut_is_readable(cut: int, line_break: str) -> None:
    """AB-EVIDENCE-002: what was captured ends, or begins, inside the secret."""
    data = ("before " + line_break.join(SECRET) + " after").encode()
    made = redactor()

    head = made.data(data[:cut], cut_end=True).decode()
    tail = made.data(data[cut:], cut_start=True).decode()

    bare_head = re.sub(r"\\n|\n", "", head)
    bare_tail = re.sub(r"\\n|\n", "", tail)
    assert not any(SECRET[:k] in bare_head for k in range(4, len(SECRET) + 1))
    assert not any(SECRET[-k:] in bare_tail for k in range(4, len(SECRET) + 1))


def test_a_secret_that_repeats_itself_takes_no_more_time_than_it_is_long() -> None:
    """Much that looks like it, and a real one at the end: found without trying all pairs."""
    secret = "ab" * 2000 + "c"
    almost = ("ab" * 1999 + "d") * 100

    assert redactor(secret).text(almost + secret) == almost + MARK


def test_beside_a_cut_what_takes_too_long_to_tell_is_left_away() -> None:
    """What was compared by then is no secret; the rest beside the cut goes, whatever it is."""
    end = redactor("ab" * 2000 + "c").data(b"x" * 30_000 + b"ab" * 1999 + b"dab", cut_end=True)
    start = redactor("c" + "ab" * 2000).data(b"ab" * 1000 + b"d" + b"x" * 30_000, cut_start=True)

    assert end.endswith(MARK.encode())
    assert end[: -len(MARK)].lstrip(b"x") == b"ab" * (len(end[: -len(MARK)].lstrip(b"x")) // 2)
    assert b"dab" not in end
    assert start.startswith(MARK.encode())
    assert start.strip(b"x") == MARK.encode()


@pytest.mark.parametrize("secret", ["nrnr\\\\", "nnnn", "rrrrrr"])
def test_a_secret_of_the_letters_of_line_breaks_alone_is_replaced(secret: str) -> None:
    """Nothing of it is left in a text without line breaks."""
    made = redactor(secret)

    assert made.text(f"a {secret} b {secret} c") == f"a {MARK} b {MARK} c"
    assert secret not in made.text(secret * 30)


@given(secret=secrets, encoding=encodings, data=st.data(), before=texts, after=texts)
def test_no_part_of_any_encoding_remains_beside_a_cut(
    secret: str, encoding: str, data: st.DataObject, before: str, after: str
) -> None:
    """A beginning or an end of four bytes or more goes, in each encoding and at each place."""
    shown = ENCODINGS[encoding](secret).encode()
    cut = data.draw(st.integers(0, len(shown)))
    first, last = shown[:cut], shown[cut:]
    bare = re.compile(rb"\\[nr]|[\r\n]|=")
    assume(first[:4] not in before.encode())
    assume(last[-4:] not in after.encode())
    made = redactor(secret)

    head = made.data(before.encode() + first, cut_end=True)
    tail = made.data(last + after.encode(), cut_start=True)

    if len(bare.sub(b"", first)) > 4:
        assert not head.endswith(first)
    if len(bare.sub(b"", last)) > 4:
        assert not tail.startswith(last)
