"""The command as a host: opens the runtime for the person at the prompt."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import NO_WORKSPACE, Setup
from holon_core.errors import StoreError
from holon_core.records.words import READ_ONLY, Authority, Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import ModuleType

    from holon_cli.progressing import LiveProgress
    from holon_core.records.caller import CallerContext
    from holon_core.records.operation import Operation
    from holon_core.runtime import Runtime

APP = "cli"


class Host:
    """An open runtime and the caller that the person at the prompt is."""

    def __init__(
        self, runtime: Runtime, caller: CallerContext, live: AbstractContextManager[None]
    ) -> None:
        self.runtime = runtime
        self.caller = caller
        self._live = live

    def dispatch(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer an operation; whoever is at the prompt holds every authority."""
        with self._live:
            return self.runtime.dispatch(
                method, params, caller=self.caller, authorities=frozenset(Authority)
            )


class Wanted(Enum):
    """What a command wants of the storage root; only one that writes makes it."""

    WRITE = "write"
    READ = "read"
    RECORDS = "records"


# What these read was recorded before, so that a root that is not there is a mistake.
RECORDED = frozenset({"evidence", "execution-approval", "workspace"})


def wanted_by(row: Operation) -> Wanted:
    """Tell what the command of an operation wants of the storage root."""
    if Effect.HOST_STATE_WRITE in row.effects:
        return Wanted.WRITE
    if row.noun in RECORDED:
        return Wanted.RECORDS
    # What does more than read leaves evidence, so the root is made for it, too.
    return Wanted.READ if row.effects <= READ_ONLY else Wanted.WRITE


@contextmanager
def storage_root(given: str | None, wanted: Wanted) -> Iterator[Path]:
    """Give the storage root; to read where there is none, one that is thrown away.

    Raises:
        StoreError: What is wanted was recorded, and there is no store.
    """
    from holon_core.runtime import default_root

    root = Path(given) if given else default_root()
    if wanted is Wanted.WRITE or (wanted is Wanted.READ and os.path.lexists(root)):
        yield root
    elif wanted is Wanted.READ:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="holon-") as scratch:
            yield Path(scratch).resolve() / "root"
    elif os.path.lexists(root / "holon.db"):
        yield root
    else:
        text = f"there is no storage root at {root}; name one by --root or HOLON_ROOT"
        raise StoreError("store_unavailable", text)


@contextmanager
def opened(
    setup: Setup, wanted: Wanted = Wanted.WRITE, *, live: LiveProgress | None = None
) -> Iterator[Host]:
    """Open the runtime as the options say, and close it in the end.

    Args:
        setup: The options.
        wanted: What the command wants of the storage root.
        live: Shows how far an operation is while it runs.

    Raises:
        StoreError: The store cannot be opened, or is not there.
        Rejected: ``holon.toml`` or a tool is refused.
        Misuse: The application's name is not usable.
        Refused: The workspace is not there.
    """
    from holon_core.runtime import Runtime

    actor = setup.actor or os_user()
    tools = [] if setup.tools is None else load_tools(setup.tools)
    options: dict[str, Any] = {"app": setup.app or APP, "tools": tools, "operator": actor}
    if live is not None:
        options["progress"] = live.report
    with storage_root(setup.root, wanted) as root, Runtime.open(root, **options) as runtime:
        yield Host(runtime, caller_of(runtime, setup, actor), live or nullcontext())


def caller_of(runtime: Runtime, setup: Setup, actor: str) -> CallerContext:
    """Return the caller that the options describe.

    Raises:
        Refused: The workspace is not there.
    """
    return runtime.session(
        principal=actor,
        workspace=_workspace(runtime, setup.workspace),
        role=setup.role,
        profile=setup.profile,
        plan_step=setup.plan_step,
        run=setup.run,
    ).caller


def os_user() -> str:
    """Return who the operating system says is at the prompt."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def _workspace(runtime: Runtime, given: str | None) -> str | None:
    if given == NO_WORKSPACE:
        return None
    if given is not None:
        return given
    found = runtime.workspaces.containing(Path.cwd())
    return None if found is None else found.id


def load_tools(where: str) -> list[Callable[..., Any]]:
    """Import a file or a module, and return its functions marked ``@holon.tool``.

    Args:
        where: Path of a Python file (a name ending in ``.py`` or holding a separator), or the
            name of a module that can be imported.

    Raises:
        click.UsageError: It cannot be imported, or marks nothing.
    """
    from holon_core.functions.decorator import options_of

    said = _said(where)
    try:
        module = _imported(where, said)
    except (click.ClickException, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise click.UsageError(f"{said}: {_told(error)}") from None
    marked = [
        value
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and options_of(value) is not None
    ]
    if not marked:
        raise click.UsageError(f"{said}: no function in it is marked @holon.tool")
    return marked


def _said(where: str) -> str:
    """Name what stated a place: who set the variable once has forgotten it."""
    import os

    return f"HOLON_TOOLS={where}" if os.environ.get("HOLON_TOOLS") == where else f"--tools {where}"


def _imported(where: str, said: str) -> ModuleType:
    from importlib import import_module
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(where)
    if path.suffix != ".py" and path.name == where:
        sys.path.insert(0, str(Path.cwd()))
        return import_module(where)
    if not path.is_file():
        raise click.UsageError(f"{said}: no such file")
    # Its folder is on the path, as when Python runs it, and for functions in own processes.
    sys.path.insert(0, str(path.resolve().parent))
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{said}: not a Python file")
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _told(error: BaseException) -> str:
    """Say what an import raised, and on which of its lines."""
    import traceback

    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if len(frames) > 2 else ""
    return f"{type(error).__name__}: {error}{place}"
