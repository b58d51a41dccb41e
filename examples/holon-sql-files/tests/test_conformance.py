"""The rules that every lane keeps."""

from __future__ import annotations

from pathlib import Path

from holon_core.testing import LaneSuite
from shop import QUERIES, make_shop

from holon_sql_files.tools import SOURCE


class TestConformance(LaneSuite):
    """One test for each rule; `holon lane check` prints the same as a table."""

    distribution = SOURCE
    config = {"lane": {SOURCE: {"folder": str(QUERIES)}}}  # noqa: RUF012
    samples = {  # noqa: RUF012
        f"{SOURCE}/orders-since": [{"since": "2024-01-01"}, {"since": "2024-01-01", "at_least": 2}],
        f"{SOURCE}/all-orders": {"database": "shop.db"},
        f"{SOURCE}/many": {},
        f"{SOURCE}/endless": [],
    }
    failing = {  # noqa: RUF012
        f"{SOURCE}/all-orders": [{"database": "../other.db"}, {"database": "absent.db"}],
    }
    slow = {f"{SOURCE}/endless": {}}  # noqa: RUF012
    large = {f"{SOURCE}/many": {}}  # noqa: RUF012

    def prepare(self, workspace: Path) -> None:
        """Put a database there."""
        make_shop(workspace)
