"""The store: one interface for change, SQLite behind it (design, section 10)."""
