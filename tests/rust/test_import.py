"""holon-rust-tools as a whole."""

import holon_rust_tools


def test_the_package_says_what_it_is() -> None:
    """The package imports and says what it is."""
    assert holon_rust_tools.__doc__
