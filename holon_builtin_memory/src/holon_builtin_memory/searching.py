"""search-workspace-memory: the contract's ranking, then filters, snippets and pages of the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holon_builtin_memory.answers import memory
from holon_builtin_memory.descriptors import DEFAULT_RESULTS, MAX_SNIPPET
from holon_builtin_memory.paging import page_of
from holon_builtin_memory.tool import MemoryTool, workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_builtin_memory.program import Run
    from holon_core.guard.sealed import SealedCall

# How many hits are asked for where filters are to choose among them.
MAX_HITS = 200
_FILTERS = ("types", "tags", "updated_from_unix_seconds", "updated_before_unix_seconds")
_BEFORE = 60


class SearchMemory(MemoryTool):
    """Searches one workspace's store; each hit of the contract's counts as a use of it."""

    def run(self, call: SealedCall) -> dict[str, Any]:
        """Find one page."""
        arguments, workspace = call.arguments, workspace_of(call)
        limit = arguments.get("limit", DEFAULT_RESULTS)
        begins = page_of(arguments, workspace)
        skip = min(begins.skip, MAX_HITS)
        filtered = any(name in arguments for name in _FILTERS)
        wanted = MAX_HITS if filtered else min(MAX_HITS, skip + limit + 1)
        run = self.program.runner(call)
        whole = "whole" in self.program.extensions(run, workspace)
        data = self.program.ask(
            run, workspace, _options(arguments, wanted, whole=whole), text=arguments["query"]
        )
        hits = data["results"]
        kept: list[dict[str, Any]] = []
        for hit in hits:
            if len(kept) > skip + limit:
                break
            if not _may_fit(hit, arguments):
                continue
            full = self._full(run, workspace, hit) if filtered or whole else None
            shown = {**hit, "memory": full} if full else hit
            if not filtered or (full is not None and _fits(memory(full), arguments)):
                kept.append(shown)
        begins.check_shown(hit["id"] for hit in kept[:skip])
        page = kept[skip : skip + limit]
        more = len(kept) > skip + limit
        shown_by_then = (hit["id"] for hit in kept[: skip + limit])
        return {
            "results": [self._shown(run, workspace, hit, arguments["query"]) for hit in page],
            "truncated": more,
            "next_cursor": begins.after(shown_by_then) if more else None,
            "exhaustive": len(hits) < MAX_HITS,
        }

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show also the program and what it is given."""
        shown = {**super().preview(call)}
        limit = call.arguments.get("limit", DEFAULT_RESULTS)
        options = _options(call.arguments, limit, whole=False)
        shown["argv"] = self.program.argv(workspace_of(call), options, call.arguments["query"])
        return shown

    def _full(self, run: Run, workspace: str, hit: dict[str, Any]) -> dict[str, Any]:
        found = hit.get("memory")
        if found is None:
            found = self.program.ask(run, workspace, ["inspect"], text=hit["id"])["memory"]
        result: dict[str, Any] = found
        return result

    def _shown(self, run: Run, workspace: str, hit: dict[str, Any], query: str) -> dict[str, Any]:
        full = self._full(run, workspace, hit)
        return {
            **memory(full),
            "score": hit["score"],
            "similarity": hit["similarity"],
            "snippet": snippet(full["content"], query),
        }


def _options(arguments: Mapping[str, Any], limit: int, *, whole: bool) -> list[str]:
    dormant = ["--include-dormant"] if arguments.get("include_dormant") else []
    return ["search", f"--limit={limit}", *dormant, *(["--whole"] if whole else [])]


def _may_fit(hit: dict[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Tell from the short row, so that what cannot fit is not looked up."""
    from holon_builtin_memory.answers import word

    return "types" not in arguments or word(hit["memoryType"]) in arguments["types"]


def _fits(shown: dict[str, Any], arguments: Mapping[str, Any]) -> bool:
    moment = shown["updated_at_unix_seconds"]
    least = arguments.get("updated_from_unix_seconds")
    below = arguments.get("updated_before_unix_seconds")
    if moment is None and (least is not None or below is not None):
        return False
    return (
        set(arguments.get("tags", ())) <= set(shown["tags"])
        and (least is None or moment >= least)
        and (below is None or moment < below)
    )


def snippet(content: str, query: str) -> str:
    """Return the part of a content around the first word of the query that occurs in it."""
    terms = re.findall(r"\w+", query)
    found = re.search("|".join(map(re.escape, terms)), content, re.IGNORECASE) if terms else None
    start = max(0, found.start() - _BEFORE) if found else 0
    if len(content) <= MAX_SNIPPET:
        start = 0
    part = content[start : start + MAX_SNIPPET]
    return f"{'…' if start else ''}{part}{'…' if start + MAX_SNIPPET < len(content) else ''}"
