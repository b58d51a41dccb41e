"""The bench on which a lane is checked: its plugins, its definitions, runtimes that hold it."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.testing.naming import named
from holon_core.testing.sampling import sample_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holon_core.records.result import ToolResult
    from holon_core.runtime import Runtime
    from holon_core.session import Session

Arguments = Mapping[str, Any]
Calls = Mapping[str, "Arguments | Sequence[Arguments]"]
LOOK_S = 1.1
CANARY = "holon-canary-7f3a91c5e2"
PRINCIPAL = "lane-suite"
APPROVER = "lane-suite-approver"


def _nothing(*_: object) -> None:
    """Leave a workspace empty, a runtime as it opened, or a proposal as it is."""


@frozen(kw_only=True)
class Lane:
    """The lane to check, and what its author says of it.

    ``distribution`` is the name that its ids begin with; it is looked up among what is
    installed, unless ``plugin`` is given. ``samples`` are calls that complete, by tool id, one
    or several (an empty list: none); a tool that is not named gets one made of the values that
    its input schema states.
    ``failing`` are calls that the tool has to refuse, ``slow`` take longer than a second if
    nothing ends them, ``large`` make more output than 4 KiB. ``secrets`` names environment
    variables that hold secrets besides those of secret slots. ``prepare`` fills a fresh
    workspace; ``setup`` registers, in each runtime that was opened, what the lane itself does
    not define. ``config`` are settings of the runtime, as ``Runtime.open`` takes them.
    ``proposals`` are frozen tools of the lane's kind, each brought to Active in every runtime on
    disk; calls name them by their ``name``. ``build`` makes, of one that was proposed, what its
    kind has to have before it is validated: given a runtime, a session and the tool's id.
    ``unchecked`` says, by the name of a check, why this lane can have no calls for it; that is
    the reason of the rows that are skipped.
    """

    distribution: str
    plugin: object | None = None
    samples: Calls = field(factory=dict)
    failing: Calls = field(factory=dict)
    slow: Calls = field(factory=dict)
    large: Calls = field(factory=dict)
    secrets: Sequence[str] = ()
    prepare: Callable[[Path], None] = _nothing
    setup: Callable[[Runtime], None] = _nothing
    config: Mapping[str, Any] = field(factory=dict)
    proposals: Sequence[Mapping[str, Any]] = ()
    build: Callable[[Runtime, Session, str], None] = _nothing
    unchecked: Mapping[str, str] = field(factory=dict)

    def module(self) -> str | None:
        """Return the name of the plugin's module, ``None`` where it is an object of a test."""
        if self.plugin is None:
            points = _entry_points(self.distribution)
            return points[0].partition(":")[0] if points else None
        return self.plugin.__name__ if isinstance(self.plugin, ModuleType) else None


class Bench:
    """Opens runtimes with one lane and calls its tools, approving what waits for a person.

    Args:
        lane: What is checked.
        folder: An empty folder for storage roots and workspaces.
    """

    def __init__(self, lane: Lane, folder: Path) -> None:
        self.place = folder / "frozen-tools"
        self.lane = _with_ids(lane, self.place) if lane.proposals else lane
        self.folder = folder
        self._count = itertools.count(1)
        self._tools: dict[str, RuntimeToolDescriptor] | None = None

    @property
    def tools(self) -> dict[str, RuntimeToolDescriptor]:
        """The tools that a runtime accepts of this lane, by id."""
        if self._tools is None:
            self._tools = {}
            with self._open() as runtime:
                self._tools = {each.id: each for each in _all_tools(runtime)}
        return self._tools

    def samples(self, tool_id: str) -> tuple[Arguments, ...]:
        """Return the calls of a tool that are expected to complete; empty where none is known."""
        if tool_id in self.lane.samples:
            return calls_of(self.lane.samples, tool_id)
        made = sample_of(self.tools[tool_id].input_schema)
        return () if made is None else (made,)

    @contextmanager
    def open(self, *, in_memory: bool = False, frozen: bool = True) -> Iterator[Runtime]:
        """Open a runtime of its own with the lane and nothing else, its secrets set.

        Args:
            in_memory: Without a storage root.
            frozen: Bring the lane's proposals to Active, which runs their fixtures.
        """
        # The tools say which secrets they need.
        assert self.tools is not None
        with self._open(in_memory=in_memory, frozen=frozen) as runtime:
            yield runtime

    @contextmanager
    def _open(self, *, in_memory: bool = False, frozen: bool = True) -> Iterator[Runtime]:
        from holon_core.runtime import Runtime

        options: dict[str, Any] = {"config": {**self.lane.config}}
        if self.lane.plugin is None:
            options["discover"] = True
            options["config"]["plugins"] = [self.lane.distribution]
        else:
            options["discover"] = False
            options["plugins"] = [named(self.lane.plugin, self.lane.distribution)]
        with self._environment():
            if in_memory:
                opened = Runtime.in_memory(**options)
            else:
                opened = Runtime.open(self.folder / f"root-{next(self._count)}", **options)
            with opened as runtime:
                self.lane.setup(runtime)
                if self.lane.proposals and frozen and not in_memory:
                    freeze(runtime, self.place, self.lane)
                # What was registered is known from here on: no entry is read anew in a check.
                runtime._guard.learn(runtime._guard.revision)
                yield runtime

    @contextmanager
    def _environment(self) -> Iterator[None]:
        before = {name: os.environ.get(name) for name in self.canaries()}
        os.environ.update(dict.fromkeys(before, CANARY))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def canaries(self) -> set[str]:
        """Name the environment variables that hold the canary while a runtime is open."""
        slots = [slot for tool in (self._tools or {}).values() for slot in tool.secret_slots]
        bound = [slot.ref for slot in slots] + list(self.lane.config.get("secrets", {}).values())
        named_here = {ref.removeprefix("env:") for ref in bound if ref.startswith("env:")}
        return {*self.lane.secrets, *named_here}

    def session(self, runtime: Runtime, **limits: float) -> Session:
        """Open a session in a fresh workspace.

        Args:
            runtime: One of this bench's.
            limits: Ceilings of the workspace: ``timeout_s``, ``max_output_bytes``.
        """
        workspace = self.folder / f"workspace-{next(self._count)}"
        if self.lane.proposals:
            # They run in their own workspace alone.
            workspace = self.place
            _empty(workspace)
        else:
            workspace.mkdir(parents=True)
        self.lane.prepare(workspace)
        if limits:
            lines = "".join(f"{name} = {value}\n" for name, value in limits.items())
            with (workspace / "pyproject.toml").open("a", encoding="utf-8") as file:
                file.write(f"\n[tool.holon.limits]\n{lines}")
            if self.lane.proposals:
                # The settings of a workspace that was used before are looked at once a second.
                time.sleep(LOOK_S)
        return runtime.session(principal=PRINCIPAL, workspace=workspace)


def _with_ids(lane: Lane, place: Path) -> Lane:
    """Return a lane whose calls name frozen tools by id, in the workspace of a folder."""
    from holon_core.runtime import Runtime

    place.mkdir(parents=True)
    with Runtime.in_memory() as runtime:
        workspace = runtime.workspaces.open(place).id
    ids = {name: f"frozen.{workspace}/{name}~1" for name in (p["name"] for p in lane.proposals)}

    def named_by_id(calls: Calls) -> Calls:
        return {ids.get(name, name): given for name, given in calls.items()}

    return evolve(
        lane,
        samples=named_by_id(lane.samples),
        failing=named_by_id(lane.failing),
        slow=named_by_id(lane.slow),
        large=named_by_id(lane.large),
    )


def _empty(place: Path) -> None:
    for each in place.iterdir():
        each.unlink()


def freeze(runtime: Runtime, place: Path, lane: Lane) -> None:
    """Bring a lane's frozen tools to Active on the ordinary way, approved as somebody else."""
    # An earlier check may have left the limits that it called under.
    _empty(place)
    session = runtime.session(principal=PRINCIPAL, workspace=place)
    for proposal in lane.proposals:
        frozen_tools = runtime.tools.frozen
        record = frozen_tools.propose(
            proposal,
            caller=session.caller,
            origin=("crystallized", "the conformance suite"),
            # Its secrets are bound by the suite itself.
            sees_all=True,
        )
        lane.build(runtime, session, record.id)
        frozen_tools.validate(record.id, caller=session.caller)
        for _ in range(2):
            asked = frozen_tools.promote(record.id, session=session).result
            assert asked is not None
            assert asked.held is not None
            approve(runtime, asked.held)
            session.release(asked.held)


def call(runtime: Runtime, session: Session, tool_id: str, arguments: Arguments) -> ToolResult:
    """Call a tool; where the call is held, approve it as somebody else and release it."""
    result = session.call(tool_id, arguments)
    if result.held is None:
        return result
    approve(runtime, result.held)
    return session.release(result.held)


def approve(runtime: Runtime, held: str) -> None:
    """Approve a held call of the suite."""
    runtime.approvals.approve(held, by=APPROVER, reason="the conformance suite calls it")


def calls_of(calls: Calls, tool_id: str) -> tuple[Arguments, ...]:
    """Return the calls that are given for a tool, one or several, as a tuple."""
    given = calls.get(tool_id, ())
    return (given,) if isinstance(given, Mapping) else tuple(given)


def _all_tools(runtime: Runtime) -> Iterator[RuntimeToolDescriptor]:
    after = ""
    while page := runtime.tools.list(after=after, limit=1000):
        yield from page
        after = page[-1].id


def _entry_points(distribution: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import distribution as find

    try:
        points = find(distribution).entry_points
    except PackageNotFoundError:
        return []
    return [point.value for point in points if point.group == "holon"]
