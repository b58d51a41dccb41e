"""The wrapper owns what callers see: schemas, effects, approval, scope, and what stays out."""

from __future__ import annotations

import json
import os

import pytest

import holon_core as holon
from holon_builtin_memory.searching import snippet
from holon_core.agents.names import name_of
from holon_core.records.caller import CallerContext
from memory_lane import FULL, HEALTH, REQUEST, SEARCH, SOURCE, WRITE, code_of, printing


def test_the_lane_brings_exactly_its_three_tools(rt):
    """They come without a finding, with the effects and approvals of the wrapper."""
    tools = {tool.id: tool for tool in rt.tools.list()}

    assert set(tools) == {SEARCH, WRITE, REQUEST}
    assert tools[SEARCH].effects == {holon.Effect.HOST_STATE_READ}
    assert tools[WRITE].effects == tools[REQUEST].effects == {holon.Effect.HOST_STATE_WRITE}
    assert tools[WRITE].approval == "required"
    assert tools[REQUEST].approval == "none"
    assert [state.findings for state in rt.tools.sources()] == [{}]


def test_writes_are_never_shown_to_a_model(rt):
    """Only the search may be projected; the two others stay callable by the runtime."""
    shown = {tool.id for tool in rt.tools.list() if "function_calling" in tool.projections}

    assert shown == {SEARCH}


@pytest.mark.parametrize(
    "dialect", ["openai-responses", "openai-chat", "anthropic", "gemini", "mcp"]
)
def test_no_dialect_shows_a_write_under_any_policy(opened, project, dialect):
    """Not even a rule with the exact ids that allows them."""
    rt = opened(rules=[{"id": tool, "decision": "allow"} for tool in (SEARCH, WRITE, REQUEST)])
    session = rt.session(principal="ann", workspace=project)

    shown = json.dumps(list(session.tools(dialect)))

    assert "search-workspace-memory" in shown or "search_workspace_memory" in shown
    assert "write" not in shown.replace("callers wrote", "")


@pytest.mark.parametrize("tool", [WRITE, REQUEST])
def test_a_projected_call_of_a_write_is_not_allowed_and_recorded(rt, project, tool):
    """By the name that a projection would have given it."""
    session = rt.session(principal="ann", workspace=project)
    called = {
        "id": "call_1",
        "type": "function",
        "function": {"name": name_of(tool), "arguments": '{"content": "x"}'},
    }

    message = session.answer(called)

    assert message.result.failure.kind == "not_allowed"
    assert message.result.evidence_refs
    assert rt.approvals.list() == ()


def test_the_runtime_calls_a_write_over_the_protocol(rt, project):
    """`runtime-tool/call` holds it like any call; nothing of it needs a projection."""
    caller = rt.session(principal="ann", workspace=project).caller
    answer = rt.dispatch(
        "runtime-tool/call", {"tool": WRITE, "arguments": {"content": "x"}}, caller=caller
    )

    assert answer["held"] is not None
    assert answer["failure"]["code"] == "approval_required"


def test_a_rule_that_allows_everything_lifts_no_approval_of_a_write(opened, project):
    """Only a rule with the tool's exact id could."""
    rt = opened(rules=[{"id": "*", "decision": "allow"}])

    result = rt.session(principal="ann", workspace=project).call(WRITE, {"content": "x"})

    assert code_of(result) == "approval_required"


def test_a_deny_rule_stops_even_the_request(opened, project):
    """The default that allows this one write is replaced by the rule."""
    rt = opened(rules=[{"id": REQUEST, "decision": "deny"}])
    session = rt.session(principal="ann", workspace=project)

    assert code_of(session.call(REQUEST, {"content": "x"})) == "policy_denied"
    assert rt.approvals.list() == ()


@pytest.mark.parametrize("tool", [SEARCH, WRITE, REQUEST])
def test_memory_needs_a_workspace(rt, tool):
    """Without one there is no store, and no approval."""
    payload = {"query": "x"} if tool == SEARCH else {"content": "x"}

    result = rt.session(principal="ann").call(tool, payload)

    assert code_of(result) == "workspace_required"
    assert rt.approvals.held() == ()
    assert rt.approvals.list() == ()


@pytest.mark.parametrize(
    ("tool", "payload", "path"),
    [
        (WRITE, {"content": ""}, "/content"),
        (WRITE, {"content": "x", "type": "rumour"}, "/type"),
        (WRITE, {"content": "x", "importance": 2}, "/importance"),
        (WRITE, {"content": "x", "db": "/etc/passwd"}, ""),
        (WRITE, {"content": "nul\0"}, "/content"),
        (WRITE, {"content": "x", "tags": ["a\nb"]}, "/tags/0"),
        (SEARCH, {"query": " "}, "/query"),
        (SEARCH, {"query": "nul\0"}, "/query"),
        (SEARCH, {"query": "x", "scope": "user"}, ""),
        (SEARCH, {"query": "x", "cursor": "next"}, "/cursor"),
    ],
)
def test_arguments_outside_the_wrapper_s_schema_are_refused(rt, project, tool, payload, path):
    """With the path; nothing of the command's own options can be reached."""
    result = rt.session(principal="ann", workspace=project).call(tool, payload)

    assert code_of(result) == "arguments_invalid"
    assert result.failure.details["path"] == path


SHOP = "k-9f8e7d6c5b4a"


@pytest.mark.parametrize("by", ["holon.toml", "a tool that was never called"])
def test_a_registered_secret_is_written_nowhere(opened, project, tmp_path, monkeypatch, by):
    """Neither the request nor the write takes it, though nothing ever fetched it."""
    monkeypatch.setenv("SHOP_KEY", SHOP)
    rt = opened(**({"secrets": {"shop": "env:SHOP_KEY"}} if by == "holon.toml" else {}))
    if by != "holon.toml":
        rt.register(lambda key: None, name="use", effects="none", secrets={"key": "env:SHOP_KEY"})
    session = rt.session(principal="ann", workspace=project)
    early = session.call(WRITE, {"content": f"the key is {SHOP}"}).held
    rt.approvals.approve(early, by="bob", reason="not seen")

    released = session.release(early)
    asked = session.call(REQUEST, {"content": "x", "tags": [SHOP]})

    assert code_of(released) == "secret_in_content"
    assert code_of(asked) == "secret_in_content"
    assert asked.failure.details["path"] == "/tags"
    stored = [file.read_bytes() for file in (tmp_path / "root" / "plugins").rglob("*.db*")]
    assert not any(SHOP.encode() in data for data in stored)


def test_a_secret_that_is_known_is_not_even_held(opened, project, tmp_path, monkeypatch):
    """Nobody is asked to approve it, and the store never holds it."""
    monkeypatch.setenv("SHOP_KEY", SHOP)
    rt = opened(secrets={"shop": "env:SHOP_KEY"})
    session = rt.session(principal="ann", workspace=project)
    assert code_of(session.call(REQUEST, {"content": SHOP})) == "secret_in_content"

    refused = session.call(WRITE, {"content": f"now {SHOP} is known"})
    shown = session.dry_run(WRITE, {"content": SHOP})

    assert (code_of(refused), refused.held) == ("secret_in_content", None)
    assert code_of(shown) == "secret_in_content"
    assert rt.approvals.list() == ()
    rt.close()
    assert f"now {SHOP}".encode() not in (tmp_path / "root" / "holon.db").read_bytes()


def _import(rt, project, file):
    caller = rt.session(principal="ann", workspace=project).caller
    given = {"input": str(file)}
    return rt.dispatch("memory/import", given, caller=caller, authorities=holon.Authority)


def test_an_import_leaves_a_registered_secret_out(opened, project, tmp_path, monkeypatch):
    """Though nothing ever fetched it; the line is named, the value is not."""
    monkeypatch.setenv("SHOP_KEY", SHOP)
    rt = opened(secrets={"shop": "env:SHOP_KEY"})
    file = tmp_path / "in.jsonl"
    file.write_text(f'"fine"\n{{"content": "x", "tags": ["{SHOP}"]}}\n"{SHOP}"\n')

    taken = _import(rt, project, file)

    assert (taken["imported"], taken["skipped"]) == (1, 2)
    assert [each.split(":")[0] for each in taken["problems"]] == ["line 2", "line 3"]
    assert SHOP not in str(taken)


@pytest.mark.skipif(os.name == "nt", reason="no such modes there")
def test_the_store_is_its_owner_s_alone(rt, project, tmp_path, write):
    """The file, what SQLite puts beside it, and the folder."""
    write(rt, content="hello")
    (file,) = (tmp_path / "root").rglob("memory.db")

    assert {each.stat().st_mode & 0o777 for each in file.parent.iterdir()} == {0o600}
    assert file.parent.stat().st_mode & 0o777 == 0o700


class _Vault:
    """A provider whose server does not answer."""

    scheme = "vault"

    def resolve(self, rest):
        raise ConnectionError(rest)

    def available(self, rest):
        return True


class _Vaults:
    """The plugin that brings it."""

    @staticmethod
    @holon.hookimpl
    def holon_secret_providers(host):
        """Offer it."""
        return [_Vault()]


def test_a_secret_that_cannot_be_fetched_blocks_the_write(opened, project, tmp_path, write):
    """Nobody can tell what the content holds; the approval is not used up."""
    rt = opened(_Vaults, secrets={"shop": "vault:shop"})
    file = tmp_path / "in.jsonl"
    file.write_text('"hello"\n')

    result = write(rt, content="hello")
    with pytest.raises(holon.Refused) as imported:
        _import(rt, project, file)

    assert (result.status, code_of(result)) == (holon.Status.BLOCKED, "secret_unresolved")
    assert "whether a registered secret is in it" in result.failure.message
    assert imported.value.failure.code == "secret_unresolved"
    assert [each.state.value for each in rt.approvals.list(state=None)] == ["approved"]


def test_a_secret_that_has_no_value_here_is_passed_over(opened, write):
    """There is nothing that could be found."""
    rt = opened(secrets={"none": "env:NO_SUCH_KEY", "gone": "file:gone", "odd": "nobody:x"})

    assert write(rt, content="hello").status is holon.Status.COMPLETED


def test_a_dry_run_shows_the_exact_command_and_starts_nothing(rt, project, tmp_path):
    """The text is one word after --, the file is the workspace's own; it is not made."""
    session = rt.session(principal="ann", workspace=project)

    argv = session.dry_run(WRITE, {"content": "-x --db=/etc/passwd"}).output["argv"]

    assert argv[-2:] == ["--", "-x --db=/etc/passwd"]
    assert argv[argv.index("--scope") + 1] == "workspace"
    assert argv[argv.index("--db") + 1].startswith(str(tmp_path / "root"))
    assert "--non-interactive" in argv
    assert list((tmp_path / "root").rglob("memory.db")) == []


def test_what_the_text_says_is_data_whatever_it_begins_with(rt, project, write):
    """A leading dash makes no option of it, in the write and in the search."""
    write(rt, content="--limit=0 is a text")
    session = rt.session(principal="ann", workspace=project)

    found = session.call(SEARCH, {"query": "--limit"}).output["results"]

    assert [hit["snippet"] for hit in found] == ["--limit=0 is a text"]


def test_filters_narrow_by_type_tags_and_time(rt, project, write):
    """All that is asked for has to hold."""
    first = write(rt, content="port one", type="fact", tags=["net", "db"]).output["memory"]
    write(rt, content="port two", type="decision", tags=["net"])
    session = rt.session(principal="ann", workspace=project)

    def found(**more):
        results = session.call(SEARCH, {"query": "port", **more}).output["results"]
        return sorted(hit["snippet"] for hit in results)

    moment = first["updated_at_unix_seconds"]
    assert found(types=["fact"]) == ["port one"]
    assert found(tags=["net"]) == ["port one", "port two"]
    assert found(tags=["net", "db"]) == ["port one"]
    assert found(updated_from_unix_seconds=moment - 5) == ["port one", "port two"]
    assert found(updated_before_unix_seconds=moment - 5) == []


def test_pages_go_on_by_cursor_until_everything_was_shown(rt, project, tmp_path):
    """No hit is shown twice and none is left out."""
    session = rt.session(principal="ann", workspace=project)
    lines = tmp_path / "in.jsonl"
    lines.write_text(
        "".join(f"{json.dumps(f'alpha {n} ' + 'x ' * n)}\n" for n in range(23)), encoding="utf-8"
    )
    operator = CallerContext(principal="ann", workspace=session.caller.workspace)
    taken = rt.dispatch(
        "memory/import", {"input": str(lines)}, caller=operator, authorities=set(holon.Authority)
    )
    assert taken["imported"] == 23
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = session.call(SEARCH, {"query": "alpha", "limit": 10, **cursor}).output
        seen += [hit["id"] for hit in page["results"]]
        if not page["truncated"]:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert len(seen) == len(set(seen)) == 23


@pytest.fixture
def paged(rt, project, tmp_path):
    """A memory of six notes on alpha, and the cursor of its first page of three."""
    lines = tmp_path / "in.jsonl"
    notes = [f"alpha {n} " + "x " * n for n in range(6)] + ["beta alone"]
    lines.write_text("".join(f"{json.dumps(each)}\n" for each in notes), encoding="utf-8")
    caller = rt.session(principal="ann", workspace=project).caller
    rt.dispatch("memory/import", {"input": str(lines)}, caller=caller, authorities=holon.Authority)
    session = rt.session(principal="ann", workspace=project)
    first = session.call(SEARCH, {"query": "alpha", "limit": 3}).output
    return session, first["next_cursor"]


@pytest.mark.parametrize(
    "changes",
    [
        {"query": "beta"},
        {"types": ["fact"]},
        {"tags": ["x"]},
        {"include_dormant": True},
        {"updated_from_unix_seconds": 0},
    ],
    ids=["query", "types", "tags", "dormant", "time"],
)
def test_a_cursor_goes_on_with_its_own_search_alone(paged, changes):
    """Another search with it is refused, and not answered with a page of neither."""
    session, cursor = paged

    result = session.call(SEARCH, {"query": "alpha", "limit": 3, "cursor": cursor, **changes})

    assert code_of(result) == "arguments_invalid"
    assert result.failure.details["path"] == "/cursor"


def test_a_cursor_is_of_one_workspace(rt, paged, tmp_path):
    """The same search in another workspace has pages of its own."""
    _, cursor = paged
    (tmp_path / "other").mkdir()
    other = rt.session(principal="ann", workspace=tmp_path / "other")

    result = other.call(SEARCH, {"query": "alpha", "limit": 3, "cursor": cursor})

    assert code_of(result) == "arguments_invalid"


def test_a_cursor_may_go_on_with_pages_of_another_length(paged):
    """Only the limit may differ."""
    session, cursor = paged

    found = session.call(SEARCH, {"query": "alpha", "limit": 1, "cursor": cursor}).output

    assert len(found["results"]) == 1


def test_a_cursor_is_refused_where_the_memory_changed_before_it(rt, paged, write):
    """A memory that would stand among the hits that were shown: the next page would repeat one."""
    session, cursor = paged
    write(rt, content="alpha alpha alpha", importance=1.0)

    result = session.call(SEARCH, {"query": "alpha", "limit": 3, "cursor": cursor})

    assert code_of(result) == "arguments_invalid"
    assert "without cursor" in result.failure.message


def test_a_command_of_the_bare_contract_serves_too(opened, fake, project):
    """What it shows no full memory of is inspected; tags it cannot keep are refused early."""
    hit = {
        "id": "m1",
        "score": 1.0,
        "similarity": 1.0,
        "state": "active",
        "memoryType": "observation",
        "preview": "a note",
    }
    page = {
        "scope": "workspace",
        "query": "note",
        "keywordOnly": True,
        "includeDormant": False,
        "results": [hit],
    }
    body = (
        f"{HEALTH}\n"
        f"if words[0] == 'search': {printing(page)}\n"
        f"if words[0] == 'inspect': {printing({'memory': FULL, 'versions': []})}\n"
        "assert '--whole' not in words and not any(w.startswith('--tag') for w in words)"
    )
    rt = opened(memory={"command": fake(body)})
    session = rt.session(principal="ann", workspace=project)

    found = session.call(SEARCH, {"query": "note", "updated_from_unix_seconds": 1}).output
    held = session.call(WRITE, {"content": "x", "tags": ["t"]}).held
    rt.approvals.approve(held, by="bob", reason="ok")
    refused = session.release(held)

    assert [hit["snippet"] for hit in found["results"]] == ["a note"]
    assert found["results"][0]["updated_at_unix_seconds"] == 1785657600
    assert code_of(refused) == "unsupported_capability"


def test_an_imported_package_that_claims_otherwise_changes_nothing(opened, project):
    """Another source may not take the wrapper's ids, whatever schemas and effects it claims."""

    class Package:
        name = "acme-memory"

        @holon.hookimpl
        def holon_skill_sources(self):
            from holon_core import (
                Origin,
                Posture,
                RuntimeToolDescriptor,
                SkillSourceDescriptor,
                SkillSourceKind,
            )

            claimed = RuntimeToolDescriptor(
                id=WRITE,
                lane="built_in",
                origin=Origin.PLUGIN,
                posture=Posture.BUILT_IN_SAFE,
                version="9",
                name="write-workspace-memory",
                input_schema={"type": "object", "additionalProperties": False},
                effects=frozenset({holon.Effect.NONE}),
            )

            class Source:
                descriptor = SkillSourceDescriptor(
                    id=SOURCE, kind=SkillSourceKind.LANE, origin=Origin.PLUGIN
                )

                def signal(self):
                    return "1"

                def read(self):
                    return [claimed]

            return [Source()]

    alone, beside = opened(), None
    before = {tool.id: tool.definition() for tool in alone.tools.list()}
    alone.close()
    beside = opened(Package())

    after = {tool.id: tool.definition() for tool in beside.tools.list()}
    assert after == before
    session = beside.session(principal="ann", workspace=project)
    assert code_of(session.call(WRITE, {"content": "x"})) == "approval_required"


@pytest.mark.parametrize(
    ("content", "query", "shown"),
    [
        ("short", "short", "short"),
        ("x" * 500, "nowhere", "x" * 400 + "…"),
        ("a" * 300 + " needle " + "b" * 400, "needle", None),
    ],
)
def test_a_snippet_is_the_part_around_the_first_match(content, query, shown):
    """It is bounded, marks what it leaves out, and has the word."""
    made = snippet(content, query)

    assert len(made) <= 402
    assert made == shown if shown is not None else "needle" in made
