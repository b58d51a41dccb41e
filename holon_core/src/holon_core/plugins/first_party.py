"""The distributions of this project."""

from __future__ import annotations

# Those that the project itself publishes: reserved ids, kinds and names are theirs alone.
FIRST_PARTY = frozenset(
    {
        "holon-adapters",
        "holon-builtin-memory",
        "holon-builtin-workspace",
        "holon-cli",
        "holon-core",
        "holon-elegy",
        "holon-mcp",
        "holon-plugin-packages",
        "holon-rust-tools",
        "holon-script-tools",
        "holon-workflows",
    }
)
# The names of their plugins: one that two distributions claim is refused for the stranger.
FIRST_PARTY_PLUGINS = frozenset(
    {
        "adapters",
        "elegy",
        "mcp",
        "memory",
        "packages",
        "rust-tools",
        "script-tools",
        "workflows",
        "workspace",
    }
)
