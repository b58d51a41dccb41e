"""Runs the command as ``python -m holon_cli``."""

from __future__ import annotations

from holon_cli.main import main

if __name__ == "__main__":
    main()
