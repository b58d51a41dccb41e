"""What changed of an adapter: against a document, and against what it was."""

from __future__ import annotations

from typing import Any

import pytest

from holon_core import Rejected

READ, LIST = "holon-adapters.notes/read", "holon-adapters.notes/list"


def operation(name: str, **changes: Any) -> dict[str, Any]:
    made = {
        "id": name,
        "method": "GET",
        "path": f"/{name}",
        "description": f"Do {name}.",
        "responses": {"200": {"schema": {"type": "object"}}},
    }
    return {**made, **changes}


def document(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"adapter": "holon-adapter/v1", "operations": list(operations)}


@pytest.fixture
def changed(do) -> None:
    """An adapter registered twice: one operation gone, one new, one with another description."""
    do("register", name="notes", document=document(operation("read"), operation("drop")))
    after = document(operation("read", description="Read one."), operation("list"))
    do("register", name="notes", document=after)


def test_a_difference_without_a_document_is_to_the_revision_before(do, changed) -> None:
    """What came, what went, and each smallest place of what changed."""
    found = do("diff", name="notes")

    assert (found["added"], found["removed"]) == ([LIST], ["holon-adapters.notes/drop"])
    assert [each["tool"] for each in found["changed"]] == [READ]
    (change,) = found["changed"][0]["changes"]
    assert (change["path"], change["after"]) == ("/description", '"Read one."')
    assert found["since"] == do("read", name="notes")["revision"] - 1 == 1


def test_a_binding_is_a_revision_too(do, changed) -> None:
    """Binding changes the definitions, and the difference says so; an earlier one can be named."""
    do("bind", name="notes", server="https://notes.example", timeout_s=5, reason="ours")

    last, first = do("diff", name="notes"), do("diff", name="notes", since=1)

    assert (last["added"], last["removed"]) == ([], [])
    assert [each["tool"] for each in last["changed"]] == [LIST, READ]
    places = {change["path"] for change in last["changed"][0]["changes"]}
    assert places == {"/executor", "/limits/0"}
    assert first["added"] == [LIST]


def test_what_was_registered_again_unchanged_is_no_new_revision(do, changed) -> None:
    """The same document once more leaves the difference to what it replaced."""
    after = document(operation("read", description="Read one."), operation("list"))
    do("register", name="notes", document=after)

    assert do("diff", name="notes")["added"] == [LIST]
    assert do("read", name="notes")["revision"] == 2


def test_what_was_never_another_differs_in_nothing(do) -> None:
    """A new adapter has no revision before."""
    empty = {"added": [], "removed": [], "changed": [], "refused": [], "since": None}
    do("register", name="notes", document=document(operation("read")))

    assert do("diff", name="notes") == empty


def test_a_removed_adapter_that_came_back_is_compared_with_what_it_was(do, changed) -> None:
    """Revisions go on counting, and earlier ones stay readable."""
    do("remove", name="notes")
    do("register", name="notes", document=document(operation("list", description="All.")))

    found = do("diff", name="notes")

    assert (found["removed"], [each["tool"] for each in found["changed"]]) == ([READ], [LIST])


@pytest.mark.parametrize(
    "asked", [{"since": 99}, {"since": 1, "text": "{}"}], ids=["no-such", "two-things"]
)
def test_a_revision_that_cannot_be_meant_is_rejected(do, changed, asked) -> None:
    """With the place; nothing is compared."""
    with pytest.raises(Rejected) as rejected:
        do("diff", name="notes", **asked)

    assert rejected.value.findings[0].path == "/since"


def test_a_pinned_operation_stops_until_the_difference_is_accepted(do, rt, session) -> None:
    """Pins hold for operations of APIs as for any tool; the difference is to the pinned one."""
    do("register", name="notes", document=document(operation("read")))
    rt.tools.pin(READ, by="olga", reason="read it")
    do("register", name="notes", document=document(operation("read", description="Other.")))

    stopped = session.call(READ, {})
    difference = rt.tools.difference(READ)

    assert stopped.failure.code == "definition_changed"
    assert [each.path for each in difference] == ["/description"]


def test_unbinding_while_a_document_is_read_is_not_undone(do, rt, document, shop, monkeypatch):
    """Registering keeps the binding that is there when it stores, not when it began."""
    from holon_adapters import adapters

    do("bind", **shop)
    whole = adapters.mapped_of

    def slow(given: Any) -> Any:
        rt.service("adapters").unbind("shop")
        return whole(given)

    monkeypatch.setattr(adapters, "mapped_of", slow)
    made = do("register", name="shop", document=document)

    assert made["adapter"]["bound_to"] is None
