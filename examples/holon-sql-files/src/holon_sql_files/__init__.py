"""A lane of Holon: a folder of SQL files as read-only tools on SQLite databases."""
