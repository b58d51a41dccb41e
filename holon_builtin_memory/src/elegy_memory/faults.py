"""What can go wrong, as the contract tells it apart."""

from __future__ import annotations


class InvalidInput(Exception):
    """The request itself is wrong; status ``invalid``."""

    code, status, category = "CLI-INVALID-INPUT", "invalid", "invalidInput"


class RuntimeFailure(Exception):
    """The store could not do it; status ``error``."""

    code, status, category = "CLI-RUNTIME-FAILURE", "error", "internal"


class Unsupported(Exception):
    """This program does not do it; status ``error``."""

    code, status, category = "CLI-UNSUPPORTED", "error", "unavailable"


Fault = (InvalidInput, RuntimeFailure, Unsupported)
