"""Runs the Python blocks of each page of the manual, and of each README, as one test a page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.document import Document
from sybil.parsers.myst import PythonCodeBlockParser

BLOCKS = Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect pages; the blocks of one share names, so that no two processes may share them."""
    if file_path.suffix != ".md":
        return None
    page: pytest.Collector = Page.from_parent(parent, path=file_path)
    return page


class Page(pytest.File):
    """A page; one without Python is no test."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the test of its blocks."""
        document = BLOCKS.parse(self.path)
        if any(True for _ in document.examples()):
            yield Blocks.from_parent(self, name="blocks", document=document)


class Blocks(pytest.Item):
    """All blocks of a page, top to bottom, in an empty folder and in one namespace."""

    def __init__(self, *, document: Document, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self._document = document

    def runtest(self) -> None:
        """Run them; a failure's traceback names page and line."""
        origin = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for example in self._document.examples():
                    example.evaluate()
            finally:
                os.chdir(origin)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the page."""
        return self.path, 0, f"blocks of {self.path.name}"
