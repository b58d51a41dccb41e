"""Fixtures of the catalogue tests: installed distributions, and runtimes on one root."""

from __future__ import annotations

from installed import clock, open_runtime, site

__all__ = ["clock", "open_runtime", "site"]
