"""Chains of evidence: what a record is, how it links to the one before, what their rows hold."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from holon_core.store.rows import decodes, link_hash, number, text

GENESIS_DOMAIN = b"holon-evidence-chain/1\0"
RECORD_DOMAIN = b"holon-evidence-record/1\0"

# A chain's number is above these bits of a stored position: a million chains of a trillion each.
CHAIN_SHIFT = 40
MAX_SEQ = (1 << CHAIN_SHIFT) - 1
NO_CHAIN = 1 << 22
COLUMNS = "seq, call, kind, at, body, hash, payload"
# Each hash starts from a copy: making one anew asks OpenSSL for the algorithm by its name.
_RECORD = hashlib.sha256(RECORD_DOMAIN)

# Number of a chain, position and hash of its last record.
Head = tuple[int, int, str]


class Anchor(NamedTuple):
    """What is known of a chain beside its records: where it was, and which calls were open."""

    chain: str
    number: int
    seq: int
    hash: str
    open: str


class CatalogueMoved(Exception):
    """The catalogue's revision is not the one that the call was prepared with."""


class NotOpen(Exception):
    """The call that a record would close is not open any more."""


class Row(NamedTuple):
    """One stored record."""

    chain: str
    seq: int
    call: str
    kind: str
    at: int
    body: bytes
    hash: str
    payload: bytes | None


class Draft:
    """One record, ready to be appended: everything but its place in the chain.

    Args:
        chain: The workspace id, or ``_runtime``.
        call: The call id the record belongs to.
        kind: What the record says happened.
        at: Wall-clock time in Unix seconds.
        body: Canonical JSON of the record.
        payload: What the body's payload digest covers; ``None`` where there is none.
    """

    __slots__ = ("at", "body", "call", "chain", "kind", "payload")

    def __init__(
        self, chain: str, call: str, kind: str, *, at: int, body: bytes, payload: bytes | None
    ) -> None:
        self.chain, self.call, self.kind, self.at = chain, call, kind, at
        self.body, self.payload = body, payload


class OpenCall(NamedTuple):
    """A call that was accepted and has no closing record yet."""

    call: str
    chain: str
    seq: int
    runtime: str


def genesis(chain: str) -> str:
    """Return what the first record of a chain links to; it binds the chain's name."""
    return hashlib.sha256(GENESIS_DOMAIN + chain.encode()).hexdigest()


def link(previous: str, seq: int, body: bytes) -> str:
    """Return the hash of a record from its predecessor's, its position and its body."""
    record = _RECORD.copy()
    record.update(f"{previous}:{seq}:".encode())
    record.update(body)
    return record.hexdigest()


def row_of(chain: str, base: int, row: tuple[Any, ...]) -> Row:
    """Make a record of a row of ``COLUMNS``; ``base`` is what its stored position is added to."""
    return Row(chain, row[0] - base, *row[1:])


@decodes("a chain's anchor")
def anchor_of(row: tuple[Any, ...]) -> Anchor:
    """Decode an anchor."""
    return Anchor(
        chain=text(row[0]),
        number=number(row[1], most=NO_CHAIN - 1),
        seq=number(row[2], most=MAX_SEQ - 1),
        hash=link_hash(row[3]),
        open=text(row[4]),
    )


@decodes("a chain's last record")
def last_row(row: tuple[Any, ...]) -> tuple[int, str]:
    """Decode position and hash of a chain's last record."""
    return number(row[0]) & MAX_SEQ, link_hash(row[1])


@decodes("an open call")
def opened(chain: str, row: tuple[Any, ...]) -> OpenCall:
    """Decode a record that opens a call: its position, call and runtime."""
    return OpenCall(text(row[1]), chain, number(row[0]) & MAX_SEQ, text(row[2]))


# An open call as an anchor lists it.
line = "{} {} {}\n".format


@decodes("a list of open calls")
def open_calls(chain: Any, lines: Any) -> list[OpenCall]:
    """Decode the calls that an anchor lists as open."""
    parts = [line.split(" ") for line in text(lines).splitlines()]
    return [OpenCall(call, text(chain), int(seq), runtime) for call, seq, runtime in parts]


@decodes("a chain's head")
def chain_number(row: tuple[Any, ...]) -> int:
    """Decode the number of a chain."""
    return number(row[0], most=NO_CHAIN - 1)


@decodes("a place in a chain")
def place(row: tuple[Any, ...]) -> int:
    """Decode how far a reader of a chain came."""
    return number(row[0], most=MAX_SEQ)
