"""holon-plugin-packages as a whole."""

import holon_plugin_packages


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert holon_plugin_packages.__doc__
