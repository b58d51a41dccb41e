"""The script lane of Holon: script artifacts as frozen tools."""
