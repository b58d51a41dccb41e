"""What answers carry beside their content; clients of earlier revisions are not sent it."""

from __future__ import annotations

from typing import Any

COMPLETE: dict[str, Any] = {"resultType": "complete"}
# What a caller is shown is its own, and may be another at any moment.
LISTED: dict[str, Any] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
