"""What the catalogue reads of the store: of what nobody asked for, nothing."""

from __future__ import annotations

from typing import Any

import pytest

from holon_core.catalogue import candidates, catalogue, pins, registry
from holon_core.catalogue.codec import descriptor_from
from sample_lanes import Lane


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the definitions that were read, as they are read."""
    seen: list[str] = []

    def counting(body: bytes) -> Any:
        made = descriptor_from(body)
        seen.append(made.id)
        return made

    modules: tuple[Any, ...] = (candidates, catalogue, pins, registry)
    for module in modules:
        monkeypatch.setattr(module, "descriptor_from", counting)
    return seen


def test_a_warm_start_reads_no_definition(open_runtime: Any, read: list[str]) -> None:
    """Nor a schema: a source whose signal is the same is known by its key alone."""
    acme = Lane("acme", *(f"t{number}" for number in range(20)))
    open_runtime(acme, discover=False).close()
    read.clear()

    with open_runtime(acme, discover=False) as rt:
        assert len(rt.tools) == 20
        assert (read, acme.source.readings) == ([], 1)


@pytest.mark.parametrize("count", [100, 2000])
def test_a_page_reads_its_own_tools_alone(open_runtime: Any, read: list[str], count: int) -> None:
    """However many are stored beside them."""
    acme = Lane("acme", *(f"t{number:05}" for number in range(count)))
    with open_runtime(acme, discover=False) as rt:
        read.clear()

        page = rt.tools.list(after="acme/t00019", limit=50)

    assert [tool.id for tool in page] == [f"acme/t{number:05}" for number in range(20, 70)]
    assert len(read) <= 51
