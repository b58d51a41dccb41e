"""What makes vectors of texts, so that discovery also ranks by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Makes vectors of texts: alike in meaning, alike in direction.

    ``name`` names the model and its version: vectors are kept under it and the definition's
    digest, and are made anew where either changes. ``embed`` is called while a query waits, with
    the query or with up to 32 descriptions of tools; it bounds its own time. What it raises is
    logged, and the query is ranked without it.
    """

    name: str

    def embed(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
        """Return one vector for each text, all of one length."""
        ...
