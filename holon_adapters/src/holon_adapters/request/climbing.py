"""Whether a path leads up, as the servers and caches on its way may read it."""

from __future__ import annotations

import re
from urllib.parse import unquote

_DECODINGS = 4
_BORDERS = re.compile(r"[/\\]")


def climbs(path: str) -> bool:
    """Tell whether a segment is dots alone, also once it was decoded, several times over.

    Args:
        path: The path of a request or of a document, encoded as it would be sent.
    """
    for _ in range(_DECODINGS):
        if any(segment.partition(";")[0] in (".", "..") for segment in _BORDERS.split(path)):
            return True
        decoded = unquote(path)
        if decoded == path:
            return False
        path = decoded
    return True
