"""Codecs of unions: the member is picked by the JSON value's kind, then by an exact test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holon_core.functions.codec import ArgumentRefused, Codec, Convert, plain


def _keep(value: Any) -> Any:
    return value


def _choose(candidates: Sequence[Codec]) -> Convert:
    def load(value: Any) -> Any:
        for codec in candidates:
            if codec.match(value):
                return codec.load(value) if codec.load else value
        raise ArgumentRefused("fits no member of the union")

    return load


def _loader(candidates: Sequence[Codec]) -> Convert:
    if all(codec.load is None for codec in candidates):
        return _keep
    if len(candidates) == 1 and candidates[0].load:
        return candidates[0].load
    return _choose(candidates)


def _load(members: Sequence[Codec]) -> Convert:
    kinds = frozenset().union(*(codec.kinds for codec in members))
    table = {kind: _loader([c for c in members if kind in c.kinds]) for kind in kinds}

    def load(value: Any) -> Any:
        chosen = table.get(type(value))
        if chosen is None:
            raise ArgumentRefused("fits no member of the union")
        return chosen(value)

    return load


def _dump(members: Sequence[Codec]) -> Convert:
    def dump(value: Any) -> Any:
        for codec in members:
            if codec.owns(value):
                try:
                    return codec.to_json(value)
                except TypeError:
                    continue  # the right container around other items: a later member fits
        return plain(value)

    return dump


def union_codec(members: Sequence[Codec]) -> Codec:
    """Make the codec of a union; of members that fit alike, the first one written is taken."""
    return Codec(
        schema={"anyOf": [codec.schema for codec in members]},
        kinds=frozenset().union(*(codec.kinds for codec in members)),
        match=lambda value: any(codec.match(value) for codec in members),
        owns=lambda value: any(codec.owns(value) for codec in members),
        load=_load(members) if any(codec.load for codec in members) else None,
        dump=_dump(members) if any(codec.dump for codec in members) else None,
    )
