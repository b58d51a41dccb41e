"""A life of a package: registered, imported, changed, damaged, removed, in whatever order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import holon_core as holon
from holon_core.errors import Refused
from holon_core.store.protocol import Tables
from plugin_packages import SOURCE, Asked, capability, manifest, opened, write_package

PACKAGE = "acme.tools"
VERSIONS = {1: ("say",), 2: ("say", "more"), 3: ("more",)}


def given(version: int) -> dict[str, Any]:
    """Return the manifest of a version: other capabilities, other texts."""
    made = [capability(id=each, description=f"Version {version}.") for each in VERSIONS[version]]
    return manifest(version=str(version), capabilities=made)


class Life(RuleBasedStateMachine):
    """What is in the folder, what was registered of it, and what was imported of that.

    ``None`` stands for nothing; a damaged copy is one whose program was changed where it is
    installed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        root = Path(self.place.name)
        self.folder = root / "acme"
        self.rt = opened(root / "root")
        self.ask = Asked(self.rt)
        self.here = 1
        write_package(self.folder, given(1))
        self.registered: int | None = None
        self.imported: int | None = None
        self.damaged = False

    def teardown(self) -> None:
        """Close the runtime."""
        self.rt.close()
        self.place.cleanup()

    @rule(version=st.sampled_from([1, 2, 3]))
    def write(self, version: int) -> None:
        """Somebody changes the folder."""
        write_package(self.folder, given(version))
        self.here = version

    @rule()
    def register(self) -> None:
        """An operator registers what is in the folder."""
        made = self.ask("plugin-package/register", path=str(self.folder))
        assert made["is_new"] is (self.registered is None)
        assert made["changed"] is (self.registered != self.here or self.damaged)
        self.registered, self.damaged = self.here, False

    @precondition(lambda self: self.registered is not None)
    @rule()
    def bring_in(self) -> None:
        """An operator imports it; what changed since it was registered does not come in."""
        if self.changed():
            with pytest.raises(Refused) as refused:
                self.ask("plugin-package/import", package=PACKAGE)
            assert refused.value.failure.code == "definition_changed"
            return
        self.ask("plugin-package/import", package=PACKAGE)
        self.imported = self.registered

    @precondition(lambda self: self.registered is not None and not self.changed())
    @rule(at=st.integers(1, 12))
    def bring_in_on_a_full_disk(self, at: int) -> None:
        """The store fails at one of the writes; nothing is other than before."""
        real, count = Tables.put_document, [0]

        def failing(*args: Any, **more: Any) -> Any:
            count[0] += 1
            if count[0] == at:
                raise holon.StoreError("store_unavailable", "the disk is full")
            return real(*args, **more)

        with patch.object(Tables, "put_document", failing):
            try:
                self.ask("plugin-package/import", package=PACKAGE)
            except holon.StoreError:
                return
        self.imported = self.registered

    @precondition(lambda self: self.registered is not None)
    @rule()
    def damage(self) -> None:
        """Somebody changes the installed copy."""
        [program] = (Path(self.place.name) / "root").rglob("say")
        program.write_text(program.read_text() + "# changed\n")
        self.damaged = True

    @rule()
    def remove(self) -> None:
        """An operator removes it."""
        if self.registered is None:
            with pytest.raises(Refused):
                self.ask("plugin-package/remove", package=PACKAGE)
            return
        self.ask("plugin-package/remove", package=PACKAGE)
        self.registered = self.imported = None
        self.damaged = False

    def changed(self) -> bool:
        """Whether the files are not those that were registered."""
        return self.damaged or self.here != self.registered

    @invariant()
    def the_catalogue_has_what_was_imported(self) -> None:
        """All of it and nothing else; it is blocked where anything differs since."""
        names = [] if self.imported is None else VERSIONS[self.imported]
        tools = self.rt.tools.list(limit=100)
        assert {each.id for each in tools} == {f"{SOURCE}.{PACKAGE}/{name}" for name in names}
        for tool in tools:
            assert tool.description.startswith(f"Version {self.imported}.")
            result = self.ask.session.call(tool.id, {"text": "x"})
            codes = {each.code for each in result.blocking_reasons}
            same = self.imported == self.registered and not self.changed()
            if same:
                assert codes == {"posture_unapproved"}
            else:
                assert "definition_changed" in codes

    @invariant()
    def the_difference_is_that_of_the_folder(self) -> None:
        """It is told against what was registered, and changes nothing."""
        if self.registered is not None:
            found = self.ask("plugin-package/diff", package=PACKAGE)
            assert found["same"] is (self.here == self.registered)


Life.TestCase.settings = settings(max_examples=6, stateful_step_count=10, deadline=None)
TestLife = Life.TestCase
