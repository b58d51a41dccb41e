"""Durable workflows of governed steps for Holon."""
