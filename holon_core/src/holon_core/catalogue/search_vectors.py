"""Ranking by vectors of an embedder, beside the ranking by words."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import isfinite, sqrt
from operator import mul
from typing import TYPE_CHECKING

from holon_core.catalogue.search_rows import Hit
from holon_core.logs import LOGGER
from holon_core.plugins.faults import told

if TYPE_CHECKING:
    from holon_core.catalogue.search_index import Index
    from holon_core.catalogue.search_query import Part
    from holon_core.records.embedder import Embedder

# What nearness in meaning counts beside everything that words say.
WEIGHT = 0.5
MAX_DIMENSIONS = 4096


def by_meaning(
    parts: Sequence[Part], embedder: Embedder, query: str, hits: Sequence[Hit]
) -> list[Hit]:
    """Rank hits anew by words and meaning; as they were where the embedder fails.

    Args:
        parts: Where the tools are indexed; the first keeps the vectors.
        embedder: Makes the vectors.
        query: What is wanted.
        hits: The best by words.
    """
    try:
        (asked,) = _embedded(embedder, [query])
        vectors = _of_tools(parts, embedder, hits)
    except KeyboardInterrupt:
        raise
    except Exception as error:
        LOGGER.warning("embedder %s: %s; ranked by words alone", embedder.name, told(error))
        return list(hits)
    ranked = []
    for hit in hits:
        vector = vectors.get(hit.digest)
        near = 0.0
        if vector is not None and len(vector) == len(asked):
            near = max(0.0, sum(map(mul, asked, vector)))
        score = (hit.score + WEIGHT * near) / (1 + WEIGHT)
        sure = max(hit.confidence, (hit.confidence + WEIGHT * near) / (1 + WEIGHT))
        ranked.append(hit._replace(score=round(score, 4), confidence=round(sure, 3)))
    return sorted(ranked, key=lambda hit: (-hit.score, hit.id))


def _of_tools(
    parts: Sequence[Part], embedder: Embedder, hits: Sequence[Hit]
) -> dict[str, array[float]]:
    keeper: Index = parts[0].tools
    digests = [hit.digest for hit in hits]
    known = keeper.vectors(embedder.name, digests)
    missing = {hit.id: hit.digest for hit in hits if hit.digest and hit.digest not in known}
    if missing:
        rows = [row for part in parts for row in part.tools.with_ids(list(missing))]
        texts = [f"{row.name.strip()}: {row.description.strip()}" for row in rows]
        made = dict(zip([row.digest for row in rows], _embedded(embedder, texts), strict=True))
        with keeper.changing():
            keeper.keep_vectors(embedder.name, made)
        known.update(made)
    return known


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[array[float]]:
    """Return vectors of length 1.

    Raises:
        ValueError: The embedder answered with something else than one vector for each text.
    """
    vectors = [array("f", vector) for vector in embedder.embed(texts)]
    if len(vectors) != len(texts) or not all(0 < len(v) <= MAX_DIMENSIONS for v in vectors):
        raise ValueError("not one vector for each text")
    return [_unit(vector) for vector in vectors]


def _unit(vector: array[float]) -> array[float]:
    length = sqrt(sum(map(mul, vector, vector)))
    if not isfinite(length):
        raise ValueError("a vector is not finite")
    return array("f", [each / length for each in vector]) if length else vector
