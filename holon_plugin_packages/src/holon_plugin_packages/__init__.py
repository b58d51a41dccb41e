"""The plugin package lane of Holon: one governed install surface for published packages."""
