"""What to do next, in the words of a command prompt.

The failure table speaks to every surface at once: programs, models, protocols. Here its advice
names commands and options instead.
"""

from __future__ import annotations

import re

from holon_core.errors import FAILURES

AT_THE_PROMPT = {
    "workspace_required": "name one with --workspace PATH, or open it: holon workspace open PATH",
    "file_exists": "name another file, or have it replaced: --replace",
    "event_loop_blocked": "give the tool a time limit where it is declared",
}
_METHOD = re.compile(r"\b([a-z][a-z-]*)/([a-z][a-z-]*)\b")


def _prompt(code: str, advice: str) -> str:
    return AT_THE_PROMPT.get(code) or _METHOD.sub(r"holon \1 \2", advice)


ADVICE = {row[3]: _prompt(code, row[3]) for code, row in FAILURES.items()}


def at_the_prompt(advice: str) -> str:
    """Say what a failure advises as one types it; an operation is its command."""
    return ADVICE.get(advice, advice)
