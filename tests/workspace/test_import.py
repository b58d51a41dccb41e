"""holon-builtin-workspace as a whole."""

import holon_builtin_workspace


def test_the_package_says_what_it_is() -> None:
    """The package imports and carries its description."""
    assert (
        holon_builtin_workspace.__doc__
        == "The workspace lane of Holon: glob, grep, list and read inside one folder."
    )
