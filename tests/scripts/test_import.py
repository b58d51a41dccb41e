"""holon-script-tools as a whole."""

import holon_script_tools


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert holon_script_tools.__doc__
