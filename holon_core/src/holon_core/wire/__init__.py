"""Strict JSON in, RFC 8785 out, JSON Schema engines and the one record converter."""
