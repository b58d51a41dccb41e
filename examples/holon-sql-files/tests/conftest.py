"""The fixtures of Holon's testing kit."""

pytest_plugins = ["holon_core.testing.plugin"]
