"""The Elegy lane of Holon: skills imported as governed capabilities."""
