"""Canonical bytes of values that are already known to be sound."""

from __future__ import annotations

import json
import json.encoder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holon_core.wire.json_types import JsonValue


def encode(value: JsonValue, *, plain: bool) -> bytes:
    """Write the canonical bytes (RFC 8785) of a sound value.

    Args:
        value: Exact JSON types only, no cycle, no integer beyond ±(2**53-1).
        plain: No key has a character from U+D800 on, and no float is integral, below 1e-4 or
            from 1e16. Then sorted keys and ``repr`` are what RFC 8785 asks for.

    Raises:
        UnicodeEncodeError, ValueError: A string or key holds a lone surrogate.
    """
    if plain:
        return "".join(_ENCODE(value, 0)).encode()
    import rfc8785

    return rfc8785.dumps(value)


def plain_encoder(make: Any) -> Callable[[Any, int], Iterable[str]]:
    """Build the encoder once; ``JSONEncoder.encode`` would build it anew for each value.

    Args:
        make: ``json.encoder.c_make_encoder``, or whatever stands there in this Python.
    """
    escape = json.encoder.encode_basestring
    try:
        encoder: Callable[[Any, int], Iterable[str]] = make(
            None, None, escape, None, ":", ",", True, False, False
        )
        if "".join(encoder({"b": [1.5, "é"], "a": None}, 0)) == '{"a":null,"b":[1.5,"é"]}':
            return encoder
    except TypeError:
        pass
    slow = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return lambda value, _: slow.encode(value)


_ENCODE = plain_encoder(getattr(json.encoder, "c_make_encoder", None))
