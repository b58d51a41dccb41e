"""The runtime: the one object that a host keeps."""

from __future__ import annotations

import atexit
import os
import re
import sys
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.errors import Misuse, Refused, RuntimeNotOpen
from holon_core.ids import new_id
from holon_core.names import (
    MAX_PATH,
    checked_caller,
    names,
    optional_name,
    required_text,
    several,
    usable_path,
)
from holon_core.opening import open_parts
from holon_core.parts import Parts
from holon_core.records.caller import CallerContext
from holon_core.records.words import Authority, Surface
from holon_core.session import Session
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from holon_core.agents.facet import Agents
    from holon_core.clock import Clock
    from holon_core.guard.approvals import Approvals
    from holon_core.guard.evidence_read import Evidence
    from holon_core.guard.workspaces import Workspaces
    from holon_core.plugins.facet import Plugins
    from holon_core.records.progress import Progress
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.skills.registry import Skills
    from holon_core.tools import Tools

_SURFACES = tuple(surface.value for surface in Surface)
APP_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Runtime:
    """A governed door on one storage root.

    Open it with ``Runtime.open`` or ``Runtime.in_memory``, as a context manager (``with`` or
    ``async with``) or with ``close()``. Calls go through ``session(…)``; what is not about
    calling is in the facets: ``tools``, ``approvals``, ``evidence``, ``workspaces``,
    ``skills``, ``plugins``, ``agents``. Safe for many threads; several processes may open one
    root.
    """

    def __init__(self, parts: Parts) -> None:
        if not isinstance(parts, Parts):
            raise Misuse("open a runtime with Runtime.open(root) or Runtime.in_memory()")
        self._parts = parts
        self._guard = parts.guard
        self._open = True
        _remember(self)

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        app: str = "app",
        tools: Iterable[Callable[..., Any]] = (),
        plugins: Sequence[object] = (),
        discover: bool = True,
        required_plugins: Sequence[str] = (),
        operator: str | None = None,
        clock: Clock | None = None,
        progress: Callable[[Progress], None] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Runtime:
        """Open a runtime on a storage root, made where nothing is there.

        Args:
            root: Folder of the store; else ``HOLON_ROOT``, else the platform's data folder.
            app: The application's name; its functions are ``host.<app>/<function>``.
            tools: Functions to register.
            plugins: Plugin objects, besides the installed ones.
            discover: Load installed plugins (entry points).
            required_plugins: Names without which every call is denied.
            operator: The one person of a terminal or notebook, who may approve own calls;
                evidence then says ``self_approved``.
            clock: Another clock, for tests.
            progress: Called with the progress of long work, from any thread.
            config: Settings that replace those of ``holon.toml`` and the environment.

        Raises:
            StoreError: The store cannot be opened; see its code.
            Rejected: ``holon.toml`` or a tool; with every finding.
            Misuse: ``app`` is not a usable name.
        """
        chosen = default_root() if root is None else Path(usable_path(root, "root"))
        return cls._start(
            chosen,
            app=app,
            tools=tools,
            plugins=plugins,
            discover=discover,
            required_plugins=required_plugins,
            operator=operator,
            clock=clock,
            progress=progress,
            config=config,
        )

    @classmethod
    def in_memory(
        cls,
        *,
        app: str = "app",
        tools: Iterable[Callable[..., Any]] = (),
        plugins: Sequence[object] = (),
        discover: bool = False,
        required_plugins: Sequence[str] = (),
        operator: str | None = None,
        clock: Clock | None = None,
        progress: Callable[[Progress], None] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Runtime:
        """Open a runtime that keeps all in memory, for tests and notebooks.

        Lanes that need a file system are refused (``unsupported_host``). The other arguments
        are those of ``open``.
        """
        return cls._start(
            None,
            app=app,
            tools=tools,
            plugins=plugins,
            discover=discover,
            required_plugins=required_plugins,
            operator=operator,
            clock=clock,
            progress=progress,
            config=config,
        )

    @classmethod
    def _start(
        cls,
        root: Path | None,
        *,
        app: str,
        tools: Iterable[Callable[..., Any]],
        progress: Callable[[Progress], None] | None,
        **options: Any,
    ) -> Runtime:
        if not _is_text(app) or not APP_NAME.fullmatch(app):
            raise Misuse("app is 1 to 64 characters of a-z 0-9 . _ -")
        tools = tuple(several(tools, "tools"))
        if progress is not None and not callable(progress):
            raise Misuse("progress is called with each report; give a function")
        runtime = cls(open_parts(root, app=app, **_checked(options)))
        runtime._guard.services.progress = progress
        try:
            for fn in tools:
                runtime.register(fn)
            runtime._parts.opened()
        except BaseException:
            runtime.close()
            raise
        return runtime

    def session(
        self,
        *,
        principal: str,
        workspace: str | os.PathLike[str] | None = None,
        role: str | None = None,
        profile: str | None = None,
        plan_step: str | None = None,
        run: str | None = None,
        on_behalf_of: str | None = None,
        surface: Surface = Surface.RUNTIME,
        trace_id: str | None = None,
    ) -> Session:
        """Open the door for one caller.

        Args:
            principal: Who calls, as the host's authentication states it.
            workspace: Id of a workspace, or the path of a folder, which is opened as one.
            role: Role of the caller; absent, it restricts nothing.
            profile: Id of an agent profile; absent, it restricts nothing. One that does not
                exist lets nothing run.
            plan_step: Step of the caller's plan.
            run: Groups calls whose effects add up for policy.
            on_behalf_of: For whom the principal acts.
            surface: Through which door the caller came.
            trace_id: For correlation only.

        Raises:
            Refused: ``workspace_unavailable`` or ``wrong_workspace``.
            WorkspaceInsideRoot: The workspace and the storage root overlap.
        """
        self._check_open()
        if not _is_text(surface) or surface not in _SURFACES:
            raise Misuse(f"surface is one of {', '.join(_SURFACES)}")
        caller = CallerContext(
            principal=principal,
            role=role,
            profile=profile,
            plan_step=plan_step,
            run=run,
            on_behalf_of=on_behalf_of,
            trace_id=trace_id,
            surface=Surface(surface),
        )
        # Before the folder: opening one as a workspace is kept, and nobody is nobody.
        checked_caller(caller)
        if profile is not None and run is None:
            # The limits of a profile hold for a run; one that is not named is of its own.
            caller = evolve(caller, run=new_id("n"))
        caller = evolve(caller, workspace=self._workspace(workspace))
        return Session(self._guard, caller, lambda: self._open, agents=lambda: self._parts.agents)

    def _workspace(self, workspace: str | os.PathLike[str] | None) -> str | None:
        if workspace is None:
            return None
        if isinstance(workspace, str):
            required_text(workspace, "workspace", MAX_PATH)
        if isinstance(workspace, str) and self.workspaces.find(workspace) is not None:
            return workspace
        if isinstance(workspace, str) and os.sep not in workspace and not Path(workspace).is_dir():
            from holon_core.records.failure import failure

            raise Refused(failure("wrong_workspace", f"no workspace {workspace}"))
        # What is a workspace already is not opened anew, so that nobody is asked about it.
        known = self.workspaces.at(workspace)
        return self.workspaces.open(workspace).id if known is None else known.id

    def register(self, fn: Callable[..., Any], /, **options: Any) -> RuntimeToolDescriptor:
        """Put a function behind the door, or replace the one of its id.

        Args:
            fn: A function, method, callable object or partial, sync or async.
            options: As ``holon.tool`` takes them; they replace those of the decorator.

        Returns:
            The descriptor, with its digest. Its warnings are in ``tools.findings(id)``.

        Raises:
            Rejected: With every finding; nothing was registered.
        """
        self._check_open()
        return self._parts.register(fn, options)

    def register_tools(
        self,
        tools: Any,
        /,
        *,
        effects: Mapping[str, Iterable[str]] | Iterable[str] | str | None = None,
        context: Any = None,
        **options: Any,
    ) -> tuple[RuntimeToolDescriptor, ...]:
        """Put tools of other frameworks behind the door: all that are given, or none.

        Args:
            tools: LangChain tools or toolkits, Pydantic AI tools or toolsets, OpenAI Agents
                function tools: one, or several in any mixture.
            effects: What they touch: for all of them, or by the tool's name. A tool without
                stays ``unknown`` and is never executed.
            context: What the framework hands to its tools: a ``RunnableConfig``, the ``deps`` of
                a run, or the ``context`` of a run.
            options: For all of them, as ``holon.tool`` takes them: ``approval``, ``risk_hints``,
                ``version``, ``timeout_s``, ``max_output_bytes``, ``idempotent``.

        Returns:
            Their descriptors, ``host.<app>/<name>``. Warnings are in ``tools.findings(id)``.

        Raises:
            Rejected: With every finding; nothing was registered.
            Misuse: An option or effect is not understood, or ``effects`` names no given tool.
        """
        self._check_open()
        return self._parts.register_tools(tools, effects=effects, context=context, options=options)

    def dispatch(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        caller: CallerContext,
        authorities: Iterable[Authority] = (Authority.CALLER,),
    ) -> Any:
        """Answer one operation of the table, as every protocol and the command do.

        Args:
            method: ``noun/verb``, as ``protocol/list`` names it.
            params: A JSON object; it never says who asks.
            caller: Who asks, as the host's authentication states it.
            authorities: What the caller may do here, by default only what callers may.

        Returns:
            JSON that fits the operation's response schema. A governed call that was refused or
            held is an answer, not an exception.

        Raises:
            Refused: ``not_allowed``, or why the operation was refused; ``arguments_invalid``
                where the parameters do not fit, with the path in its details.
            Rejected: With every finding.
            Misuse: No operation has this name, or the caller or an authority is none.

        Source: docs/reference/operations.md.
        """
        from holon_core.operations.dispatch import dispatch
        from holon_core.operations.door import Door, granted

        self._check_open()
        session = Session(
            self._guard,
            checked_caller(caller),
            lambda: self._open,
            agents=lambda: self._parts.agents,
        )
        door = Door(runtime=self, session=session, authorities=granted(authorities))
        return dispatch(door, method, params)

    def service(self, wanted: str | type[Any]) -> Any:
        """Return a service that a plugin offers.

        Args:
            wanted: Its name, or a type that exactly one service is an instance of.

        Raises:
            Refused: ``dependency_missing``: no active plugin offers it.
            Misuse: Several services are of the type.
        """
        self._check_open()
        return self._parts.services.find(wanted)

    @property
    def tools(self) -> Tools:
        """What is in the catalogue."""
        return self._parts.tools

    @property
    def approvals(self) -> Approvals:
        """Approvals and held calls."""
        return self._parts.approvals

    @property
    def evidence(self) -> Evidence:
        """Evidence: read, verify, export."""
        return self._parts.evidence

    @property
    def workspaces(self) -> Workspaces:
        """Workspaces of this root."""
        return self._guard.workspaces

    @property
    def plugins(self) -> Plugins:
        """Plugins: active, quarantined, missing."""
        return self._parts.plugins

    @property
    def skills(self) -> Skills:
        """Imported skills: sources, definitions, approvals of postures, bound executors."""
        return self._parts.skills

    @property
    def agents(self) -> Agents:
        """Agents: profiles, sessions, classes of what they answer, dialects of function calling."""
        return self._parts.agents

    def close(self) -> tuple[str, ...]:
        """End what this runtime started; a second call does nothing.

        Calls of other threads are given 3 s to end; those that go on are then cancelled and
        waited for 2 s more. Whatever still runs after that is recorded as interrupted.

        Returns:
            What cannot be ended: calls that went on, and names of threads in which tools
            ignored their limit.
        """
        if not self._open:
            return ()
        self._open = False
        # A process made by a fork has the calls of its parent in memory, and none of its threads.
        left = self._guard.running.close() if self._parts.same_process() else []
        return (*left, *self._parts.close())

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._check_open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def __del__(self) -> None:
        if getattr(self, "_open", False) and self._parts.same_process():
            warnings.warn(
                f"{self!r} was not closed; use it as a context manager or call close()",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            if not sys.is_finalizing():
                self.close()

    def __repr__(self) -> str:
        state = "open" if self._open else "closed"
        return f"<Runtime on {escape_unseen(str(self._parts.root or 'memory'))}, {state}>"

    def _check_open(self) -> None:
        if not self._open:
            raise RuntimeNotOpen("this runtime was closed; open another")


# Closed while the interpreter still works: after that nothing can be imported any more.
_open_runtimes: weakref.WeakSet[Runtime] = weakref.WeakSet()


def _remember(runtime: Runtime) -> None:
    """Have a runtime that nobody closes closed before the interpreter ends."""
    if not _open_runtimes:
        atexit.unregister(_close_all)
        atexit.register(_close_all)
    _open_runtimes.add(runtime)


def _close_all() -> None:
    for runtime in tuple(_open_runtimes):
        runtime.__del__()


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an opening, refused where they could only fail later."""
    optional_name(options["operator"], "operator")
    clock, config = options["clock"], options["config"]
    if clock is not None and not (hasattr(clock, "now") and hasattr(clock, "monotonic")):
        raise Misuse("clock has the methods now and monotonic, as holon_core.Clock says")
    if config is not None and not (isinstance(config, Mapping) and all(map(_is_text, config))):
        raise Misuse("config maps names of settings to values")
    named = names(options["required_plugins"], "required_plugins")
    return {
        **options,
        "plugins": tuple(several(options["plugins"], "plugins")),
        "required_plugins": named,
    }


def _is_text(key: object) -> bool:
    return isinstance(key, str)


def default_root() -> Path:
    """Return the storage root where none is given: ``HOLON_ROOT``, else the platform's."""
    given = os.environ.get("HOLON_ROOT")
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_data_dir("holon", appauthor=False))
