"""Bridges: what they consist of, kept by operations; and when one is ready."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import holon_core as holon
from flows import call, definition
from holon_core.records.words import Authority

TARGET: dict[str, Any] = {
    "id": "t",
    "product_name": "Painter",
    "version_range": ">=1",
    "platforms": ["linux"],
    "launch_hints": {"executables": ["painter"]},
}
SURFACE: dict[str, Any] = {
    "id": "main",
    "surface_kind": "ui",
    "stability": "stable",
    "semantic_anchors": ["canvas"],
}
MAP = {"id": "m", "target": "t", "surfaces": [SURFACE]}
BINDING = {"id": "b", "surface_map": "m", "max_age_s": 60}
SESSION = {"id": "s", "binding": "b", "status": "ready"}
THINGS: dict[str, dict[str, Any]] = {
    "target-descriptor": TARGET,
    "surface-map": MAP,
    "bridge-binding": BINDING,
    "bridge-session": SESSION,
}
CHANGES: dict[str, dict[str, Any]] = {
    "target-descriptor": {"product_name": "Painter 2"},
    "surface-map": {"surfaces": [{**SURFACE, "id": "other"}]},
    "bridge-binding": {"description": "the big screen"},
    "bridge-session": {"status": "busy"},
}


@pytest.fixture
def ask(rt: holon.Runtime, ann: holon.Session) -> Any:
    """Asks an operation as an operator."""

    def ask(method: str, **params: Any) -> Any:
        return rt.dispatch(method, params, caller=ann.caller, authorities=[*Authority])

    return ask


@pytest.fixture
def bridge(ask: Any) -> None:
    """All that one bridge consists of."""
    for noun, thing in THINGS.items():
        ask(f"{noun}/create", **thing)


@pytest.mark.parametrize("noun", THINGS)
def test_each_noun_is_kept_changed_listed_and_closed(ask: Any, bridge: None, noun: str) -> None:
    """Each operation answers the thing as it is then; what was closed stays readable."""
    thing, change = THINGS[noun], CHANGES[noun]

    read = ask(f"{noun}/read", id=thing["id"])
    changed = ask(f"{noun}/update", id=thing["id"], **change)
    listed = ask(f"{noun}/list")["items"]
    closed = ask(f"{noun}/close", id=thing["id"])

    assert {name: read[name] for name in thing} == thing
    assert read["created_by"] == "ann"
    assert {name: changed[name] for name in {**thing, **change}} == {**thing, **change}
    assert [each["id"] for each in listed] == [thing["id"]]
    assert closed["state"] == ask(f"{noun}/read", id=thing["id"])["state"] == "closed"
    with pytest.raises(holon.Refused) as refused:
        ask(f"{noun}/update", id=thing["id"], **change)
    assert refused.value.failure.code == "workflow_state"


@pytest.mark.parametrize(
    ("noun", "wrong", "path"),
    [
        ("target-descriptor", {**TARGET, "platforms": ["amiga"]}, "/platforms/0"),
        ("target-descriptor", {k: v for k, v in TARGET.items() if k != "launch_hints"}, ""),
        ("target-descriptor", {**TARGET, "launch_hints": {"executables": []}}, "/launch_hints"),
        ("surface-map", {**MAP, "target": "ghost"}, "/target"),
        ("surface-map", {**MAP, "surfaces": []}, "/surfaces"),
        (
            "surface-map",
            {**MAP, "surfaces": [{k: v for k, v in SURFACE.items() if k != "semantic_anchors"}]},
            "/surfaces/0",
        ),
        ("bridge-binding", {**BINDING, "surface_map": "ghost"}, "/surface_map"),
        ("bridge-binding", {**BINDING, "max_age_s": 0}, "/max_age_s"),
        ("bridge-session", {**SESSION, "binding": "ghost"}, "/binding"),
        ("bridge-session", {**SESSION, "status": "fine"}, "/status"),
        ("bridge-session", SESSION, "/id"),
    ],
)
def test_a_thing_that_does_not_fit_is_refused_with_its_path(
    flows: Any, bridge: None, noun: str, wrong: dict[str, Any], path: str
) -> None:
    """Its form, what it names, and its id, which is taken once."""
    taken = wrong is SESSION
    given = wrong if taken else {**wrong, "id": "new"}

    with pytest.raises(holon.Rejected) as refused:
        flows.bridges.create(noun, given, by="olga")

    assert path in {each.path for each in refused.value.findings}


def test_a_caller_reads_bridges_and_changes_none(
    rt: holon.Runtime, ann: holon.Session, bridge: None
) -> None:
    """Changing them is an operator's."""
    ready = rt.dispatch("bridge/readiness", {}, caller=ann.caller)["bridges"]
    assert [each["ready"] for each in ready] == [True]

    for noun, thing in THINGS.items():
        assert rt.dispatch(f"{noun}/list", {}, caller=ann.caller)["items"]
        for verb in ("create", "update", "close"):
            params = {"id": "s"} if verb == "close" else {**thing, "id": "new"}
            with pytest.raises(holon.Refused) as refused:
                rt.dispatch(f"{noun}/{verb}", params, caller=ann.caller)
            assert refused.value.failure.code == "not_allowed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("target-descriptor/close", {"id": "t"}), "its target is closed"),
        (("surface-map/close", {"id": "m"}), "its surface map is closed"),
        (("bridge-binding/close", {"id": "b"}), "the binding is closed"),
        (("bridge-session/close", {"id": "s"}), "no session is open"),
        (("bridge-session/update", {"id": "s", "status": "lost"}), "its session is lost"),
        (None, "its session was last heard of 61 s ago, and 60 s is allowed"),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else None,
)
def test_readiness_says_what_is_missing(
    ask: Any, clock: Any, bridge: None, change: Any, reason: str
) -> None:
    """Each part that is closed, a session that is not ready, and one that is no longer fresh."""
    assert ask("bridge/readiness", binding="b")["bridges"][0]["ready"]
    if change is None:
        clock.at += 61
    else:
        ask(change[0], **change[1])

    [found] = ask("bridge/readiness", binding="b")["bridges"]

    assert (found["ready"], found["reasons"]) == (False, [reason])


def test_a_step_waits_for_its_bridge_and_goes_on_by_itself(
    flows: Any, ann: Any, clock: Any, bridge: None
) -> None:
    """A bridge that is not ready blocks the step, with the reason; a sign of life is enough."""
    flows.create(definition(call("a", needs_bridges=["b"])), by="olga")
    clock.at += 61
    run = flows.run("demo", session=ann)
    assert run.state == "blocked"
    assert run.waits_for[0]["code"] == "bridge_not_ready"
    assert "61 s ago" in run.waits_for[0]["message"]

    flows.bridges.update("bridge-session", {"id": "s"})

    assert flows.ready_run(run.id).state == "completed"


def test_a_bridge_needs_the_bridges_that_it_names(ask: Any, bridge: None) -> None:
    """One that is not ready, or not there, keeps those that need it from being so."""
    ask("bridge-binding/create", id="upper", surface_map="m", needs=["b", "ghost"])
    ask("bridge-session/create", id="u", binding="upper", status="ready")

    [found] = ask("bridge/readiness", binding="upper")["bridges"]
    assert found["reasons"] == ["it needs ghost, which is not there"]

    ask("bridge-binding/update", id="upper", needs=["b"])
    assert ask("bridge/readiness", binding="upper")["bridges"][0]["ready"]
    ask("bridge-session/update", id="s", status="starting")
    [found] = ask("bridge/readiness", binding="upper")["bridges"]
    assert found["reasons"] == ["it needs b, which is not ready: its session is starting"]


def test_bridges_that_need_one_another_are_not_ready(ask: Any, bridge: None) -> None:
    """A ring is told, however long it is."""
    for name, needs in (("x", "y"), ("y", "z"), ("z", "x")):
        ask("bridge-binding/create", id=name, surface_map="m", needs=[needs])
        ask("bridge-session/create", id=f"s{name}", binding=name, status="ready")

    found = {each["binding"]: each for each in ask("bridge/readiness")["bridges"]}

    assert found["b"]["ready"]
    for name in "xyz":
        assert not found[name]["ready"]
        assert "which needs it" in found[name]["reasons"][0]


def test_what_is_kept_is_told_as_a_descriptor_of_piloting(shared: Path, ask: Any) -> None:
    """Members and words are those of the published schemas, in this project's spelling."""
    folder = shared / "elegy-corpus/schemas"
    ask("target-descriptor/create", **TARGET)
    ask("surface-map/create", **MAP)
    kept = ask("target-descriptor/read", id="t")
    surface = ask("surface-map/read", id="m")["surfaces"][0]
    told_target = {
        "schemaVersion": "elegy-piloting-target-descriptor/v1",
        "targetId": kept["id"],
        "productName": kept["product_name"],
        "versionRange": kept["version_range"],
        "platforms": kept["platforms"],
        "launchHints": {"executables": [], "arguments": [], "urls": [], **kept["launch_hints"]},
        "attachHints": {"processNames": [], "windowTitles": [], "surfaceUrls": []},
    }
    told_surface = {
        "schemaVersion": "elegy-piloting-surface-descriptor/v1",
        "surfaceId": surface["id"],
        "targetId": kept["id"],
        "surfaceKind": surface["surface_kind"],
        "stability": surface["stability"],
        "selectors": surface.get("selectors", []),
        "semanticAnchors": surface["semantic_anchors"],
    }

    for name, told in (("target", told_target), ("surface", told_surface)):
        schema = json.loads((folder / f"piloting-{name}-descriptor.schema.json").read_text())
        assert list(Draft202012Validator(schema).iter_errors(told)) == []
