"""Imports a module in a fresh process and prints, as JSON, what that did to the machine."""

from __future__ import annotations

import importlib
import json
import sys
import threading

from holon_core.testing.watching import ANY, watching


def main() -> None:
    """Import the module that the command line names; the last line printed is the answer."""
    with watching(ANY) as deeds:
        importlib.import_module(sys.argv[1])
    found = [str(deed) for deed in deeds]
    found += [f"thread: {thread.name}" for thread in threading.enumerate()[1:]]
    sys.stdout.write(f"\n{json.dumps(found)}\n")
