"""The catalogue: every capability of every lane, each id once."""
