"""The adapter lane of Holon: governed operations of HTTP APIs."""
