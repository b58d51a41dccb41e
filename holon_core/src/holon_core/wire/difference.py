"""The structural difference of two JSON values, secrets masked, bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from holon_core.records.approval_view import ViewChange
from holon_core.visible import escape_unseen

MAX_VALUE_CHARS = 400
_CONTEXT = 40
_ABSENT: Any = object()


class Pair:
    """One place of both arguments: the values themselves, and as they may be shown."""

    __slots__ = ("after", "before", "path", "shown_after", "shown_before")

    def __init__(
        self, path: str, before: Any, after: Any, *, shown_before: Any, shown_after: Any
    ) -> None:
        self.path, self.before, self.after = path, before, after
        self.shown_before, self.shown_after = shown_before, shown_after

    @property
    def masked(self) -> bool:
        """Whether either side is a marked secret."""
        return _hides(self.before, self.shown_before) or _hides(self.after, self.shown_after)

    def below(self, step: str, before: Any, after: Any) -> Pair:
        """Return the place of a member: ``before`` and ``after`` are its keys on each side."""
        return Pair(
            f"{self.path}/{step}",
            _member(self.before, before),
            _member(self.after, after),
            shown_before=_member(self.shown_before, before),
            shown_after=_member(self.shown_after, after),
        )


def _member(holder: Any, key: Any) -> Any:
    return _ABSENT if key is _ABSENT else holder[key]


def _hides(value: Any, shown: Any) -> bool:
    # Masking shares what it leaves alone, so another text stands where something was masked.
    return value is not shown and isinstance(shown, str)


def pointer_step(key: str) -> str:
    """Write a key as one step of a JSON pointer, safe to print."""
    return escape_unseen(key.replace("~", "~0").replace("/", "~1"))


def differing(pair: Pair) -> Iterator[Pair]:
    """Yield the smallest places in which two JSON values differ, in the order of the first.

    Lists are compared from both ends, so that one inserted item is one difference. ``true`` is
    not ``1``, and an absent member is not ``null``.
    """
    if pair.masked or pair.before is _ABSENT or pair.after is _ABSENT:
        if not same(pair.before, pair.after):
            yield pair
    elif isinstance(pair.before, Mapping) and isinstance(pair.after, Mapping):
        yield from _of_members(pair)
    elif isinstance(pair.before, list) and isinstance(pair.after, list):
        yield from _of_items(pair)
    elif not same(pair.before, pair.after):
        yield pair


def _of_members(pair: Pair) -> Iterator[Pair]:
    for key in dict.fromkeys((*pair.before, *pair.after)):
        before = key if key in pair.before else _ABSENT
        after = key if key in pair.after else _ABSENT
        yield from differing(pair.below(pointer_step(key), before, after))


def _of_items(pair: Pair) -> Iterator[Pair]:
    before, after = pair.before, pair.after
    shorter, start, end = min(len(before), len(after)), 0, 0
    while start < shorter and same(before[start], after[start]):
        start += 1
    while end < shorter - start and same(before[-1 - end], after[-1 - end]):
        end += 1
    olds, news = range(start, len(before) - end), range(start, len(after) - end)
    for old, new in zip(olds, news, strict=False):
        yield from differing(pair.below(str(new), old, new))
    for old in olds[len(news) :]:
        yield from differing(pair.below(str(old), old, _ABSENT))
    for new in news[len(olds) :]:
        yield from differing(pair.below(str(new), _ABSENT, new))


def same(one: Any, other: Any) -> bool:
    """Compare two JSON values as JSON does: by type too, members in any order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def shown_change(pair: Pair) -> ViewChange:
    """Write one difference as it is shown: JSON text, cut around where it begins to differ."""
    before, after = _text(pair.shown_before), _text(pair.shown_after)
    if before is None or after is None:
        kind = "added" if before is None else "removed"
        return ViewChange(path=pair.path, change=kind, before=_cut(before, 0), after=_cut(after, 0))
    alike = next((at for at, (a, b) in enumerate(zip(before, after)) if a != b), 0)  # noqa: B905
    start = max(0, alike - _CONTEXT) if max(len(before), len(after)) > MAX_VALUE_CHARS else 0
    return ViewChange(
        path=pair.path, change="changed", before=_cut(before, start), after=_cut(after, start)
    )


def _text(value: Any) -> str | None:
    return None if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def _cut(text: str | None, start: int) -> str | None:
    if text is None:
        return None
    kept = text[start : start + MAX_VALUE_CHARS]
    before = "…" if start else ""
    after = "…" if start + len(kept) < len(text) else ""
    return f"{before}{escape_unseen(kept)}{after}"
