"""Calls of an API through the door, against a real server on loopback."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

import holon_core as holon
from holon_core import Status
from holon_core.testing import EvidenceReader


def test_a_read_is_answered_with_status_and_body(bound, session) -> None:
    """Path, query, header and cookie go where the document says."""
    arguments = {"item_id": 3, "colour": ["red", "blue"], "x-trace": "t1", "basket": "b2"}

    result = session.call(f"{bound}/read-item", arguments)

    assert result.output == {
        "status": 200,
        "body": {
            "path": {"item_id": 3},
            "query": {"colour": ["red", "blue"], "limit": 10, "exact": False},
            "header": {"x-trace": "t1"},
            "cookie": {"basket": "b2"},
            "body": None,
        },
    }


def test_a_body_is_sent_and_answered(bound, session) -> None:
    """JSON in, JSON out, by the status that is documented."""
    item = {"name": "cup", "cents": 250}

    result = session.call(f"{bound}/create-item", {"body": item})

    assert result.output["status"] == 201
    assert result.output["body"]["name"] == "cup"


def test_no_content_is_an_answer(bound, session) -> None:
    """A response without a body has none."""
    assert session.call(f"{bound}/delete-item", {"item_id": 1}).output == {"status": 204}


def test_a_form_is_sent(bound, session) -> None:
    """Fields of a form are encoded."""
    body = {"item_id": 4, "note": "a & b = c"}

    result = session.call(f"{bound}/place-order", {"body": body})

    assert result.output["body"]["body"] == body


def test_a_file_is_sent(bound, session) -> None:
    """Bytes come as base64 and go as they are."""
    body = {"photo": b64encode(b"\x00\xff" * 50).decode(), "title": 'a "title"'}

    result = session.call(f"{bound}/add-photo", {"body": body})

    assert result.output["body"]["body"] == {"size": 100, "title": 'a "title"'}


def test_text_is_answered_as_text(bound, session) -> None:
    """A body that is no JSON is a string."""
    assert session.call(f"{bound}/read-label", {}).output == {"status": 200, "body": "a label"}


def test_what_an_api_takes_is_checked_before_it_is_asked(bound, session) -> None:
    """Arguments against the document never leave."""
    result = session.call(f"{bound}/read-item", {"item_id": "x", "more": 1})

    assert result.failure.code == "arguments_invalid"


def test_a_path_takes_any_text_and_stays_one_segment(bound, session) -> None:
    """Slashes, dots, percent signs and other scripts arrive as they were given."""
    arguments = {"shelf": "äö %2e", "name": "b.c;d=1,2", "words": "a&b=c#d?e/f+g"}

    result = session.call(f"{bound}/find-item", arguments)

    seen = result.output["body"]
    assert seen["path"] == {"shelf": "äö %2e", "name": "b.c;d=1,2"}
    assert seen["query"] == {"words": "a&b=c#d?e/f+g"}


SECRETS = {
    "read-me": ("HTTPBearer", {"length": 14}, "authorization: Bearer [secret HTTPBearer]"),
    "read-keyed": ("APIKeyQuery", {"length": 14}, "?shop%20key=[secret APIKeyQuery]"),
    "read-basket": ("APIKeyCookie", {"length": 14}, "basket-key=[secret APIKeyCookie]"),
    "read-staff": ("HTTPBasic", {"user": "u", "length": "12"}, "Basic [secret HTTPBasic]"),
}


@pytest.mark.parametrize("operation", SECRETS)
def test_secrets_go_by_reference(do, rt, monkeypatch, shop, operation) -> None:
    """In a header, a query or a cookie: the API sees the secret, a dry run and evidence do not."""
    scheme, answer, shown = SECRETS[operation]
    monkeypatch.setenv("SHOP_SECRET", "u:5f2a9c1e7bxy")
    do("bind", **shop, secrets={scheme: "env:SHOP_SECRET"})
    session = rt.session(principal="ann")

    result = session.call(f"holon-adapters.shop/{operation}", {})
    preview = session.dry_run(f"holon-adapters.shop/{operation}", {}).output

    assert result.output == {"status": 200, "body": answer}
    assert shown.lower() in json.dumps(preview).lower()
    kept = json.dumps(preview) + EvidenceReader(rt).text()
    assert "5f2a9c1e7bxy" not in kept
    assert b64encode(b"u:5f2a9c1e7bxy").decode() not in kept


def test_a_call_is_held_by_default(do, document, server, tmp_path) -> None:
    """Without a rule every call of an API asks, and runs as it was shown once it is approved."""
    import holon_adapters.plugin as lane

    with holon.Runtime.open(tmp_path / "other", discover=False, plugins=[lane]) as rt:
        adapters = rt.service("adapters")
        adapters.register("shop", document, by="olga")
        adapters.bind("shop", _binding(server))
        session = rt.session(principal="ann")

        held = session.call("holon-adapters.shop/create-item", {"body": {"name": "x", "cents": 1}})
        view = rt.approvals.view(held.held)
        rt.approvals.approve(held.held, by="boss", reason="ok")

        assert held.status is Status.BLOCKED
        assert "POST" in str(view)
        assert session.release(held.held).output["status"] == 201


def _binding(server: str) -> Any:
    from holon_adapters.records import Binding

    return Binding(
        origin=server, allow_addresses=("loopback",), by="olga", reason="ours", at_unix_seconds=1
    )
