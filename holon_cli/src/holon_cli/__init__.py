"""The holon command: the governed door at a prompt."""
