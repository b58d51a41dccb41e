"""holon-builtin-memory as a whole."""

import holon_builtin_memory


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert holon_builtin_memory.__doc__
