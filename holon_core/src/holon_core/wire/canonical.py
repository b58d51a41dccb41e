"""Canonical JSON (RFC 8785) and the digests that are made of it."""

from __future__ import annotations

from hashlib import sha256

from holon_core.wire.values import normalise

# Wider than any single boundary: what is digested here was bounded where it came in.
_MAX_BYTES = 64 * 1_048_576


def canonical(value: object) -> bytes:
    """Write the canonical bytes (RFC 8785) of a JSON value.

    Args:
        value: Exact JSON types, at most 128 deep and 64 MiB when written.

    Raises:
        JsonRefused: The value is not sound JSON (see ``values.normalise``).

    Source: RFC 8785.
    """
    return normalise(value, max_bytes=_MAX_BYTES).canonical


def digest(value: object, *, domain: str) -> str:
    """Digest a JSON value for one purpose.

    Args:
        value: Exact JSON types (see ``canonical``).
        domain: What the digest is for, without NUL; equal values of two domains differ.

    Returns:
        Lower-case hexadecimal SHA-256 of the domain, a NUL and the canonical bytes.

    Raises:
        JsonRefused: The value is not sound JSON.
    """
    return sha256_hex(domain.encode() + b"\0" + canonical(value))


def sha256_hex(data: bytes) -> str:
    """Hash bytes: SHA-256 in lower-case hexadecimal."""
    return sha256(data).hexdigest()
