"""Commands that call a tool: derived ones, and asking at once where a person is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from holon_cli.derived import After, command_of, show

if TYPE_CHECKING:
    from holon_cli.host import Host
    from holon_cli.output import Output
    from holon_core.records.operation import Operation


def call_command(row: Operation) -> click.Command:
    """Make the command of ``runtime-tool/call``."""
    dry_run = click.Option(
        ["--dry-run"],
        is_flag=True,
        help="Show the exact request instead; nothing starts. --key and --definition not with it.",
    )

    return command_of(row, extra=[dry_run], after=_asking(row))


def asking_command(row: Operation) -> click.Command:
    """Make the command of a plugin's row that calls a tool and answers its result."""
    return command_of(row, after=_asking(row))


def _asking(row: Operation) -> After:
    def ask(host: Host, out: Output, options: Mapping[str, Any], answer: Any) -> int | None:
        from holon_cli.keys import has_person

        rehearsed = options.get("dry_run")
        if answer.get("held") is None or rehearsed or out.for_programs or not has_person():
            return None
        return _asked(row, host, out, answer)

    return ask


def _asked(row: Operation, host: Host, out: Output, answer: Any) -> int | None:
    from holon_cli.asking import Answer, Desk
    from holon_cli.people import stderr_console

    decided = Desk(host, stderr_console()).ask(answer["held"])
    if decided.answer in (Answer.LEFT, Answer.QUIT):
        return show(row, {**answer, "held": decided.call_id}, out)
    # What came of it is shown as any result: after a denial that is the refusal.
    return show(row, host.dispatch("runtime-tool/release", {"call_id": decided.call_id}), out)
