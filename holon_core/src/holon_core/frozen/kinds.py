"""The kinds of frozen tools that are here, and each tool as its kind sees it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from holon_core.frozen.folders import copied, managed, restore
from holon_core.plugins.faults import told
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.frozen_kind import FrozenTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holon_core.frozen.store import FrozenStore
    from holon_core.records.frozen import FrozenToolRecord
    from holon_core.records.frozen_kind import FrozenToolKind

MAX_LACKS = 100


class Kinds:
    """The kinds that lanes of this runtime bring.

    Args:
        kinds: By their names.
        records: Where the files are.
        root: The storage root; ``None`` in memory, where no kind is.
    """

    def __init__(
        self, kinds: Mapping[str, FrozenToolKind], records: FrozenStore, root: Path | None
    ) -> None:
        self._kinds = kinds
        self._records = records
        self._root = root

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def get(self, kind: str) -> FrozenToolKind | None:
        """Return a kind by name, or ``None`` where no lane brings it."""
        return self._kinds.get(kind)

    def confines(self, kind: str) -> bool:
        """Tell whether tools of a kind can be confined: it says so, in so many words."""
        return getattr(self._kinds.get(kind), "confines", False) is True

    def file(self, sha256: str) -> bytes:
        """Return the bytes of a source file by digest."""
        return self._records.file(sha256)

    def tool(self, record: FrozenToolRecord) -> FrozenTool:
        """Return a tool as its kind sees it; its sources are in their folder."""
        assert self._root is not None, "no kind is in a runtime in memory"
        place = managed(self._root, record, self.file)
        by_path = {each.path: each.sha256 for each in record.definition.files}
        return FrozenTool(
            record=record,
            folder=place / "src",
            build_folder=place / "build",
            read=lambda path: self.file(by_path[path]),
            copied=lambda: copied(record, self.file),
            restore=lambda: restore(place / "src", record, self.file),
        )

    def unready(self, record: FrozenToolRecord) -> list[StructuredFailure]:
        """Name what keeps a tool from running, beside its state."""
        kind = self._kinds.get(record.definition.kind)
        if kind is None:
            return [failure("dependency_missing", f"no lane brings {record.definition.kind}")]
        try:
            return list(islice(kind.ready(self.tool(record)), MAX_LACKS))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = f"the kind {record.definition.kind} could not say: {told(error)}"
            return [failure("artifact_not_ready", text)]
