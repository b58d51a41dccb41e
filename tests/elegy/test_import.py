"""holon-elegy as a whole."""

import holon_elegy


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert holon_elegy.__doc__
