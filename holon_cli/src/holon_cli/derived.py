"""Commands derived from the operations table: options from the request schema of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import Setup, common_options
from holon_cli.drawing import SVG, draws, svg_option, written
from holon_cli.exits import of_answer
from holon_cli.helping import HelpfulCommand
from holon_cli.host import Host, opened, wanted_by
from holon_cli.naming import whole_id
from holon_cli.progressing import LiveProgress
from holon_cli.values import JsonFile, JsonParam, pairs

if TYPE_CHECKING:
    from holon_cli.output import Output
    from holon_core.records.operation import Operation

# A parameter of these names takes the value of the common option, where that is given.
SHARED = ("workspace", "role", "profile")
ARGUMENTS = "arguments"
_PAIRS = "argument_pairs"
After = Callable[[Host, "Output", Mapping[str, Any], Any], int | None]


def command_of(
    row: Operation, *, extra: list[click.Parameter] | None = None, after: After | None = None
) -> click.Command:
    """Make the command of one row.

    Args:
        row: A row of the operations table.
        extra: Options that only the command has.
        after: Called with host, output, the options and the answer; an exit code from it says
            that it showed the answer itself.
    """
    extras = [param.name for param in extra or () if param.name]
    own = [*parameters(row), *(extra or ())]
    flags = {flag for param in own for flag in param.opts}

    @click.pass_context
    def run(context: click.Context, /, **given: Any) -> int:
        out: Output = context.obj
        setup = Setup.of(context)
        options = {key: given[key] for key in extras}
        live = None if out.for_programs else LiveProgress()
        with opened(setup, wanted_by(row), live=live) as host:
            params = _params(row, given, setup, host)
            method = f"{row.noun}/dry-run" if options.get("dry_run") else row.method
            answer = host.dispatch(method, params)
            if draws(row):
                answer = written(answer, given[SVG])
            shown = after(host, out, options, answer) if after is not None else None
        return show(row, answer, out) if shown is None else shown

    return HelpfulCommand(
        name=row.verb,
        # An option of the row's own stands before the common one of its name.
        params=[*own, *(each for each in common_options() if each.opts[0] not in flags)],
        callback=run,
        help=row.doc,
        short_help=row.doc.partition(". ")[0].rstrip("."),
    )


def show(row: Operation, answer: Any, out: Output) -> int:
    """Write an answer, for programs or for people, and return the exit code."""
    if out.for_programs:
        out.document(answer)
    else:
        from holon_cli.people import stderr_console
        from holon_cli.presenting import present

        present(row, answer, out=out.console, notes=stderr_console())
        out.stream.flush()
    return of_answer(row.method, answer)


def parameters(row: Operation) -> list[click.Parameter]:
    """Make the options and positional arguments of a row."""
    required = set(row.request.get("required", ()))
    made: list[click.Parameter] = []
    for name, schema in row.request["properties"].items():
        if name == ARGUMENTS:
            continue
        if name in row.positional:
            made.append(_argument(name, schema, required=name in required))
        elif name not in SHARED:
            made.append(_option(name, schema, required=name in required, drawing=draws(row)))
    if ARGUMENTS in row.request["properties"]:
        made += _argument_parameters(row.request["properties"][ARGUMENTS])
    return made


def _argument(name: str, schema: Mapping[str, Any], *, required: bool) -> click.Argument:
    """Make a positional argument; one that is an object is the file that holds it."""
    is_file = schema.get("type") == "object"
    word = "JSON-FILE" if is_file else name.upper()
    return click.Argument(
        [name],
        metavar=word if required else f"[{word}]",
        required=required,
        type=JsonFile() if is_file else None,
    )


def _argument_parameters(schema: Mapping[str, Any]) -> list[click.Parameter]:
    return [
        click.Argument([_PAIRS], nargs=-1, metavar="[KEY=VALUE]..."),
        click.Option(
            ["--args", ARGUMENTS],
            type=JsonParam(),
            metavar="JSON|@FILE|-",
            help=f"{schema.get('description', '')} KEY=VALUE and KEY:=JSON add to them.",
        ),
    ]


def _option(
    name: str, schema: Mapping[str, Any], *, required: bool, drawing: bool = False
) -> click.Option:
    flag = "--" + name.replace("_", "-")
    text = schema.get("description", "")
    if drawing and name == SVG:
        return svg_option(text)
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if "default" in schema and kind != "boolean":
        text += f" Default {schema['default']}."
    if kind == "boolean":
        return click.Option([flag, name], is_flag=True, default=None, help=text)
    if kind == "array":
        return click.Option([flag, name], multiple=True, help=text)
    types: Mapping[Any, Any] = {"integer": click.INT, "number": click.FLOAT, "object": JsonParam()}
    chosen: Any = click.Choice(schema["enum"]) if "enum" in schema else types.get(kind)
    metavar = "JSON|@FILE|-" if kind == "object" else None
    return click.Option([flag, name], type=chosen, metavar=metavar, required=required, help=text)


def _params(row: Operation, given: Mapping[str, Any], setup: Setup, host: Host) -> dict[str, Any]:
    """Gather the parameters of a request; what was not said is left out."""
    properties = row.request["properties"]
    params = {
        name: list(value) if isinstance(value, tuple) else value
        for name in properties
        if (value := given.get(name)) not in (None, ())
    }
    if draws(row):
        params[SVG] = SVG in params
    for name in SHARED:
        if name in properties and getattr(setup, name) is not None:
            params[name] = getattr(host.caller, name)
    tool = params.get("tool")
    if isinstance(tool, str):
        params["tool"] = whole_id(tool, host)
    if ARGUMENTS in properties:
        arguments = _arguments(row, params, given[_PAIRS], host)
        if arguments is not None:
            params[ARGUMENTS] = arguments
    return params


def _arguments(
    row: Operation, params: Mapping[str, Any], words: tuple[str, ...], host: Host
) -> Any:
    whole = params.get(ARGUMENTS)
    if not words:
        return whole
    base, schema = _before(row, params, host)
    if whole is not None:
        base = whole
    if not isinstance(base, dict):
        raise click.UsageError("KEY=VALUE adds to an object, and --args is none")
    added = pairs(words, schema)
    twice = sorted(added.keys() & whole.keys()) if isinstance(whole, dict) else ()
    if twice:
        raise click.UsageError(f"{', '.join(twice)}: in --args, and given as KEY=VALUE too")
    return {**base, **added}


def _before(row: Operation, params: Mapping[str, Any], host: Host) -> tuple[Any, Any]:
    """Return what the words add to, and the schema that tells how to read them."""
    from holon_core.errors import Refused

    if "call_id" in row.request["properties"]:
        held = host.runtime.approvals.held_call(params["call_id"])
        return dict(held.arguments), held.tool.get("input_schema") or {}
    if "tool" not in params:
        return {}, {}
    try:
        return {}, host.runtime.tools.read(params["tool"]).input_schema
    except Refused:
        # The guarded call says, and records, that no such tool is there.
        return {}, {}
