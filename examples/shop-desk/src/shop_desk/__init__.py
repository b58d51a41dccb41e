"""A small shop that embeds Holon in five ways; see the README."""
