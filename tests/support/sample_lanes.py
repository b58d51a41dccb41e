"""What tests of lanes share: small lanes made of records, and generated installed distributions."""

from __future__ import annotations

import importlib
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

import distributions
import holon_core as holon
from holon_core.plugins.metadata import installed
from holon_core.records.lane import CapabilityLane, LaneExecutor
from holon_core.records.outcome import ExecutorOutcome, completed
from holon_core.records.skill import SkillSourceDescriptor, SkillSourceKind
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import Effect, Origin, Posture

CORE = distributions.read_table().version
FITS = f"holon-core>={CORE},<{distributions.read_table().next_version}"


def tool(tool_id: str, **changes: Any) -> RuntimeToolDescriptor:
    """Make a tool of a lane of its own kind, without effects."""
    source, _, name = tool_id.partition("/")
    made = RuntimeToolDescriptor(
        id=tool_id,
        lane=source,
        origin=Origin.PLUGIN,
        posture=Posture.LANE_LIVE,
        version="1",
        name=name,
        description=f"{name} of {source}",
        input_schema={"type": "object", "additionalProperties": False},
        effects=frozenset({Effect.NONE}),
    )
    return evolve(made, **changes)


class Echo:
    """An executor that says which tool it ran."""

    def execute(self, call: Any) -> ExecutorOutcome:
        return completed({"tool": call.tool.id})

    def preview(self, call: Any) -> Mapping[str, Any]:
        return {"tool": call.tool.id}


class Source:
    """A source of definitions that a test may change; it counts its readings."""

    def __init__(
        self, source: str, definitions: Any = (), *, origin: Any = Origin.PLUGIN, signal: Any = ""
    ) -> None:
        self.descriptor = SkillSourceDescriptor(id=source, kind=SkillSourceKind.LANE, origin=origin)
        self.definitions = definitions
        self.said = signal
        self.readings = 0

    def signal(self) -> Any:
        return self.said

    def read(self) -> Iterable[Any]:
        self.readings += 1
        found: Any = self.definitions
        return found() if callable(found) else found  # type: ignore[no-any-return]


class Lane:
    """A plugin object: one lane kind, one source and its executor, all of one name."""

    def __init__(self, name: str, *tools: str, **options: Any) -> None:
        self.name = name
        self.executor = options.pop("executor", Echo())
        self.lane = CapabilityLane(kind=name, postures=frozenset({Posture.LANE_LIVE}), **options)
        self.source = Source(name, [tool(f"{name}/{each}") for each in tools])

    @holon.hookimpl
    def holon_capability_lanes(self, host: Any) -> Iterable[Any]:
        return [self.lane]

    @holon.hookimpl
    def holon_skill_sources(self, host: Any) -> Iterable[Any]:
        return [self.source]

    @holon.hookimpl
    def holon_executors(self, host: Any) -> Iterable[Any]:
        return [LaneExecutor(source=self.name, executor=self.executor)]


def plugin(name: str, **hooks: Callable[..., Any]) -> Any:
    """Make a plugin object of hook functions, each without ``holon_`` in front."""
    members = {
        f"holon_{hook}": staticmethod(holon.hookimpl(function)) for hook, function in hooks.items()
    }
    return type("Plugin", (), {"name": name, **members})()


class Site:
    """A folder of generated distributions, as an installer leaves them; first on the path.

    Args:
        folder: Where to make it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # What is installed where the suite runs is hidden: the first of a name counts.
        for each in installed():
            self.metadata(each.name, each.version)
        self.metadata("holon-core", CORE, requires=())

    def metadata(
        self,
        name: str,
        version: str = "1.0",
        *,
        requires: Iterable[str] = (FITS,),
        entry_points: str = "",
    ) -> Path:
        """Write the metadata of a distribution, instead of any before; return its folder."""
        stem = name.replace("-", "_")
        for old in self.folder.glob(f"{stem}-*.dist-info"):
            shutil.rmtree(old)
        info = self.folder / f"{stem}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        head += [f"Requires-Dist: {each}" for each in requires]
        text = "\n".join([*head, "", "A description: of any length.", ""])
        (info / "METADATA").write_text(text, encoding="utf-8")
        if entry_points:
            (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        importlib.invalidate_caches()
        return info

    def add(
        self,
        name: str,
        code: str = "",
        *,
        version: str = "1.0",
        requires: Iterable[str] = (FITS,),
        points: Mapping[str, str] | None = None,
    ) -> str:
        """Install a distribution of one module; return the module's name.

        Args:
            name: Its name.
            code: The module's source; a lane with the tool ``say`` where none is given.
            version: Its version.
            requires: Its requirements.
            points: Plugin names and objects; the module, under the distribution's name, where
                none are given.
        """
        module = name.replace("-", "_").replace(".", "_")
        if name.startswith("holon-"):
            # Not the name of a package that other tests may have imported.
            module = f"sample_{module}"
        source = textwrap.dedent(code) if code else lane_code(name)
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")
        chosen = {name: module} if points is None else points
        lines = [f"{plugin_name} = {value}" for plugin_name, value in chosen.items()]
        text = "\n".join(["[holon]", *lines, ""])
        self.metadata(name, version, requires=requires, entry_points=text)
        return module


def lane_code(name: str) -> str:
    """Return the source of a module that is a lane with the tool ``say``."""
    return textwrap.dedent(
        f"""
        import holon_core as holon

        @holon.hookimpl
        def holon_capability_lanes(host):
            from sample_lanes import Lane
            return Lane({name!r}).holon_capability_lanes(host)

        @holon.hookimpl
        def holon_skill_sources(host):
            from sample_lanes import Source, tool
            return [Source({name!r}, [tool({name + "/say"!r})])]

        @holon.hookimpl
        def holon_executors(host):
            from sample_lanes import Lane
            return Lane({name!r}).holon_executors(host)
        """
    )


def problems(rt: Any, name: str) -> str:
    """Return all that is reported of a plugin as one text."""
    return " | ".join(p for each in rt.plugins.list() if each.name == name for p in each.problems)


def ids(rt: Any) -> list[str]:
    """Return the ids of all tools."""
    return [each.id for each in rt.tools.list(limit=1000)]
