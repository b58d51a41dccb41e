"""Checks of what a lane does to the machine: at import, while opening, in memory, after close."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from holon_core.errors import StructuredFailureKind
from holon_core.testing.bench import call
from holon_core.testing.check_offers import bad, ok, skip
from holon_core.testing.offering import offered
from holon_core.testing.watching import STARTS, watching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.result import ToolResult
    from holon_core.testing.bench import Bench
    from holon_core.testing.report import Result

PROBE = "from holon_core.testing.probe import main; main()"
PROBE_S = 60.0
SETTLE_S = 3.0
_DESCRIPTORS = Path("/dev/fd")


def import_does_no_io(bench: Bench) -> Iterator[Result]:
    """Importing the plugin's module opens no file but code, and starts nothing."""
    from holon_core.process import ProcessSpec, run

    module = bench.lane.module()
    if module is None:
        yield skip("the plugin is an object of a test and no module")
        return
    paths = os.pathsep.join(path for path in sys.path if path)
    spec = ProcessSpec(
        argv=(sys.executable, "-B", "-c", PROBE, module),
        cwd=bench.folder,
        env={"PYTHONPATH": paths},
        timeout_s=PROBE_S,
        max_stdout_bytes=1024 * 1024,
        max_stderr_bytes=64 * 1024,
    )
    outcome = run(spec)
    if outcome.exit_code != 0:
        yield bad(f"importing {module} failed: {_text(outcome.stderr.head)[-500:]}")
        return
    deeds = json.loads(_text(outcome.stdout.head).splitlines()[-1])
    yield bad("; ".join(deeds[:5])) if deeds else ok(module)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def opening_starts_nothing(bench: Bench) -> Iterator[Result]:
    """While a runtime opens, no hook starts a process or a connection."""
    # Known beforehand: what looks them up brings frozen tools to Active, which runs them.
    assert bench.tools is not None
    with watching(STARTS) as deeds, bench.open(frozen=False):
        seen = list(deeds)
    yield bad("; ".join(str(deed) for deed in seen[:5])) if seen else ok()


def memory_hosts(bench: Bench) -> Iterator[Result]:
    """In memory a lane works, or says beforehand that it needs a file system."""
    lanes = offered(bench, "holon_capability_lanes")
    tools = bench.tools
    with bench.open(in_memory=True) as runtime:
        # The core makes the lanes of kinds of frozen tools, and all of those need one.
        frozen = offered(bench, "holon_frozen_tool_kinds")
        if frozen or any(getattr(lane, "needs_filesystem", False) for lane in lanes):
            left = [tool_id for tool_id in tools if tool_id in _ids(runtime)]
            text = f"it needs a file system, and {', '.join(left)} is there in memory"
            yield bad(text) if left else ok("it is refused in memory, as it asks")
            return
        problems = [text for state in runtime.plugins.list() for text in state.problems]
        for text in problems:
            yield bad(f"in memory: {text}; declare needs_filesystem=True if it cannot do without")
        session = bench.session(runtime)
        for tool_id in tools:
            if not bench.samples(tool_id):
                yield skip("no sample call is known: give one in `samples`", tool=tool_id)
                continue
            result = call(runtime, session, tool_id, bench.samples(tool_id)[0])
            yield _judge_in_memory(result, tool_id)


def _judge_in_memory(result: ToolResult, tool_id: str) -> Result:
    failure = result.failure
    if failure is None:
        return ok(tool=tool_id)
    if failure.kind is StructuredFailureKind.UNSUPPORTED_HOST:
        return ok("it refuses a runtime in memory", tool=tool_id)
    return bad(f"in memory: {failure}", tool=tool_id)


def _ids(runtime: object) -> set[str]:
    return {tool.id for tool in runtime.tools.list(limit=1000)}  # type: ignore[attr-defined]


@frozen(kw_only=True)
class _Held:
    """What a process holds: its threads, open descriptors and children."""

    threads: frozenset[str]
    descriptors: int
    children: frozenset[int]

    def beyond(self, before: _Held) -> list[str]:
        """Say what came to this since an earlier look."""
        found = [f"the thread {name}" for name in sorted(self.threads - before.threads)]
        found += [f"the process {pid}" for pid in sorted(self.children - before.children)]
        more = self.descriptors - before.descriptors
        return found + ([f"{more} open descriptors"] if more > 0 else [])


def nothing_leaks(bench: Bench) -> Iterator[Result]:
    """After calls and closing, no thread, descriptor or process is left."""
    _use(bench)
    before = _held()
    _use(bench)
    deadline = time.monotonic() + SETTLE_S
    while (left := _held().beyond(before)) and time.monotonic() < deadline:
        time.sleep(0.05)
    yield bad(f"left after close: {', '.join(left)}") if left else ok()


def _use(bench: Bench) -> None:
    with bench.open() as runtime:
        session = bench.session(runtime)
        for tool_id in bench.tools:
            for arguments in bench.samples(tool_id):
                call(runtime, session, tool_id, arguments)


def _held() -> _Held:
    gc.collect()
    return _Held(
        threads=frozenset(f"{t.name} ({t.ident})" for t in threading.enumerate()),
        descriptors=len(os.listdir(_DESCRIPTORS)) if _DESCRIPTORS.is_dir() else 0,  # noqa: PTH208
        children=_children(),
    )


def _children() -> frozenset[int]:
    """Return the children of this process, where the system tells."""
    found: set[int] = set()
    for children in Path("/proc/self/task").glob("*/children"):
        # A thread may end while its list is read.
        with contextlib.suppress(OSError):
            found.update(map(int, children.read_text().split()))
    return frozenset(found)
