"""A tool that runs in a process of its own, and long."""

from __future__ import annotations

import os
import time
from pathlib import Path

import holon_core as holon


@holon.tool(effects={"process"}, isolation="process", timeout_s=60)
def sleep_long(folder: str) -> str:
    """Say which process this is, and sleep."""
    (Path(folder) / "child").write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(50)
    return "slept"
