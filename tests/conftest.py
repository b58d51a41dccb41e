"""Settings and fixtures of the whole suite."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from clean import wheels
from support import ABSENT, shared_folder

__all__ = ["wheels"]

# Machines that run the suite are shared: a slow example is no finding.
settings.register_profile(
    "holon", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("holon")


def pytest_configure() -> None:
    """Take interrupts, also where the suite was started as a background job that ignores them."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the suite away from the home folder and the settings of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("HOLON_", "XDG_"))]:
            if name != "HOLON_TEST_DATA":
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of test data beside the repository; skips where it is absent."""
    folder = shared_folder()
    if folder is None:
        pytest.skip(ABSENT)
    return folder
