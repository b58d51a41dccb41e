"""Help that is one JSON document where a program asks for it."""

from __future__ import annotations

from typing import Any

import click


class _Helpful(click.Command):
    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Give ``--help`` an answer for programs."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


class HelpfulCommand(_Helpful):
    """A command."""


class NothingAsked(click.UsageError):
    """No command was named: the text is the help."""


class HelpfulGroup(_Helpful, click.Group):
    """A group of commands; without one of them it shows what there is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            callback=_nothing_asked,
            invoke_without_command=True,
            no_args_is_help=False,
            **options,
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt ends it without click's own line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None


@click.pass_context
def _nothing_asked(context: click.Context, /, **_: object) -> None:
    if context.invoked_subcommand is None:
        raise NothingAsked(context.get_help(), context)


def _show_help(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        write(context, "help", context.get_help())
        context.exit()


def write(context: click.Context, name: str, text: str) -> None:
    """Write a text to standard output: as it is, or as a member of one JSON document."""
    out = context.obj
    if out.for_programs:
        out.document({name: text})
    else:
        out.write(text)
