"""The markers of this project's hooks."""

import pluggy

PROJECT = "holon"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
