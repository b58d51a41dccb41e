"""A workspace memory behind the elegy.memory command contract: one process a call, one file."""
