"""The tree of commands: nouns and verbs from the operations table, and those without a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import common_options
from holon_cli.helping import HelpfulGroup, write

if TYPE_CHECKING:
    from holon_core.records.operation import Operation

NOUNS = {
    "runtime-tool": "Tools: list, read, call, dry run, explain, release",
    "runtime-capability": "Find tools for a request, and what would block them",
    "skill": "Imported skills: import, list, show, approve",
    "skill-source": "Where imported skills come from",
    "runtime-skill": "Load the instructions of a skill",
    "execution-approval": "Approvals and held calls: ask, list, decide, grant, wait",
    "agent-profile": "Agent profiles: what an agent is, may use, and how it ends",
    "agent-session": "Sessions of agents: state, counters, outputs",
    "structured-output": "Structured output: the classes there are, and their gates",
    "frozen-tool-proposal": "Frozen tools: propose, validate, promote, block, compare",
    "evidence": "Evidence: list, read, verify, export",
    "policy": "What policy decides, and why",
    "workspace": "Workspaces of this storage root",
    "plugin": "Plugins, active and quarantined",
    "lane": "Lanes of one's own: begin one, check one",
    "protocol": "The operations themselves",
}
# Those of the lanes that the command comes with, by what brings each.
LANE_NOUNS: Mapping[str, tuple[str, str]] = {
    "script-artifact": ("holon_script_tools", "Scripts as frozen tools: judge, propose, try, list"),
    "rust-code-tool": (
        "holon_rust_tools",
        "Compiled Rust tools: begin, propose, build, test",
    ),
    "crystallized-capability": ("holon_elegy", "Active tools as portable definitions: out and in"),
    "agent-capability-profile": ("holon_elegy", "Agent profiles of Elegy: import, export"),
    "plugin-package": (
        "holon_plugin_packages",
        "Packages of capabilities: register, import",
    ),
    "adapter": (
        "holon_adapters",
        "Operations of HTTP APIs: register, bind",
    ),
    "memory": ("holon_builtin_memory", "What a workspace remembers: search, write, list"),
    "workflow-definition": ("holon_workflows", "Workflows: keep a definition, check it, show it"),
    "workflow-run": (
        "holon_workflows",
        "Runs of workflows: start, follow, schedule, cancel",
    ),
    "workflow-step": ("holon_workflows", "Steps of a run: list, decide what stands still"),
    "workflow-event": ("holon_workflows", "What happened in a run, event by event"),
    "workflow-evidence": ("holon_workflows", "The evidence of a run and of its steps"),
    "human-gate": (
        "holon_workflows",
        "Questions that wait for a person: list, answer",
    ),
    "target-descriptor": ("holon_workflows", "What bridges reach: places outside of Holon"),
    "surface-map": ("holon_workflows", "What a target shows and takes, for bridges"),
    "bridge-binding": ("holon_workflows", "Which workflow steps a bridge serves, and where"),
    "bridge-session": ("holon_workflows", "Sessions of bridges with their targets"),
    "bridge": ("holon_workflows", "Whether bridges are ready, and what they lack"),
    "mcp-server": ("holon_mcp", "MCP servers: probe, register, accept, serve"),
}
ALIASES = {
    "tool": "runtime-tool",
    "approval": "execution-approval",
    "frozen-tool": "frozen-tool-proposal",
    "mcp": "mcp-server",
}
VERB_ALIASES = {"show": "read"}
# Short for a verb of one noun.
SHORT_VERBS = {("skill", "approve"): "approve-execution"}


def _watch() -> click.Command:
    from holon_cli.watching import watch_command

    return watch_command()


def _doctor() -> click.Command:
    from holon_cli.doctor import doctor_command

    return doctor_command()


def _demo() -> click.Command:
    from holon_cli.demo.command import demo_command

    return demo_command()


def _completion() -> click.Command:
    from holon_cli.completing import completion_command

    return completion_command()


def _lane_new() -> click.Command:
    from holon_cli.lane import new_command

    return new_command()


def _lane_check() -> click.Command:
    from holon_cli.lane import check_command

    return check_command()


def _import_elegy() -> click.Command:
    from holon_cli.elegy_import import import_command

    return import_command()


def _serve() -> click.Command:
    from holon_cli.serving import serve_command

    return serve_command()


def _mcp_probe() -> click.Command:
    from holon_cli.mcp_probing import probe_command

    return probe_command()


def _mcp_serve() -> click.Command:
    from holon_cli.mcp_serving import serve_command

    return serve_command()


def _follow() -> click.Command:
    from holon_cli.following import follow_command

    return follow_command()


def _rust_new() -> click.Command:
    from holon_cli.rust_new import new_command

    return new_command()


# What the command alone has under the noun of a lane, where that lane is installed.
OF_LANES: Mapping[tuple[str, str], Callable[[], click.Command]] = {
    ("rust-code-tool", "new"): _rust_new,
}

# Commands that are no operations: each belongs to a person, a shell or the machine.
COMMAND_ONLY: Mapping[tuple[str, ...], tuple[str, Callable[[], click.Command]]] = {
    ("approval", "watch"): ("Walk through the calls that wait for a person", _watch),
    ("completion",): ("Print the script that completes the command in a shell", _completion),
    ("demo",): ("See the guarded door at work on the folder you stand in", _demo),
    ("lane", "new"): ("Write a complete small lane into a new folder", _lane_new),
    ("lane", "check"): ("Run the conformance suite on an installed lane", _lane_check),
    ("mcp", "probe"): ("Ask an MCP server what it offers, calling nothing", _mcp_probe),
    ("mcp", "serve"): ("Serve the governed catalogue to MCP clients", _mcp_serve),
    ("doctor",): ("Say what is installed, what is missing, and how to get it", _doctor),
    ("skill", "import-elegy"): ("Import Elegy definitions from files and folders", _import_elegy),
    ("workflow-run", "follow"): ("Serve a run, and show what happens in it", _follow),
    ("serve",): ("Serve JSON-RPC 2.0 on standard input and output", _serve),
}


def about(noun: str, rows: Sequence[Operation]) -> str:
    """Say in a sentence what a noun of a lane is for: of a stranger's, which verbs it has."""
    if noun in LANE_NOUNS:
        return LANE_NOUNS[noun][1]
    return f"What a plugin adds as {noun}: {', '.join(row.verb for row in rows)}"


def installed(module: str) -> bool:
    """Tell whether a distribution is here, without importing it."""
    from importlib.util import find_spec

    return find_spec(module) is not None


class Verbs(HelpfulGroup):
    """The verbs of one noun: of the core's table, or of rows that a plugin offers."""

    def __init__(
        self, noun: str, *, offered: tuple[Operation, ...] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.noun = noun
        self._offered = offered

    def _rows(self) -> dict[str, Operation]:
        if self._offered is not None:
            return {row.verb: row for row in self._offered}
        from holon_core.operations.table import ROWS

        return {row.verb: row for row in ROWS if row.noun == self.noun}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the verbs in the order of the table."""
        return [*self._rows(), *self._only()]

    def _only(self) -> dict[str, Callable[[], click.Command]]:
        names = {self.noun, *(alias for alias, noun in ALIASES.items() if noun == self.noun)}
        own = {
            path[1]: make
            for path, (_, make) in COMMAND_ONLY.items()
            if len(path) > 1 and path[0] in names
        }
        if self._offered is not None:
            of_lane = {verb: make for (noun, verb), make in OF_LANES.items() if noun == self.noun}
            return {**own, **of_lane}
        return own

    def _granted(self, ctx: click.Context, verb: str) -> Operation | None:
        """Find a row that a plugin brings under a noun of the core's."""
        from holon_core.operations.offered import GRANTED

        if f"{self.noun}/{verb}" not in GRANTED or ctx.resilient_parsing:
            return None
        from holon_cli.offered import rows_of

        return next((row for row in rows_of(self.noun, ctx, ()) if row.verb == verb), None)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a verb."""
        only = self._only().get(cmd_name)
        if only is not None:
            return only()
        rows = self._rows()
        full = SHORT_VERBS.get((self.noun, cmd_name), VERB_ALIASES.get(cmd_name, cmd_name))
        row = rows.get(cmd_name) or rows.get(full) or self._granted(ctx, cmd_name)
        if row is None:
            return None
        if row.method == "runtime-tool/call":
            from holon_cli.calling import call_command

            return call_command(row)
        from holon_cli.calling import asking_command, makes_a_call

        if makes_a_call(row) and (row.noun not in NOUNS or "result" in row.response["properties"]):
            return asking_command(row)
        from holon_cli.derived import command_of

        return command_of(row)


class Root(HelpfulGroup):
    """The command itself: nouns, aliases, what is no operation, and nouns of plugins."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for a noun that is not the core's, plugins are asked."""
        name = args[0]
        if ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        from holon_cli.offered import rows_of

        noun = ALIASES.get(name, name)
        # What is no operation needs no plugin to be asked.
        alone = len(args) > 1 and (name, args[1]) in COMMAND_ONLY
        rows = () if alone else rows_of(noun, ctx, args[1:])
        if not rows and not alone:
            return super().resolve_command(ctx, args)
        text = about(noun, rows)
        other = f" `{noun}` is the same." if noun != name else ""
        group = Verbs(
            noun,
            offered=rows,
            name=name,
            help=f"{text}.{other}",
            short_help=text,
            params=common_options(),
        )
        return name, group, args[1:]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name what there is; aliases stand for their nouns."""
        short = {noun: alias for alias, noun in ALIASES.items()}
        nouns = [short.get(noun, noun) for noun in NOUNS]
        return [*nouns, *(path[0] for path in COMMAND_ONLY if len(path) == 1)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make a noun's group, or a command without one."""
        only = COMMAND_ONLY.get((cmd_name,))
        if only is not None:
            return only[1]()
        noun = ALIASES.get(cmd_name, cmd_name)
        if noun not in NOUNS:
            return None
        other = f" `{noun}` is the same." if cmd_name in ALIASES else ""
        return Verbs(
            noun,
            name=cmd_name,
            help=f"{NOUNS[noun]}.{other}",
            short_help=NOUNS[noun],
            params=common_options(),
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without making them, which would import what each needs."""
        short = {noun: alias for alias, noun in ALIASES.items()}
        rows = [(short.get(noun, noun), text) for noun, text in NOUNS.items()]
        lanes = list(_of_lanes().items())
        alone = [(path[0], text) for path, (text, _) in COMMAND_ONLY.items() if len(path) == 1]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        if lanes:
            with formatter.section("Of the lanes that are installed"):
                formatter.write_dl(lanes)
        with formatter.section("Without an operation"):
            formatter.write_dl(alone)


def _of_lanes() -> dict[str, str]:
    """Return the nouns of the lanes that are installed, by the shortest of their names."""
    short = {noun: alias for alias, noun in ALIASES.items()}
    return {
        short.get(noun, noun): text
        for noun, (module, text) in LANE_NOUNS.items()
        if installed(module)
    }


def root() -> click.Group:
    """Make the whole command."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Show the version.",
    )
    return Root(
        name="holon",
        help=(
            "Holon: one governed door for what agents, workflows and people may do.\n\n"
            "Exit codes: 0 completed, 1 failed, 2 usage, 3 blocked or waiting for a person, "
            "4 rejected."
        ),
        params=[version, *common_options()],
    )


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("holon-cli")
        except PackageNotFoundError:
            found = "unknown: not installed as a distribution"
        write(context, "version", found)
        context.exit()
