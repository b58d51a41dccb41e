"""The envelope in which the command-line tools answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from elegy_contracts.model import UNSET, Unset


@frozen(kw_only=True)
class CliCause:
    """The cause of a command-line envelope."""

    code: str
    message: str


@frozen(kw_only=True)
class CliFailure:
    """The failure of a command-line envelope."""

    code: str
    message: str
    category: str
    retryable: bool
    correlation_id: str | Unset | None = UNSET
    details: Mapping[str, Any] | Unset | None = UNSET
    cause: CliCause | Unset | None = UNSET


@frozen(kw_only=True)
class CliEnvelope:
    """One answer of a tool; ``status`` other than ``ok`` is a failure, whatever the exit code."""

    schema_version: str
    correlation_id: str
    command: tuple[str, ...]
    status: str
    non_interactive: bool | Unset = UNSET
    data_schema: str | Unset | None = UNSET
    data: Any = UNSET
    failure: CliFailure | Unset | None = UNSET
