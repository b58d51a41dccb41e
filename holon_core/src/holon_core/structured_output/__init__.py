"""Structured output: the classes of answers that others depend on, and their gates."""
