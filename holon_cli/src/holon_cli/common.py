"""The options that every command takes, and what they mean."""

from __future__ import annotations

import click
from attrs import frozen
from click.core import ParameterSource

NO_WORKSPACE = "-"
_PREFIX = "common_"


@frozen(kw_only=True)
class Setup:
    """Where and as whom the command opens the door; ``None`` is what is not said."""

    root: str | None = None
    workspace: str | None = None
    role: str | None = None
    profile: str | None = None
    plan_step: str | None = None
    run: str | None = None
    actor: str | None = None
    tools: str | None = None
    app: str | None = None

    @classmethod
    def of(cls, context: click.Context) -> Setup:
        """Gather the options of a command and of the groups above it.

        The innermost that is said wins; a variable of the environment counts where none is.

        Raises:
            click.UsageError: An option is given and empty, which is not the same as left out.
        """
        said: dict[str, str] = {}
        usual: dict[str, str] = {}
        place: click.Context | None = context
        while place is not None:
            for key, value in place.params.items():
                if key.startswith(_PREFIX) and value is not None:
                    by_variable = place.get_parameter_source(key) is ParameterSource.ENVIRONMENT
                    gathered = usual if by_variable else said
                    gathered.setdefault(key.removeprefix(_PREFIX), value)
            place = place.parent
        given = {**usual, **said}
        given.pop("json", None)
        for name, value in given.items():
            if not value.strip():
                raise click.UsageError(
                    f"--{name.replace('_', '-')} is empty: leave it out, or say one", context
                )
        return cls(**given)


def common_options() -> list[click.Parameter]:
    """Make the options anew, for one command."""
    return [
        _option("root", "PATH", "Storage root; else HOLON_ROOT, else the platform's folder."),
        _option(
            "workspace",
            "PATH|ID",
            "Workspace; else the one that holds the current folder; - for none.",
        ),
        _option("role", "NAME", "Role of the caller."),
        _option("profile", "NAME", "Profile of the caller."),
        _option("plan_step", "NAME", "Step of the caller's plan, of its profile."),
        _option("run", "NAME", "Run that the calls belong to; an agent has a session for each."),
        _option("actor", "NAME", "Who calls and decides; else the user of the operating system."),
        _option(
            "tools",
            "FILE|MODULE",
            "Register the functions marked @holon.tool in it; else HOLON_TOOLS.",
            env="HOLON_TOOLS",
        ),
        _option(
            "app",
            "NAME",
            "Register them as host.NAME/…, as the application does; else HOLON_APP, else cli.",
            env="HOLON_APP",
        ),
        click.Option(
            ["--json", f"{_PREFIX}json"],
            is_flag=True,
            default=None,
            help="Write one JSON document for programs.",
        ),
    ]


def _option(name: str, metavar: str, text: str, *, env: str | None = None) -> click.Option:
    shown = f"--{name.replace('_', '-')}"
    return click.Option([shown, f"{_PREFIX}{name}"], metavar=metavar, help=text, envvar=env)
