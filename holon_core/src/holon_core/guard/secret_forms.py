"""The shapes in which a secret's value may turn up in output, and how each is found."""

from __future__ import annotations

import re

MIN_CHARACTERS = 4

# A line break may stand anywhere inside an occurrence: as it is, or as JSON writes it.
NEWLINES = re.compile(rb"[\r\n]|\\[nr]")
# Deleting these bytes everywhere undoes every such break, so a text holds a form at all only if
# what is left of it holds what is left of the form. That makes one cheap look suffice.
_DROPPED = b"\r\n\\nr"
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_BASE64_END = re.compile(rb"(?:[\r\n]|\\[nr])*[A-Za-z0-9+/_-]={0,2}")
# What encoders leave as it is: everything else encoded, a path, encodeURIComponent, encodeURI.
_URL_SAFE = ("", "/", "!'()*", "!'()*;:@&=+$,/?#")
# Codes of hexadecimal digits, which encoders write in either case.
_CODED = re.compile(r"%[0-9A-Fa-f]{2}|\\[ux][0-9A-Fa-f]{2}|&#x[0-9A-Fa-f]")
_HEAD = 64


def compact(data: bytes) -> bytes:
    """Delete all that may stand for a line break inside an occurrence."""
    return data.translate(None, _DROPPED)


def joined(data: bytes) -> bytes:
    """Take the line breaks out of a form, those that appear by doing so included."""
    while True:
        shorter = NEWLINES.sub(b"", data)
        if shorter == data:
            return data
        data = shorter


class Form:
    """One shape of one secret, without line breaks.

    ``left`` and ``right`` say that a further base64 character on that side holds bits of it.
    ``key`` is what is left of it in a compact text, where occurrences are looked for in linear
    time; each is then compared in full, byte by byte. ``folded`` says that it is looked for in
    the text in lower case, as it stands itself; ``low`` is the key of any form in such a text.
    """

    __slots__ = ("_head", "body", "folded", "key", "left", "low", "name", "right")

    def __init__(
        self,
        name: str,
        body: bytes,
        *,
        left: bool = False,
        right: bool = False,
        folded: bool = False,
    ) -> None:
        self.name, self.body, self.left, self.right = name, body, left, right
        self.folded = folded
        self.key = compact(body)
        self.low = compact(body.lower())
        self._head: re.Pattern[bytes] | None = None

    def spans(self, data: bytes, bare: bytes) -> list[tuple[int, int]]:
        """Find every occurrence: where it begins and where it ends.

        Args:
            data: Where to look.
            bare: The same, compact.
        """
        found = []
        before, kept = 0, 0
        at = bare.find(self.key)
        while at >= 0:
            before = _behind(data, before, at - kept)
            kept = at
            span = self._compared(data, before)
            if span is not None:
                found.append(self._widened(data, *span))
            at = bare.find(self.key, at + (len(self.key) if span and self.key else 1))
        return found

    def _compared(self, data: bytes, before: int) -> tuple[int, int] | None:
        """Compare in full: the form begins at the next byte that is kept, or shortly before."""
        first = _behind(data, before, 1)
        start = data.find(self.body[:1], before, first)
        while start >= 0:
            match = self._compiled().match(data, start)
            if match is not None:
                end, reached = walk(data, match.end(), self.body, min(_HEAD, len(self.body)))
                if reached == len(self.body):
                    return start, end
            start = data.find(self.body[:1], start + 1, first)
        return None

    def _compiled(self) -> re.Pattern[bytes]:
        # Made when first needed, and only of the head: a long key would take long to compile.
        if self._head is None:
            bytes_of = [self.body[i : i + 1] for i in range(min(len(self.body), _HEAD))]
            self._head = re.compile(rb"(?:[\r\n]|\\[nr])*".join(map(re.escape, bytes_of)))
        return self._head

    def _widened(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        if self.left:
            at = start
            while at and (step := 1 if data[at - 1] in b"\r\n" else _escape_before(data, at)):
                at -= step
            if at and data[at - 1] in _BASE64:
                start = at - 1
        if self.right and (more := _BASE64_END.match(data, end)):
            end = more.end()
        return start, end


def _escape_before(data: bytes, at: int) -> int:
    return 2 if at > 1 and data[at - 2 : at] in (b"\\n", b"\\r") else 0


def _behind(data: bytes, at: int, count: int) -> int:
    """Return the offset behind so many further bytes that a compact text keeps."""
    while count > 0 and at < len(data):
        piece = data[at : at + count]
        at += len(piece)
        count -= len(compact(piece))
    return at


def walk(data: bytes, at: int, body: bytes, reached: int = 0) -> tuple[int, int]:
    """Follow a form through data, over line breaks.

    No byte of a form can also begin a line break that is skipped, but for its last, so nothing
    is tried twice.

    Args:
        data: Where to look.
        at: The offset of the first byte to compare.
        body: What should stand there.
        reached: How many bytes of it are known to stand before.

    Returns:
        The offset behind the last byte that fits (the end of the data where it ends inside the
        form), and how many bytes of ``body`` fit.
    """
    last, size = len(body) - 1, len(data)
    while reached <= last:
        start = at
        while match := NEWLINES.match(data, at):
            at = match.end()
        if at < size and data[at] == body[reached]:
            at += 1
            reached += 1
        elif reached == last and data[start : start + 1] == body[last:] == b"\\":
            # The last byte is a backslash, which looked like the start of a line break.
            return start + 1, reached + 1
        else:
            ended = at == size or (at == size - 1 and data[at] == 0x5C)
            return (size if ended else start), reached
    return at, reached


def unusable(value: str) -> str | None:
    """Say why a value can't be kept out of evidence, or ``None``.

    Below four characters (line breaks not counted) every text would be full of it.
    """
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        return "it is not Unicode text"
    if len(joined(raw).decode()) < MIN_CHARACTERS:
        return f"it has fewer than {MIN_CHARACTERS} characters"
    return None


def forms_of(name: str, value: str) -> list[Form]:
    """List the shapes of a value, each once; see docs/secrets.md, "Redaction".

    Args:
        name: What an occurrence is replaced with.
        value: At least four characters; see ``unusable``.
    """
    raw = value.encode()
    shown = {value, *_repr(value, raw)}
    texts = {*shown, _step(value), *_url(value), *_html(value), *_coded(value, raw)}
    for text in tuple(texts):
        texts |= _json(text)
    # A text of JSON inside a text of JSON.
    for text in shown:
        texts |= {twice for once in _json(text) for twice in _json(once)}
    forms = {(joined(raw.hex().encode()), True, False, False)} | _base64(raw)
    for text in texts:
        folded = _CODED.search(text) is not None
        body = joined(text.encode())
        forms.add((joined(body.lower()) if folded else body, folded, False, False))
    return [
        Form(name, body, left=left, right=right, folded=folded)
        for body, folded, left, right in sorted(forms)
    ]


def _json(text: str) -> set[str]:
    import json

    quoted = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return quoted | {each.replace("/", "\\/") for each in quoted}


def _repr(value: str, raw: bytes) -> set[str]:
    """Write it as Python shows texts and bytes; which quotes are escaped depends on the whole."""
    plain = {
        "".join(repr(character)[1:-1] for character in value),
        "".join(ascii(character)[1:-1] for character in value),
        "".join(repr(bytes([byte]))[2:-1] for byte in raw),
    }
    return plain | {text.replace("'", "\\'") for text in plain}


def _coded(value: str, raw: bytes) -> set[str]:
    """Write every byte, or every character, as a code."""
    units = value.encode("utf-16-be").hex()
    return {
        "".join(f"%{byte:02x}" for byte in raw),
        "".join(f"\\x{byte:02x}" for byte in raw),
        "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)),
        "".join(f"&#{ord(character)};" for character in value),
        "".join(f"&#x{ord(character):x};" for character in value),
    }


def _step(value: str) -> str:
    """Write it as a step of a JSON pointer."""
    return value.replace("~", "~0").replace("/", "~1")


def _url(value: str) -> set[str]:
    from urllib.parse import quote

    texts = {quote(value, safe=safe) for safe in _URL_SAFE}
    texts |= {text.replace("~", "%7E") for text in texts}
    return texts | {text.replace("%20", "+") for text in texts}


def _html(value: str) -> set[str]:
    from html import escape

    some, full = escape(value, quote=False), escape(value)
    decimal = full.replace("&#x27;", "&#39;")
    return {some, full, decimal, decimal.replace("&quot;", "&#34;")}


def _base64(raw: bytes) -> set[tuple[bytes, bool, bool, bool]]:
    # The secret may begin at any of three offsets inside a longer payload. Characters that hold
    # its bits alone are the same whatever stands around it; those at its ends are not.
    from base64 import b64encode

    forms = set()
    for offset in range(3):
        code = b64encode(bytes(offset) + raw)
        bits = 8 * (offset + len(raw))
        middle = code[(8 * offset + 5) // 6 : bits // 6]
        partial = bits % 6 != 0
        for each in (middle, middle.translate(_URL_ALPHABET)):
            forms.add((each, False, offset > 0, partial))
    return forms


_URL_ALPHABET = bytes.maketrans(b"+/", b"-_")
