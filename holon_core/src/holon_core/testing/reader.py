"""Reading evidence in tests: the trail of a call, and everything that a chain keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import asdict

from holon_core.records.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.evidence import EvidenceRecord
    from holon_core.runtime import Runtime

PAGE = 500


class EvidenceReader:
    """Answers what tests ask of evidence.

    Args:
        runtime: Whose evidence it reads.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._evidence = runtime.evidence

    def trail(self, call: str | ToolResult) -> list[str]:
        """Return the kinds of one call's records, in order."""
        return [record.kind for record in self.records(call)]

    def records(self, call: str | ToolResult) -> tuple[EvidenceRecord, ...]:
        """Return the records of one call, in order."""
        return self._evidence.read(call.call_id if isinstance(call, ToolResult) else call)

    def drafts(self, call: str | ToolResult) -> list[Any]:
        """Return what the tool itself wanted kept, each as ``{"source": …, "data": …}``."""
        found = [record.body.get("from_tool", ()) for record in self.records(call)]
        return [draft for drafts in found for draft in drafts]

    def chain(self, workspace: str | None = None) -> Iterator[EvidenceRecord]:
        """Go through a whole chain, of the runtime where no workspace is named."""
        after = 0
        while page := self._evidence.list(workspace=workspace, after=after, limit=PAGE):
            yield from page
            after = page[-1].seq

    def text(self, workspace: str | None = None) -> str:
        """Return everything that a chain keeps as one text, to search it for what must not be."""
        return json.dumps(
            [asdict(record) for record in self.chain(workspace)], ensure_ascii=False, default=str
        )
