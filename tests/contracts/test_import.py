"""elegy-contracts as a whole."""

import elegy_contracts


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert elegy_contracts.__doc__
