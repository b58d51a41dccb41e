"""Servers that are named: by documents, as a proposal, and by operators, as a permission."""

from __future__ import annotations

import json

import pytest

from holon_core import Rejected

SERVERS = {
    "an octal address": "https://0177.0.0.1",
    "a short address": "https://127.1",
    "a number": "https://2130706433",
    "a hexadecimal one": "https://0x7f.1",
    "no address": "https://256.1.1.1",
    "a way up": "https://h.example/a/../b",
    "an encoded way up": "https://h.example/%2e%2e/",
    "twice encoded": "https://h.example/%252e%252e/",
    "a user": "https://u:s3cr3t@h.example",
    "a query": "https://h.example?k=s3cr3t",
    "no port": "https://h.example:99999",
    "port 0": "https://h.example:0",
}


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_a_server_that_could_not_be_called_is_not_bound(do, shop, server) -> None:
    """Whoever binds is told why; no call has to find it out, and no secret is repeated."""
    with pytest.raises(Rejected) as rejected:
        do("bind", **{**shop, "server": server})

    [finding] = rejected.value.findings
    assert finding.path == "/server"
    assert "s3cr3t" not in str(rejected.value)
    assert do("read", name="shop")["bound_to"] is None


def test_a_secret_in_the_server_of_a_document_is_nowhere(do, document, tmp_path) -> None:
    """Neither in the answers nor in the store; the dry run still shows the path."""
    servers = [{"url": "https://u:s3cr3t@h.example"}]
    made = do("register", name="shop", document={**document, "servers": servers})
    shown = [made, do("list"), do("read", name="shop")]
    kept = b"".join(each.read_bytes() for each in (tmp_path / "root").glob("holon.db*"))

    assert made["added"]
    assert "/servers/0/url" in [finding["path"] for finding in made["findings"]]
    assert "s3cr3t" not in json.dumps(shown)
    assert b"s3cr3t" not in kept
