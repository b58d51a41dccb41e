"""An embedder for discovery that needs no service and no download: vectors of words, averaged.

It takes the model that the package ``wordllama`` ships (16 MB, 256 dimensions, English), which
the extra ``embeddings`` installs. A host names it: ``plugins=[StaticEmbeddings()]``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.plugins.markers import hookimpl

if TYPE_CHECKING:
    from holon_core.plugins.host import PluginHost
    from holon_core.records.embedder import Embedder

# What is read of a text: a mean over more words says less of what it is about.
MAX_TEXT = 2000


class StaticEmbeddings:
    """A plugin that offers the embedder, and the embedder itself.

    The model is read from the installed package at the first query, never from the network.

    Raises:
        ImportError: ``wordllama`` is missing.
    """

    name = "wordllama-l2-supercat-256"

    def __init__(self) -> None:
        if find_spec("wordllama") is None:
            text = "StaticEmbeddings needs wordllama; pip install 'holon-core[embeddings]'"
            raise ImportError(text)
        self._lock = threading.Lock()
        self._model: Any = None

    @hookimpl
    def holon_embedders(self, host: PluginHost) -> list[Embedder]:
        """Offer itself."""
        return [self]

    def embed(self, texts: Sequence[str], /) -> Sequence[Sequence[float]]:
        """Return one vector of 256 numbers for each text, each of length 1."""
        with self._lock:
            if self._model is None:
                self._model = _loaded()
        rows = self._model.embed([text[:MAX_TEXT] for text in texts], norm=True)
        return [[float(each) for each in row] for row in rows]


def _loaded() -> Any:
    import wordllama  # type: ignore[import-untyped,import-not-found,unused-ignore]

    # It looks for what it ships in its cache alone, so its own folder is given as that.
    shipped = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=shipped, disable_download=True)
