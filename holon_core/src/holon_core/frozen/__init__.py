"""Frozen tools: their lifecycle, the gates of each move, circuit breaker, fixtures, operations."""
