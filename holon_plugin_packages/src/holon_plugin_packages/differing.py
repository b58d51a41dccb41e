"""What differs between two states of a package: capabilities, schemas, effects, commands, texts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from attrs import frozen

from holon_core.records.approval_view import ViewChange
from holon_core.wire.difference import Pair, differing, shown_change

MAX_CHANGES = 1000


@frozen(kw_only=True)
class PackageDifference:
    """The difference of a registered package to another state of it."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[ViewChange, ...]]
    manifest: tuple[ViewChange, ...]
    files: Mapping[str, str]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.manifest or self.files)


def difference(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    pins_before: Mapping[str, str],
    pins_after: Mapping[str, str],
) -> PackageDifference:
    """Compare two manifests and the digests of their files."""
    old, new = _by_id(before), _by_id(after)
    both = [name for name in old if name in new and old[name] != new[name]]
    rest = [
        {name: value for name, value in each.items() if name != "capabilities"}
        for each in (before, after)
    ]
    files = dict.fromkeys(pins_after.keys() - pins_before.keys(), "added")
    files |= dict.fromkeys(pins_before.keys() - pins_after.keys(), "removed")
    files |= {
        path: "changed"
        for path in pins_before.keys() & pins_after.keys()
        if pins_before[path] != pins_after[path]
    }
    return PackageDifference(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed={name: _changes(old[name], new[name]) for name in both},
        manifest=_changes(rest[0], rest[1]),
        files=dict(sorted(files.items())),
    )


def _by_id(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {each["id"]: each for each in manifest.get("capabilities", ())}


def _changes(old: Any, new: Any) -> tuple[ViewChange, ...]:
    pairs = differing(Pair("", old, new, shown_before=old, shown_after=new))
    return tuple(shown_change(each) for each in islice(pairs, MAX_CHANGES))
