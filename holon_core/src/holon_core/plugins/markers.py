"""The markers of this project's hooks, and how an argument of one gets another name."""

import pluggy

PROJECT = "holon"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class RenamedArgument(DeprecationWarning):
    """Tells the author of a plugin that an argument of a hook has another name now.

    Args:
        hook: The hook.
        old: The name that goes away.
        new: The name that takes its place, with the same meaning.
        gone_in: The first version in which the old name is an error.
    """

    def __init__(self, hook: str, old: str, new: str, gone_in: str) -> None:
        super().__init__(hook, old, new, gone_in)
        self.hook, self.old, self.new, self.gone_in = hook, old, new, gone_in

    def __str__(self) -> str:
        return (
            f"{self.hook}: the argument {self.old} is called {self.new} now;"
            f" {self.old} is given until {self.gone_in}"
        )


class RetiredHook(DeprecationWarning):
    """Tells the author of a plugin that a hook goes away.

    Args:
        hook: The hook.
        instead: What to do instead, as a person reads it.
        gone_in: The first version that does not ask it any more.
    """

    def __init__(self, hook: str, instead: str, gone_in: str) -> None:
        super().__init__(hook, instead, gone_in)
        self.hook, self.instead, self.gone_in = hook, instead, gone_in

    def __str__(self) -> str:
        return f"{self.hook} is asked until {self.gone_in}; instead: {self.instead}"


def retired(hook: str, *, instead: str, gone_in: str) -> RetiredHook:
    """Go on asking a hook that goes away, and tell who implements it: ``warn_on_impl``.

    Args:
        hook: The hook.
        instead: What to do instead, as a person reads it.
        gone_in: The first version that does not ask it any more.

    Source: docs/lanes/how-a-hook-changes.md.
    """
    return RetiredHook(hook, instead, gone_in)


def renamed(hook: str, *, gone_in: str, **new_names: str) -> dict[str, Warning]:
    """Keep arguments under their old names beside the new ones: ``warn_on_impl_args`` of a hook.

    The specification has the new names where the old ones stood, and the old ones at its end.

    Args:
        hook: The hook.
        gone_in: The first version in which the old names are errors.
        new_names: The new name of each old one.

    Source: docs/lanes/how-a-hook-changes.md.
    """
    return {old: RenamedArgument(hook, old, new, gone_in) for old, new in new_names.items()}
