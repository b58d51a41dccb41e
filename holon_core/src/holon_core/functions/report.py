"""The findings on one function, collected while it is described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.records.finding import Finding
from holon_core.records.words import Severity

if TYPE_CHECKING:
    from holon_core.functions.hints import Compiler

_CODE = "signature_unsupported"


class Report:
    """Collects findings; all of them are of one code, about the signature."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found so far, in the order of the signature."""
        return tuple(self._findings)

    def error(self, message: str, path: str = "") -> None:
        """Note what keeps the function out."""
        self._findings.append(Finding(code=_CODE, message=message, path=path))

    def warning(self, message: str, path: str = "") -> None:
        """Note what its author should know."""
        self._findings.append(
            Finding(code=_CODE, message=message, path=path, severity=Severity.WARNING)
        )

    def ignored(self, compiler: Compiler, path: str) -> None:
        """Note the metadata that the compiler could not use, and forget it there."""
        for name in compiler.ignored:
            self.warning(f"metadata of type {name} says nothing to a schema", path)
        compiler.ignored = []
