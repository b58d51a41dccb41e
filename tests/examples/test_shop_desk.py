"""The example shop: one application, embedded in five ways, as its guides say."""

from __future__ import annotations

import json
import re
import signal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from shop_desk.till import RefundLimit, Till

import holon_core as holon
import shop
from support import ROOT
from terminal import terminal

pytestmark = pytest.mark.slow

REFUND = {"tool": "host.shop/refund", "arguments": {"order": "o-17", "cents": 500}}


def ledger(folder: Path) -> list[Any]:
    return Till(folder / "shop" / "books" / "ledger.jsonl").paid()


def shown_in(guide: str) -> str:
    """Return what a guide shows as printed by its command."""
    page = (ROOT / "docs" / "guides" / f"{guide}.md").read_text(encoding="utf-8")
    shown = re.search(r"^```console\n\$ [^\n]+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    return shown[1]


@pytest.fixture
def serving(tmp_path: Path):
    """The service in a process of its own."""
    with shop.service(tmp_path) as made:
        yield made


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_pending_approval_survives_the_end_of_the_service(tmp_path: Path, how: Any) -> None:
    """Asked of one process, approved by another user in the next, released there, paid once."""
    with shop.service(tmp_path) as first:
        asked = first.post("/calls", by="ann", **REFUND)
        held = asked.json()["held"]
        first.end(how)
    assert (asked.status_code, ledger(tmp_path)) == (202, [])

    with shop.service(tmp_path) as second:
        (waiting,) = second.get("/held", by="boss").json()
        approved = second.post(f"/held/{held}/approve", by="boss", reason="stale cake")
        released = second.post(f"/held/{held}/release", by="ann")
        trail = second.get(f"/calls/{held}/evidence", by="boss").json()

    assert waiting["facts"]["principal"] == "ann"
    assert '"cents": 500' in waiting["payload"]["text"]
    assert approved.json() == {"state": "approved", "by": "boss"}
    assert (released.status_code, released.json()["output"]) == (
        200,
        {"order": "o-17", "cents": 500},
    )
    assert trail == ["held", "approved", "accepted", "completed"]
    assert [(each.order, each.cents) for each in ledger(tmp_path)] == [("o-17", 500)]


def test_who_asks_is_what_the_token_says(serving: shop.Service) -> None:
    """No token, no call; and nobody decides who is not an approver, or who asked."""
    assert serving.post("/calls", by="nobody", **REFUND).status_code == 401

    held = serving.post("/calls", by="ann", **REFUND).json()["held"]
    path = f"/held/{held}"
    assert serving.post(f"{path}/approve", by="eve", reason="me").status_code == 403
    own = serving.post(f"{path}/approve", by="clerk", reason="mine")
    assert (own.status_code, own.json()["code"]) == (409, "self_approval")
    others = serving.post(f"{path}/release", by="eve")
    assert (others.status_code, others.json()["failure"]["code"]) == (403, "not_allowed")


def test_a_price_is_answered_at_once(serving: shop.Service) -> None:
    """What asks nobody runs; what does not fit says where."""
    good = serving.post("/calls", by="ann", tool="host.shop/price", arguments={"item": "tea"})
    bad = serving.post("/calls", by="ann", tool="host.shop/price", arguments={"item": "gin"})

    assert (good.status_code, good.json()["output"]) == (200, {"result": 300})
    assert (bad.status_code, bad.json()["failure"]["code"]) == (422, "arguments_invalid")


def test_the_shop_s_own_limit_holds_over_http(serving: shop.Service, tmp_path: Path) -> None:
    """A denied call is not held, so nobody can approve it."""
    much = {"order": "o-1", "cents": 10_001}
    denied = serving.post("/calls", by="ann", tool="host.shop/refund", arguments=much)

    assert (denied.status_code, denied.json()["held"]) == (403, None)
    assert denied.json()["failure"]["code"] == "policy_denied"


def test_a_denied_call_stays_denied(serving: shop.Service, tmp_path: Path) -> None:
    """The same payload is refused from then on, and nothing was paid."""
    held = serving.post("/calls", by="ann", **REFUND).json()["held"]
    serving.post(f"/held/{held}/deny", by="boss", reason="no")

    again = serving.post("/calls", by="ann", **REFUND)

    assert again.json()["failure"]["code"] == "approval_denied"
    assert ledger(tmp_path) == []


def test_a_key_makes_two_requests_one_refund(serving: shop.Service, tmp_path: Path) -> None:
    """A client that sends again after a broken connection does not pay twice."""
    held = serving.post("/calls", by="ann", key="k1", **REFUND).json()["held"]
    again = serving.post("/calls", by="ann", key="k1", **REFUND).json()["held"]
    serving.post(f"/held/{held}/approve", by="boss", reason="ok")
    serving.post(f"/held/{held}/release", by="ann")

    replayed = serving.post("/calls", by="ann", key="k1", **REFUND)

    assert again == held
    assert replayed.status_code == 200
    assert len(ledger(tmp_path)) == 1


def test_a_model_is_answered_through_the_service(serving: shop.Service, tmp_path: Path) -> None:
    """It is shown what its caller may use; its call waits, is approved, and answered again."""
    talk = "/conversations/c-1"
    shown = serving.get(f"{talk}/tools", by="ann").json()
    price = serving.post(f"{talk}/answers", by="ann", **called("c1", "price", item="tea"))
    refund = called("c2", "refund", order="o-17", cents=500)
    waiting = serving.post(f"{talk}/answers", by="ann", **refund).json()
    serving.post(f"/held/{waiting['held']}/approve", by="boss", reason="stale cake")
    serving.post(f"/held/{waiting['held']}/release?conversation=c-1", by="ann")
    settled = [serving.post(f"{talk}/answers", by="ann", **refund).json() for _ in range(2)]
    nothing = serving.post(f"{talk}/answers", by="ann", call="what?")

    assert [tool["name"] for tool in shown] == ["price", "refund"]
    assert price.json()["message"]["output"] == '{"result":300}'
    assert '"status":"held"' in waiting["message"]["output"]
    assert settled[0] == settled[1]
    assert settled[0]["message"] == {
        "type": "function_call_output",
        "call_id": "c2",
        "output": '{"order":"o-17","cents":500}',
    }
    assert [(each.order, each.cents) for each in ledger(tmp_path)] == [("o-17", 500)]
    assert (nothing.status_code, nothing.json()["code"]) == (400, "misuse")


def called(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Make a call as a provider's model makes it."""
    call = {"type": "function_call", "call_id": call_id, "name": name}
    return {**call, "arguments": json.dumps(arguments)}


def test_the_terminal_agent_asks_inline(tmp_path: Path) -> None:
    """Who sits there sees the payload, says yes or no, and evidence marks the own decision."""
    command = shop.argv("agent", "shop")
    with terminal(command, cwd=tmp_path, environment=shop.environment()) as person:
        person.read_until("> ")
        person.type("2 tea\n")
        person.read_until('That makes {"result":600}.\n')
        person.read_until("> ")
        person.type("refund 500 of o-17\n")
        assert '"cents": 500' in person.read_until("allow? [y/N] ")
        person.type("y\n")
        person.read_until('That makes {"order":"o-17","cents":500}.')
        person.read_until("> ")
        person.type("refund 400 of o-18\n")
        person.read_until("allow? [y/N] ")
        person.type("\n")
        person.read_until("said no: decided at the terminal")
        person.read_until("> ")
        person.type("\x04")
        assert person.end() == 0

    assert [each.order for each in ledger(tmp_path)] == ["o-17"]
    with holon.Runtime.open(tmp_path / "shop" / "root", app="shop", discover=False) as rt:
        decided = [a for a in rt.approvals.list(state=None) if a.decided_by]
    assert [(a.state.value, a.self_approved) for a in decided] == [
        ("consumed", True),
        ("denied", True),
    ]


def test_workers_keep_one_law_between_them(tmp_path: Path) -> None:
    """A grant of four lets four through, whoever works; no order is paid twice."""
    said = shop.run("workers", tmp_path)

    assert said == shown_in("workers")
    assert "paid back: 4 " in said
    assert len({each.order for each in ledger(tmp_path)}) == len(ledger(tmp_path)) == 4


def test_the_script_prints_what_its_guide_shows(tmp_path: Path) -> None:
    """Word for word, warnings being errors."""
    assert shop.run("script", tmp_path) == shown_in("script")
    assert [each.cents for each in ledger(tmp_path)] == [500]


class Cells(HTMLParser):
    """The text of a piece of HTML, and the tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_notebook_runs_and_shows_itself(tmp_path: Path, monkeypatch: Any) -> None:
    """Catalogue, result, held call with its view, marked self-approval and timeline, as HTML."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(shop.EXAMPLE / "src"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    book = nbformat.read(shop.EXAMPLE / "notebooks" / "desk.ipynb", as_version=4)

    nbclient.NotebookClient(book, timeout=60, resources={"metadata": {"path": tmp_path}}).execute()

    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert {output.output_type for output in outputs} == {"execute_result"}
    shown = [Cells(output.data["text/html"]) for output in outputs]
    words = [" ".join(each.text) for each in shown]
    catalogue, price, waiting, view, approved, released, timeline = words
    assert "host.shop/price" in catalogue
    assert "completed" in price
    assert "600" in price
    assert "approval_required" in waiting
    assert '"cents": 500' in view
    assert "Pay part of an order back." in view
    assert "self approved yes" in " ".join(approved.split())
    assert "self approved yes" in " ".join(released.split())
    kinds = [
        word for word in timeline.split() if word in ("held", "approved", "accepted", "completed")
    ]
    assert kinds == ["held", "approved", "accepted", "completed"]
    assert timeline.count("approved (self-approved)") == 1
    assert timeline.count("(self-approved)") == 2
    assert all("script" not in each.tags for each in shown)


def test_two_runtimes_in_one_process_do_not_touch(tmp_path: Path) -> None:
    """Each root has its own catalogue, approvals, keys and evidence."""
    tills = [Till(tmp_path / f"ledger-{name}") for name in "ab"]
    opened = [
        holon.Runtime.open(tmp_path / name, app="shop", tools=till.tools(), discover=False)
        for name, till in zip("ab", tills, strict=True)
    ]
    one, other = opened
    try:
        call = ("host.shop/refund", {"order": "o-1", "cents": 5})
        held = one.session(principal="ann").call(*call, key="k").held
        second = other.session(principal="ann").call(*call, key="k").held
        one.approvals.approve(held, by="boss", reason="ok")

        assert held != second
        assert other.approvals.held()[0].call_id == second
        with pytest.raises(holon.Refused, match="no approval"):
            other.approvals.approve(held, by="boss", reason="ok")
        assert one.session(principal="ann").release(held).status is holon.Status.COMPLETED
        one.close()
        assert other.session(principal="ann").release(second).failure.code == "approval_required"
        assert other.evidence.verify(None).consistent
    finally:
        for rt in opened:
            rt.close()
    assert [len(till.paid()) for till in tills] == [1, 0]


def test_a_guard_of_the_shop_belongs_to_its_root(tmp_path: Path) -> None:
    """Opened without the limit that was once there, every call is denied until it is back."""
    till = Till(tmp_path / "ledger")
    holon.Runtime.open(
        tmp_path / "root", app="shop", plugins=[RefundLimit()], discover=False
    ).close()

    with holon.Runtime.open(
        tmp_path / "root", app="shop", tools=till.tools(), discover=False
    ) as rt:
        denied = rt.session(principal="ann").call("host.shop/price", {"item": "tea"})

    assert denied.failure.code == "guard_missing"
    assert "shop-refund-limit" in denied.failure.message


def test_the_notebook_is_kept_without_outputs() -> None:
    """What it shows is made anew by whoever runs it."""
    book = json.loads((shop.EXAMPLE / "notebooks" / "desk.ipynb").read_text(encoding="utf-8"))

    assert all(
        not cell.get("outputs") and not cell.get("execution_count") for cell in book["cells"]
    )
