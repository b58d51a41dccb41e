"""Commands that call a tool: derived ones, and asking at once where a person is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from holon_cli.derived import After, command_of, show
from holon_cli.exits import result_of

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
    """Make the command of a row that makes a guarded call and answers its result."""
    return command_of(row, after=_asking(row))


def makes_a_call(row: Operation) -> bool:
    """Tell whether a row's answer is, or has with it, the result of a call that may be held."""
    answers = row.response.get("properties", {})
    return "held" in answers or any(
        "held" in each.get("properties", {}) for each in answers.get("result", {}).get("anyOf", ())
    )


def _asking(row: Operation) -> After:
    def ask(host: Host, out: Output, options: Mapping[str, Any], answer: Any) -> int | None:
        from holon_cli.keys import has_person

        rehearsed, result = options.get("dry_run"), result_of(answer)
        if result.get("held") is None or rehearsed or out.for_programs or not has_person():
            return None
        return _asked(row, host, out, result)

    return ask


def _asked(row: Operation, host: Host, out: Output, answer: Any) -> int | None:
    from holon_cli.asking import Answer, Desk
    from holon_cli.people import stderr_console

    decided = Desk(host, stderr_console()).ask(answer["held"])
    if decided.answer in (Answer.LEFT, Answer.QUIT):
        return show(row, {**answer, "held": decided.call_id}, out)
    # What came of it is shown as any result: after a denial that is the refusal.
    return show(row, host.dispatch("runtime-tool/release", {"call_id": decided.call_id}), out)
