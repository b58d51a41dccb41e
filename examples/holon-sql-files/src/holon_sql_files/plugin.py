"""What the lane offers: hook functions only, each importing what it needs when it is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holon_core import hookimpl

if TYPE_CHECKING:
    from holon_core import CapabilityLane, LaneExecutor, Operation, PluginHost, SkillSource

    from holon_sql_files.folder import Folder


@hookimpl
def holon_capability_lanes() -> Iterable[CapabilityLane]:
    """Offer the lane."""
    from holon_sql_files.tools import LANE

    return [LANE]


@hookimpl
def holon_skill_sources(host: PluginHost) -> Iterable[SkillSource]:
    """Offer a tool for each sound SQL file of the configured folder."""
    from holon_sql_files.tools import Source

    return [Source(_folder(host), host.logger)]


@hookimpl
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs the files."""
    from holon_core import LaneExecutor

    from holon_sql_files.executor import Executor
    from holon_sql_files.tools import SOURCE

    return [LaneExecutor(source=SOURCE, executor=Executor(_folder(host)), self_limiting=True)]


@hookimpl
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer the operation that lists the files and what is wrong with them."""
    from holon_sql_files.operation import files_operation

    return [files_operation(_folder(host))]


def _folder(host: PluginHost) -> Folder:
    from holon_sql_files.folder import Folder

    return Folder(host.config.get("folder"))
