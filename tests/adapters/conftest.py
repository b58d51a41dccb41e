"""Fixtures of the adapter lane: a shop that serves HTTP on loopback, and a runtime beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import holon_adapters.plugin as lane
import holon_core as holon
from adapter_shop import app
from holon_core.records.words import Authority

Do = Callable[..., Any]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The shop, served on loopback; its base URL."""
    made = uvicorn.Server(uvicorn.Config(app(), port=0, log_level="error"))
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    while not made.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{made.servers[0].sockets[0].getsockname()[1]}"
    made.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The shop's own OpenAPI document."""
    return app().openapi()


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[holon.Runtime]:
    """A runtime with this lane alone, whose rules let every call through."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "holon.toml").write_text(
        '[[rules]]\nname = "all"\nlane = "adapter"\ndecision = "allow"\n', encoding="utf-8"
    )
    with holon.Runtime.open(root, discover=False, plugins=[lane]) as opened:
        yield opened


@pytest.fixture
def do(rt: holon.Runtime) -> Do:
    """Ask an operation of the lane as an operator."""
    caller = rt.session(principal="olga").caller

    def do(verb: str, **params: Any) -> Any:
        return rt.dispatch(f"adapter/{verb}", params, caller=caller, authorities=[*Authority])

    return do


@pytest.fixture
def shop(do: Do, server: str, document: dict[str, Any]) -> dict[str, Any]:
    """The shop registered; what binds it."""
    do("register", name="shop", document=document)
    return {"name": "shop", "server": server, "reason": "ours", "allow_addresses": ["loopback"]}


@pytest.fixture
def bound(do: Do, shop: dict[str, Any]) -> str:
    """The shop registered and bound; the source id of its tools."""
    made = do("bind", **shop)
    source: str = made["adapter"]["source"]
    return source


@pytest.fixture
def session(rt: holon.Runtime) -> holon.Session:
    """A caller."""
    return rt.session(principal="ann")
