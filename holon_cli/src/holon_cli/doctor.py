"""`holon doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict

from holon_cli.checkup import Check, State, guarded, machine, storage
from holon_cli.common import Setup, common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand

if TYPE_CHECKING:
    from holon_cli.output import Output

DOC = (
    "Look at Python, SQLite, the schema engine, extras, the storage root with its store and "
    "chains, and plugins. It ends with 1 where something is a problem; what is merely absent is "
    "none. A storage root that is not there yet is not made."
)
_VALUES = {"store.journal": "store_journal", "lane": "lanes"}


def doctor_command() -> click.Command:
    """Make the command."""
    config = click.Option(
        ["--config"], is_flag=True, help="Show each setting, and where it comes from."
    )

    @click.pass_context
    def run(context: click.Context, /, *, config: bool, **_: object) -> int:
        from holon_core.runtime import default_root

        setup = Setup.of(context)
        root = Path(setup.root) if setup.root else default_root()
        if config:
            return _show_config(root, context.obj)
        checks = [
            *guarded("machine", machine),
            *guarded("storage root", lambda: storage(setup, root)),
        ]
        return _show(checks, context.obj)

    return HelpfulCommand(
        name="doctor",
        params=[config, *common_options()],
        callback=run,
        help=DOC,
        short_help="Say what is installed, what is missing, and how to get it",
    )


def _show(checks: list[Check], out: Output) -> int:
    problems = [check for check in checks if check.state is State.PROBLEM]
    rows = [{**asdict(check), "state": check.state.value} for check in checks]
    if out.for_programs:
        out.document({"status": "failed" if problems else "completed", "checks": rows})
    else:
        from holon_cli.people import show_table

        show_table(out.console, ("state", "name", "detail", "remedy"), rows)
    return Exit.FAILED if problems else Exit.COMPLETED


def _show_config(root: Path, out: Output) -> int:
    from holon_core.config import load

    settings = load(root if root.is_dir() else None, os.environ)
    rows = [
        {"setting": key, "value": _value(settings, key), "source": source}
        for key, source in settings.sources.items()
    ]
    if out.for_programs:
        out.document({"root": str(root), "settings": rows})
    else:
        from holon_cli.people import show_table

        out.write(f"storage root {root}")
        show_table(out.console, ("setting", "value", "source"), rows)
    return Exit.COMPLETED


def _value(settings: Any, key: str) -> Any:
    from holon_core.operations.answers import to_json

    group, _, name = key.partition(".")
    if group == "limits":
        return getattr(settings.limits, name)
    value = getattr(settings, _VALUES.get(key, key))
    if isinstance(value, (str, int, float, type(None))):
        return to_json(value)
    return dict(value) if hasattr(value, "keys") else to_json(tuple(value))
