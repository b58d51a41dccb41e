"""Embedders of plugins: ranking by meaning beside words, and what they cannot break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import holon_core as holon


class Embedder:
    """Knows two topics, and counts what it is asked."""

    name = "topics-1"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked.append(list(texts))
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        return [[1.0, 0.0] if {"cash", "money"} & set(t.split()) else [0.0, 1.0] for t in texts]


def plugin(*embedders: Any) -> Any:
    class Plugin:
        name = "topics"

        @holon.hookimpl
        def holon_embedders(self, host: Any) -> tuple[Any, ...]:
            return embedders

    return Plugin()


def opened(*embedders: Any) -> holon.Runtime:
    @holon.tool(effects={"none"})
    def forecast() -> int:
        """Weather of a customer."""
        return 1

    @holon.tool(effects={"none"})
    def refund() -> int:
        """Send money to a customer."""
        return 1

    plugins = [plugin(*embedders)] if embedders else []
    return holon.Runtime.in_memory(tools=[forecast, refund], plugins=plugins)


def names(runtime: holon.Runtime, query: str = "cash for a customer") -> list[str]:
    items = runtime.session(principal="ann").discover(query, min_confidence=0).items
    return [item.name for item in items]


def test_meaning_ranks_beside_words() -> None:
    """A tool that says it otherwise comes first; without an embedder words alone decide."""
    with opened(Embedder()) as rt:
        assert names(rt)[0] == "refund"
    with opened() as rt:
        assert names(rt)[0] == "forecast"


def test_a_definition_is_embedded_once() -> None:
    """Its vector is kept by its digest; a query is embedded each time."""
    embedder = Embedder()
    with opened(embedder) as rt:
        names(rt)
        names(rt)

    assert [len(texts) for texts in embedder.asked] == [1, 2, 1]


@pytest.mark.parametrize(
    "answer",
    [ValueError("no"), [], [[1.0]] * 9, ["text"], [[float("nan")]], [[]], 7],
    ids=["raises", "none", "too many", "text", "not a number", "empty", "no list"],
)
def test_an_embedder_that_fails_is_left_out(answer: Any) -> None:
    """The query is answered by words alone."""
    with opened(Embedder(answer)) as rt, opened() as plain:
        assert names(rt) == names(plain)


def test_the_shipped_embedder_finds_what_is_said_otherwise() -> None:
    """Its model lies in the installed package; vectors of definitions are kept by digest."""
    pytest.importorskip("wordllama")
    from holon_core.embeddings import StaticEmbeddings

    @holon.tool(effects={"none"})
    def forecast() -> int:
        """Weather for a customer."""
        return 1

    @holon.tool(effects={"none"})
    def refund() -> int:
        """Reimburse a payment to a customer."""
        return 1

    query = "return the money of a customer"
    with holon.Runtime.in_memory(tools=[forecast, refund]) as rt:
        assert names(rt, query)[0] == "forecast"
    with holon.Runtime.in_memory(tools=[forecast, refund], plugins=[StaticEmbeddings()]) as rt:
        assert names(rt, query)[0] == "refund"
        items = rt.session(principal="ann").discover(query, min_confidence=0).items
        digests = [item.digest for item in items]
        index = rt._guard.catalogue.search._stored
        assert index is not None
        kept = index.vectors(StaticEmbeddings.name, digests)
    assert sorted(kept) == sorted(digests)
    assert {len(vector) for vector in kept.values()} == {256}


def test_without_its_package_the_shipped_embedder_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At once, and not at the first query."""
    monkeypatch.setattr("holon_core.embeddings.find_spec", lambda name: None)
    from holon_core.embeddings import StaticEmbeddings

    with pytest.raises(ImportError, match=r"holon-core\[embeddings\]"):
        StaticEmbeddings()
