"""`holon completion`: the script that teaches a shell the command."""

from __future__ import annotations

import click

from holon_cli.common import common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand, write

VARIABLE = "_HOLON_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
DOC = """Print the script that completes the command in a shell.

\b
bash: eval "$(holon completion bash)"
zsh:  eval "$(holon completion zsh)"
fish: holon completion fish | source"""


def completion_command() -> click.Command:
    """Make the command."""

    @click.pass_context
    def run(context: click.Context, /, *, shell: str, **_: object) -> int:
        from click.shell_completion import get_completion_class

        made = get_completion_class(shell)
        assert made is not None, "click knows the shells that are offered"
        script = made(context.find_root().command, {}, "holon", VARIABLE)
        # `source` would start bash to look at its version.
        write(context, "script", (script.source_template % script.source_vars()).strip())
        return Exit.COMPLETED

    return HelpfulCommand(
        name="completion",
        params=[click.Argument(["shell"], type=click.Choice(SHELLS)), *common_options()],
        callback=run,
        help=DOC,
        short_help="Print the script that completes the command in a shell",
    )
