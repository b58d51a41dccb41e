"""The database that the tests read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

QUERIES = Path(__file__).with_name("queries")


def make_shop(workspace: Path) -> Path:
    """Make the database in a workspace."""
    path = workspace / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "create table orders(id integer primary key, customer text, day text, cents integer)"
        )
        connection.executemany(
            "insert into orders(customer, day, cents) values (?, ?, ?)",
            [
                ("ann", "2024-01-01", 100),
                ("ann", "2024-02-01", 250),
                ("bob", "2024-02-02", 2**60),
                ("eve", "2023-01-01", 5),
            ],
        )
    return path
