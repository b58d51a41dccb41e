"""Run the command: ``python -m elegy_memory``."""

import sys

from elegy_memory.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
