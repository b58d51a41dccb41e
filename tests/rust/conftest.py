"""Fixtures of Rust tools: one runtime, one workspace and one built tool for the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holon_core import FrozenToolRecord
from holon_core.runtime import Runtime
from holon_core.session import Session
from rust_tools import activate, no_cargo, open_rust, proposal, rustup_home


@pytest.fixture(scope="session", autouse=True)
def _toolchains() -> Iterator[None]:
    """Keep the host's toolchains, which rustup would look for in the suite's own home."""
    home = rustup_home()
    with pytest.MonkeyPatch.context() as patch:
        if home is not None:
            patch.setenv("RUSTUP_HOME", home)
        yield


@pytest.fixture(scope="session")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the session's storage root and workspace."""
    return tmp_path_factory.mktemp("rust")


@pytest.fixture(scope="session")
def shared_runtime(storage: Path) -> Iterator[Runtime]:
    """One runtime with the lane."""
    with open_rust(storage / "root") as opened:
        yield opened


@pytest.fixture
def runtime(shared_runtime: Runtime) -> Runtime:
    """The runtime."""
    return shared_runtime


@pytest.fixture(scope="session")
def shared_place(storage: Path) -> Path:
    """The folder of the session's workspace."""
    folder = storage / "place"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def shared_session(shared_runtime: Runtime, shared_place: Path) -> Session:
    """Ann, in the session's workspace."""
    return shared_runtime.session(principal="ann", workspace=shared_place)


@pytest.fixture
def session(shared_session: Session) -> Session:
    """Ann, in the workspace."""
    return shared_session


@pytest.fixture(scope="session")
def cargo() -> None:
    """Skip where nothing can be built, with the reason."""
    if no_cargo():
        pytest.skip(no_cargo())


@pytest.fixture(scope="session")
def words(cargo: None, shared_runtime: Runtime, shared_session: Session) -> FrozenToolRecord:
    """The tool that counts words, active: built once for all tests that only look at it."""
    return activate(shared_runtime, shared_session, proposal())
