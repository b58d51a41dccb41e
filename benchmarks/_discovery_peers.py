"""Rankers to compare discovery with: what one would take instead of it."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from holon_core.records.tool import RuntimeToolDescriptor

Tool = Mapping[str, Any]
Ranker = Callable[[str], Sequence[str]]


def _text(tool: Tool) -> str:
    schema = json.dumps(tool.get("input_schema") or {}, ensure_ascii=False)
    return f"{tool['name']} {tool['description']} {schema}"


def fts5_ranker(tools: Sequence[Tool]) -> Ranker:
    """SQLite's FTS5 as it comes: the same text as the others', a query's words joined by OR."""
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table t using fts5(body, tokenize='unicode61')")
    db.executemany("insert into t values(?)", [(_text(tool),) for tool in tools])

    def rank(query: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"\w+", query.lower()))
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        rows = db.execute(
            "select rowid from t where t match ? order by bm25(t) limit 10", (asked,)
        ).fetchall()
        return [tools[n - 1]["id"] for (n,) in rows]

    return rank


def bm25s_ranker(tools: Sequence[Tool]) -> Ranker:
    """bm25s with Snowball stems and English stop words, schema text included."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def cut(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(cut([_text(tool) for tool in tools]), show_progress=False)

    def rank(query: str) -> list[str]:
        found, _ = index.retrieve(cut([query]), k=10, show_progress=False)
        return [tools[int(n)]["id"] for n in found[0]]

    return rank


def fastmcp_ranker(tools: Sequence[Tool]) -> Ranker:
    """FastMCP's BM25 search over the text that it takes of each tool, its index made once."""
    from fastmcp.server.transforms.search.base import _extract_searchable_text
    from fastmcp.server.transforms.search.bm25 import _BM25Index
    from fastmcp.tools import Tool as FastTool

    base = FastTool.from_function(_nothing)
    index = _BM25Index()
    index.build(
        [
            _extract_searchable_text(
                base.model_copy(
                    update={
                        "name": tool["name"],
                        "description": tool["description"],
                        "parameters": tool.get("input_schema") or {"type": "object"},
                    }
                )
            )
            for tool in tools
        ]
    )
    return lambda query: [tools[n]["id"] for n in index.query(query, 10)]


def _nothing() -> None:
    """Do nothing."""


@contextmanager
def fastmcp_client_ranker(
    tools: Sequence[RuntimeToolDescriptor],
) -> Iterator[Callable[[str], object]]:
    """FastMCP's BM25 search transform as an agent calls it: through its client, in memory."""
    from fastmcp import Client, FastMCP
    from fastmcp.server.transforms.search import BM25SearchTransform
    from fastmcp.tools import Tool as FastTool

    server = FastMCP("bench")
    base = FastTool.from_function(_nothing)
    for tool in tools:
        server.add_tool(
            base.model_copy(
                update={
                    "name": tool.id.partition("/")[2],
                    "description": tool.description,
                    "parameters": tool.input_schema,
                }
            )
        )
    server.add_transform(BM25SearchTransform(max_results=5))
    loop = asyncio.new_event_loop()
    client = Client(server)
    loop.run_until_complete(client.__aenter__())
    try:
        yield lambda query: loop.run_until_complete(
            client.call_tool("search_tools", {"query": query})
        )
    finally:
        loop.run_until_complete(client.__aexit__(None, None, None))
        loop.close()
