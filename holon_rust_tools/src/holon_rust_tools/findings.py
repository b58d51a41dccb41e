"""Findings of the policy floor: the rule, the file and the line that it was broken on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from holon_core import Finding

# Every rule of the floor, and what unblocks what it refuses. The manual's table is this one.
RULES: Mapping[str, str] = {
    "rust_proposal": "complete the member that is named",
    "rust_promotion": "state what a promotion needs: schemas, effects, a validation command",
    "rust_fixture": "add at least one fixture, with inputs and outputs of the schemas",
    "rust_manifest": "write Cargo.toml as TOML, of the tables and keys on the list",
    "rust_source_path": "name each file once, by an ordinary relative path",
    "rust_source_text": "write UTF-8 text without invisible or bidirectional characters",
    "rust_size": "make the sources smaller",
    "rust_syntax": "correct the source so that it parses as Rust",
    "rust_unsafe": "do without unsafe code, foreign functions and linker attributes",
    "rust_build_script": "do without code that runs while it is built",
    "rust_config_file": "leave out files that configure cargo, rustc or rustup",
    "rust_external_input": "include only files of the proposal, by literal relative paths",
    "rust_dependency_denied": "depend on crates of the catalogue, in its version and features",
    "rust_lock_drift": "leave Cargo.lock out, and it is made of the catalogue",
}


@frozen(kw_only=True)
class RustFinding:
    """One thing that the floor refuses.

    ``path`` is a JSON pointer into the proposal; ``file`` and ``line`` (from 1; 0 for the file
    as a whole) are of the source where it is one.
    """

    rule: str
    message: str
    path: str = ""
    file: str = ""
    line: int = 0

    def to_core(self, numbers: Mapping[str, int]) -> Finding:
        """Return it as the core keeps findings.

        Args:
            numbers: Which of the proposal's files each path is.
        """
        where = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{where}: {self.message}" if where else self.message
        path = self.path
        if not path and self.file in numbers:
            path = f"/files/{numbers[self.file]}"
        return Finding(code=self.rule, message=text[:1000], path=path)


def to_core(found: Iterable[RustFinding], paths: Iterable[str]) -> list[Finding]:
    """Return findings as the core keeps them."""
    numbers: dict[str, int] = {}
    for number, path in enumerate(paths):
        numbers.setdefault(path, number)
    return [each.to_core(numbers) for each in found]
