"""What models are shown: valid for each provider, filtered, stable, the same everywhere."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import unicodedata
from typing import Any

import pytest

import holon_core as holon
from support import shared_json

FIVE = ["openai-responses", "openai-chat", "anthropic", "gemini", "mcp"]
EACH = pytest.mark.parametrize("dialect", FIVE)
OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def inner(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a shown tool that has its name."""
    return tool.get("function", tool)


def schema_of(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the input schema of a shown tool."""
    part = inner(tool)
    return part.get("parameters") or part.get("input_schema") or part["inputSchema"]


def walk(schema: Any) -> Any:
    """Yield every schema inside one, by the places of those that are shown."""
    if isinstance(schema, dict):
        yield schema
        for held in schema.get("properties", {}).values():
            yield from walk(held)
        yield from walk(schema.get("items"))
        for branch in schema.get("anyOf", ()):
            yield from walk(branch)


def check_types(dialect: str, tools: list[dict[str, Any]]) -> None:
    """Read shown tools by the types of the provider's own SDK."""
    from pydantic import TypeAdapter

    if dialect == "gemini":
        types = pytest.importorskip("google.genai.types")
        types.Tool(function_declarations=[types.FunctionDeclaration(**each) for each in tools])
        return
    if dialect == "mcp":
        types = pytest.importorskip("mcp.types")
        for each in tools:
            types.Tool.model_validate(each)
        return
    if dialect == "anthropic":
        wanted: Any = pytest.importorskip("anthropic").types.ToolParam
    else:
        openai = pytest.importorskip("openai")
        responses = dialect == "openai-responses"
        wanted = (
            openai.types.responses.FunctionToolParam
            if responses
            else openai.types.chat.ChatCompletionFunctionToolParam
        )
    adapter = TypeAdapter(wanted, config=None)
    for each in tools:
        adapter.validate_python(each)


@EACH
def test_every_tool_of_the_corpus_is_shown_and_valid_by_the_sdk(corpus, corpus_runtime, dialect):
    """All names and schemas, by the provider's types and its documented rules."""
    session = corpus_runtime.session(principal="agent")
    tools = session.tools(dialect, max_tools=100_000)

    assert len(tools) == len(corpus) == len({inner(each)["name"] for each in tools})
    assert all(NAME.fullmatch(inner(each)["name"]) for each in tools)
    check_types(dialect, list(tools))
    for each, about in zip(tools, tools.report, strict=True):
        schema = schema_of(each)
        assert schema["type"].lower() == "object"
        assert "properties" in schema
        assert dialect == "mcp" or not {"anyOf", "oneOf", "allOf", "not", "enum"} & set(schema)
        assert len(inner(each)["description"]) <= 4096
        if about.strict:
            check_strict(dialect, schema)
        else:
            assert about.notes or dialect in ("gemini", "mcp", "anthropic")


@pytest.mark.parametrize("dialect", ["openai-responses", "openai-chat", "anthropic"])
def test_every_tool_of_the_corpus_that_is_strict_alone_keeps_the_rules(corpus_runtime, dialect):
    """Each as if it were the only one of its request, which takes them one by one."""
    projector = corpus_runtime.agents.projector
    named = projector.dialects[dialect]
    each = [projector.rendered(entry, named, strict=True) for entry in projector.entries()]
    strict = [rendered for rendered in each if rendered.strict]

    assert len(strict) > 900
    for rendered in strict:
        check_strict(dialect, schema_of(rendered.fresh()))
    check_types(dialect, [rendered.fresh() for rendered in strict[::20]])
    assert all(one.about().notes for one in each if not one.strict)


def check_strict(dialect: str, schema: dict[str, Any]) -> None:
    """Check the rules of a strict mode that are documented."""
    for part in walk(schema):
        assert not {"$ref", "allOf", "oneOf", "not", "if", "default", "patternProperties"} & set(
            part
        )
        assert "type" in part or "anyOf" in part
        kinds = part.get("type", ())
        if "object" in ([kinds] if isinstance(kinds, str) else kinds):
            assert part["additionalProperties"] is False
            if dialect != "anthropic":
                assert set(part["required"]) == set(part["properties"])


def test_gemini_gets_no_keyword_that_it_refuses(corpus_runtime):
    """No references, consts, type lists, closed objects; enums of texts alone."""
    tools = corpus_runtime.session(principal="agent").tools("gemini", max_tools=100_000)
    refused = {"$ref", "$defs", "$schema", "const", "exclusiveMinimum", "additionalProperties"}

    for tool in tools:
        for part in walk(schema_of(tool)):
            assert not (refused | {"patternProperties", "oneOf", "allOf"}) & set(part)
            assert isinstance(part.get("type", ""), str)
            assert all(isinstance(each, str) for each in part.get("enum", ()))
            assert all(re.fullmatch(r"[A-Za-z_]\w*", n) for n in part.get("properties", {}))


def test_anthropic_gets_no_name_of_a_property_that_it_refuses(corpus_runtime):
    """Whether strict or not."""
    for strict in (True, False):
        session = corpus_runtime.session(principal="agent")
        for tool in session.tools("anthropic", max_tools=100_000, strict=strict):
            for part in walk(schema_of(tool)):
                names = part.get("properties", {})
                assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in names)


@EACH
def test_first_party_tools_are_shown_in_every_dialect(tmp_path, dialect):
    """The workspace tools for a profile that may read, as the SDK takes them."""
    plugin = pytest.importorskip("holon_builtin_workspace.plugin")
    place = tmp_path / "place"
    place.mkdir()
    with holon.Runtime.open(tmp_path / "root", plugins=[plugin], discover=False) as runtime:
        tools = runtime.session(principal="agent", workspace=place).tools(dialect)
        outside = runtime.session(principal="agent").tools(dialect)

    assert [inner(each)["name"] for each in tools] == [
        "workspace-glob",
        "workspace-grep",
        "workspace-list-dir",
        "workspace-read-file",
    ]
    check_types(dialect, list(tools))
    assert list(outside) == []


PROGRAM = """
import json, sys
import holon_core as holon
import holon_builtin_workspace.plugin as plugin

@holon.tool(effects={"none"})
def add(a: int, b: int | None = None, *, kind: str = "x") -> int:
    "Add two numbers."
    return a

@holon.tool(effects={"network_write"})
def send(to: list[str], body: dict[str, str]) -> None:
    "Send."

with holon.Runtime.open(sys.argv[1], plugins=[plugin], tools=[send, add], discover=False) as rt:
    session = rt.session(principal="agent", workspace=sys.argv[2])
    for dialect in rt.agents.dialects():
        print(json.dumps(session.tools(dialect.id)))
"""


def test_two_processes_show_the_same_bytes(tmp_path):
    """Whatever the seed of their hashes is."""
    pytest.importorskip("holon_builtin_workspace")
    (tmp_path / "place").mkdir()
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / f"root{seed}", tmp_path / "place"],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in (1, 2)
    ]

    assert printed[0] == printed[1]
    assert printed[0].count(b"\n") == 5


def names(runtime: holon.Runtime, **who: Any) -> list[str]:
    session = runtime.session(principal="agent", **who)
    return [each["name"] for each in session.tools("openai-responses")]


@pytest.mark.parametrize(
    "name", ["write-workspace-memory", "request-workspace-memory-write-approval"]
)
def test_memory_writes_are_in_no_projection_whatever_a_definition_says(name):
    """Nor do they run where a model names them; their own lane would be the only way."""
    from holon_core.records.tool import RUNTIME_ONLY, RuntimeToolDescriptor

    tool = RuntimeToolDescriptor(
        id=f"holon.built-in.memory/{name}",
        lane="built_in",
        origin=holon.Origin.BUILT_IN,
        posture=holon.Posture.BUILT_IN_SAFE,
        version="1",
        name=name,
        input_schema=OBJECT,
        effects=frozenset({holon.Effect.HOST_STATE_WRITE}),
        projections=("function_calling",),
    )

    assert tool.id in RUNTIME_ONLY
    assert not tool.projectable
    assert tool.readiness.value == "context_loadable"


def test_the_memory_lane_shows_no_model_how_to_write(tmp_path):
    """Its reads may be shown; its writes are in the catalogue, and in no projection."""
    plugin = pytest.importorskip("holon_builtin_memory.plugin")
    place = tmp_path / "place"
    place.mkdir()
    with holon.Runtime.open(tmp_path / "root", plugins=[plugin], discover=False) as runtime:
        rules = holon.AgentProfile(id="all")
        runtime.agents.profiles.create(rules, by="operator", reason="all")
        session = runtime.session(principal="agent", workspace=place, profile="all")
        ids = {each.id.partition("/")[2] for each in runtime.tools.list(limit=100)}
        shown = {inner(t)["name"] for d in FIVE for t in session.tools(d)}

        writes = {"write-workspace-memory", "request-workspace-memory-write-approval"}
        assert writes <= ids
        assert not writes & shown
        for name in writes:
            call = {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}
            assert session.answer(call).result.failure.code == "not_allowed"


def test_a_tool_that_policy_denies_is_gone_and_one_that_asks_is_shown(having):
    """Policy is asked without arguments."""

    @holon.tool(effects={"network_write"})
    def send() -> None:
        """Send."""

    @holon.tool(effects={"none"})
    def look() -> None:
        """Look."""

    rules = [{"id": "host.app/look", "role": "guest", "decision": "deny", "reason": "no"}]
    runtime = having(tools=[send, look], config={"rules": rules})

    assert names(runtime) == ["look", "send"]
    assert names(runtime, role="guest") == ["send"]


def test_a_tool_of_the_runtime_alone_is_neither_shown_nor_called_for_a_model(having):
    """Projection is narrower than authority."""
    runtime = having(("corp.a", "door", "Open.", OBJECT), projections=())
    session = runtime.session(principal="agent")
    call = {"type": "function_call", "call_id": "1", "name": "corp_a__door", "arguments": "{}"}

    assert names(runtime) == []
    assert session.answer(call).result.failure.code == "not_allowed"
    assert session.call("corp.a/door").output == {"got": {}}


def test_one_more_tool_moves_nothing_else(having):
    """The list before is the list after, with one item put in."""
    tools = [("corp.a", name, "Text.", OBJECT) for name in ("b", "d", "f")]
    before, after = having(*tools), having(*tools, ("corp.a", "e", "Text.", OBJECT))

    one, other = (each.session(principal="x").tools("openai-chat") for each in (before, after))

    assert [each for each in other if each in one] == list(one)
    assert len(other) == len(one) + 1


def test_what_a_caller_does_to_its_list_is_nobody_elses(having):
    """Each list is a copy."""
    runtime = having(("corp.a", "b", "Text.", OBJECT))
    session = runtime.session(principal="x")
    session.tools("gemini")[0]["parameters"].clear()

    assert session.tools("gemini")[0]["parameters"]["type"] == "OBJECT"


def test_a_budget_keeps_what_fits_the_query_and_says_what_it_left_out(having):
    """Best first by discovery, shown by id; a search is added for the rest."""
    about = {"apples": "Peel apples.", "boats": "Sail boats.", "cups": "Wash cups and apples."}
    about = {name: f"{text} {'And so on. ' * 40}" for name, text in about.items()}
    runtime = having(*(("corp.a", name, text, OBJECT) for name, text in about.items()))
    session = runtime.session(principal="x")
    whole = session.tools("openai-responses")

    cut = session.tools("openai-responses", max_tokens=300, query="peel apples")

    assert whole.estimated_tokens == -(-len(json.dumps(list(whole), separators=(",", ":"))) // 4)
    assert [each["name"] for each in cut] == ["search_tools", "corp_a__apples"]
    assert cut.estimated_tokens <= 300
    assert set(cut.left_out) == {each.id for each in whole.report} - {e.id for e in cut.report}


def test_without_room_for_one_tool_there_is_only_the_search(having):
    """A budget is never exceeded by tools."""
    runtime = having(("corp.a", "b", "Text.", OBJECT))

    cut = runtime.session(principal="x").tools("anthropic", max_tokens=0)

    assert [each["name"] for each in cut] == ["search_tools"]


def test_a_request_of_openai_has_at_most_128_tools(having):
    """The rest is found by a search."""
    runtime = having(*(("corp.a", f"t{n:03}", "Text.", OBJECT) for n in range(140)))

    tools = runtime.session(principal="x").tools("openai-responses")

    assert len(tools) == 128
    assert len(tools.left_out) == 13


def having_options(prefix: str, number: int, options: int, kind: Any = "string") -> list[Any]:
    """Make tools with one property that is needed, and others that may be left out."""
    properties = {"need": {"type": kind}, **{f"o{n}": {"type": "string"} for n in range(options)}}
    schema = {**OBJECT, "properties": properties, "required": ["need"]}
    return [("corp.a", f"{prefix}{n:02}", "Text.", schema) for n in range(number)]


def strict_ones(runtime: holon.Runtime, **options: Any) -> list[str]:
    """Return which tools Anthropic is shown strictly; what a request takes is never passed."""
    tools = runtime.session(principal="x").tools("anthropic", **options)
    schemas = [each["input_schema"] for each in tools if each["strict"]]
    parts = [part for schema in schemas for part in walk(schema)]
    left_out = sum(len(p.get("properties", ())) - len(p.get("required", ())) for p in parts)
    several = sum("anyOf" in part or isinstance(part.get("type"), list) for part in parts)
    assert (len(schemas) <= 20, left_out <= 24, several <= 16) == (True, True, True)
    for each, about in zip(tools[len(tools) - len(tools.report) :], tools.report, strict=True):
        assert each["strict"] is about.strict
        assert about.strict or "not strict" in about.notes[-1]
    return [each["name"].removeprefix("corp_a__") for each in tools if each["strict"]]


def test_more_strict_tools_than_a_request_takes_are_all_shown_without(having):
    """Which of them would be left strict depended on the others."""
    tools = [("corp.a", f"t{n}", "Text.", OBJECT) for n in range(21)]

    assert strict_ones(having(*tools)) == []
    assert len(strict_ones(having(*tools[:20]))) == 20
    # The search is one of them, too.
    assert strict_ones(having(*tools[:20]), search=True) == []
    # What is not sent does not count.
    assert len(strict_ones(having(*tools), max_tools=5)) == 5


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        (having_options("fat", 1, 25) + having_options("thin", 2, 12), ["thin00", "thin01"]),
        (having_options("fat", 3, 12) + having_options("none", 2, 0), ["none00", "none01"]),
        (
            having_options("union", 16, 0, ["string", "integer"]),
            [f"union{n:02}" for n in range(16)],
        ),
        (
            having_options("union", 17, 0, ["string", "integer"]) + having_options("z", 1, 1),
            ["z00"],
        ),
    ],
    ids=["one alone", "together", "unions that fit", "unions together"],
)
def test_a_request_of_anthropic_takes_so_many_options_and_unions(having, tools, wanted):
    """What alone is too much is shown without; else all that take part, and the note says why."""
    assert strict_ones(having(*tools)) == wanted


def test_calls_of_tools_that_lost_strict_mode_are_answered(having):
    """Their arguments go the way of the form that was shown."""
    runtime = having(*having_options("fat", 3, 12))
    session = runtime.session(principal="x")
    name = session.tools("anthropic")[0]["name"]

    message = session.answer({"type": "tool_use", "id": "1", "name": name, "input": {"need": "a"}})

    assert json.loads(message["content"]) == {"got": {"need": "a"}}


def test_making_a_list_leaves_the_collection_of_garbage_as_the_host_has_it(having):
    """It is put off for a moment alone, and one that is turned off stays off."""
    session = having(("corp.a", "b", "Text.", OBJECT)).session(principal="x")
    try:
        for enabled in (True, False):
            (gc.enable if enabled else gc.disable)()
            session.tools("mcp")
            assert gc.isenabled() is enabled
    finally:
        gc.enable()


DEFINED = {"d14": {"type": "string"}} | {
    f"d{n}": {
        "type": "object",
        "properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in ("left", "right")},
    }
    for n in range(14)
}
HOSTILE: dict[str, Any] = {
    "holds itself": {"properties": {"a": {"$ref": "#"}}},
    "a tree": {
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {
            "n": {
                "type": "object",
                "properties": {"k": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
            }
        },
    },
    "doubles fourteen times": {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": DEFINED},
    "six thousand properties": {"properties": {f"p{n}": {"type": "string"} for n in range(6000)}},
    "a long enum": {"properties": {"e": {"enum": [f"{'x' * 60}{n}" for n in range(300)]}}},
    "many long values": {
        "properties": {
            f"e{m}": {"enum": [f"{'x' * 490}{m}-{n}" for n in range(20)]} for m in range(13)
        }
    },
    "a dynamic reference": {
        "properties": {"a": {"$dynamicRef": "#m"}},
        "$defs": {"q": {"$dynamicAnchor": "m", "type": "string"}},
    },
    "names that no provider takes": {
        "properties": {name: {"type": "string"} for name in ("", "a b", "a/b", "取", "x" * 300)}
    },
}


@pytest.mark.parametrize("dialect", FIVE)
def test_hostile_schemas_are_shown_without_what_cannot_be_said(having, dialect):
    """Bounded, valid by the SDK, strict only within the provider's limits, and answered."""
    tools = [
        ("corp.a", f"t{n}", "T.", {"type": "object", **schema})
        for n, schema in enumerate(HOSTILE.values())
    ]
    runtime = having(*tools)
    session = runtime.session(principal="x")

    shown = session.tools(dialect)

    assert len(shown) == len(HOSTILE)
    check_types(dialect, list(shown))
    for tool, about in zip(shown, shown.report, strict=True):
        assert about.chars < 400_000
        assert not about.strict or len(json.dumps(schema_of(tool))) < 150_000
        for part in walk(schema_of(tool)) if about.strict else ():
            texts = [each for each in part.get("enum", ()) if isinstance(each, str)]
            assert dialect == "anthropic" or len(texts) <= 250 or sum(map(len, texts)) <= 15_000
    strict = {name for name, each in zip(HOSTILE, shown.report, strict=True) if each.strict}
    assert not strict & {"holds itself", "a tree", "doubles fourteen times", "a dynamic reference"}
    if dialect.startswith("openai"):
        assert strict == {"names that no provider takes"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/x"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"e": {"enum": [f"v{n}" for n in range(20_000)]}}},
    ],
    ids=["a ring", "itself", "twenty thousand values"],
)
def test_a_schema_that_says_nothing_or_costs_too_much_is_refused_at_registration(having, schema):
    """So no model is ever shown it."""
    runtime = having(("corp.a", "t", "T.", {"type": "object", **schema}))

    assert any(e.severity.value == "error" for e in runtime.tools.findings("corp.a/t"))
    assert list(runtime.session(principal="x").tools("mcp")) == []


def test_ab_mcp_004_the_same_name_on_two_servers_gives_two(having):
    """In any order of import, and a call goes to the server whose name it is."""
    tools = [(f"corp.{server}", "query", "Ask.", OBJECT) for server in ("a", "b")]
    one, other = having(*tools), having(*reversed(tools))

    assert names(one) == names(other) == ["corp_a__query", "corp_b__query"]


def test_ab_mcp_005_a_tool_named_like_a_built_in_gets_a_qualified_name(having, tmp_path):
    """The built-in keeps its own, and nothing else ever resolves to it."""
    runtime = having(("corp.a", "workspace-read-file", "Fake.", OBJECT))

    assert names(runtime) == ["corp_a__workspace-read-file"]
    call = {"type": "function_call", "call_id": "1", "name": "workspace-read-file", "arguments": ""}
    answer = runtime.session(principal="x").answer(call)
    assert answer.result.failure.code == "unknown_tool"


def test_ab_mcp_006_names_over_64_characters_stay_apart(having):
    """Two that share their first 58 characters, from a server with a long name."""
    source = f"corp.{'s' * 35}"
    two = ["t" * 58 + end for end in ("aa", "bb")]
    runtime = having(*((source, name, "Text.", OBJECT) for name in two))
    session = runtime.session(principal="x")
    shown = [each["name"] for each in session.tools("openai-responses")]

    assert len(set(shown)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in shown)
    for name in shown:
        call = {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}
        assert session.answer(call).result.status is holon.Status.COMPLETED


def test_ab_mcp_007_names_with_illegal_characters_stay_apart(having):
    """A space, a dot and a slash do not become one."""
    given = ["get user", "get.user", "get/user", "取得", "1st"]
    runtime = having(*(("corp.a", name, "Text.", OBJECT) for name in given))

    shown = names(runtime)

    assert len(set(shown)) == len(given)
    assert all(NAME.fullmatch(name) for name in shown)


def texts(value: Any) -> Any:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


@pytest.mark.skipif(not shared_json("abuse-cases/inputs/mcp/poisoned.json"), reason="no test data")
def test_ab_mcp_012_what_is_hidden_in_a_description_is_bounded_and_cleaned(having):
    """No zero-width, bidirectional or control character reaches a model; the text is cut."""
    poisoned = " ".join(texts(shared_json("abuse-cases/inputs/mcp/poisoned.json")))
    text = f"\x1b[31mred\x1b[0m \u202eevil\u2066 zero\u200bwidth {poisoned}" + "x" * 40_000
    schema = {**OBJECT, "properties": {"a": {"type": "string", "description": text}}}
    runtime = having(("corp.a", "b", text, schema))
    session = runtime.session(principal="x")

    for dialect in FIVE:
        shown = json.dumps(session.tools(dialect)[0], ensure_ascii=False)
        assert len(shown) < 7000
        hidden = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs")}
        assert hidden == set()
        assert "[31m" not in shown
    assert runtime.tools.read("corp.a/b").description == text


def test_plugins_offer_dialects_under_their_own_name():
    """What has another's name, or is no dialect, is reported."""
    sound = {
        "tool": {"n": "$name"},
        "result": {"t": "$text"},
        "call_name": ("n",),
        "call_arguments": ("a",),
        "loose": holon.SchemaRules(as_is=True),
    }

    class Acme:
        name = "acme"

        @holon.hookimpl
        def holon_dialects(self, host):
            yield holon.FunctionDialect(id="acme-x", **sound)
            yield holon.FunctionDialect(id="anthropic", **sound)
            yield holon.FunctionDialect(id="acme-y", **{**sound, "property_pattern": "("})
            yield 1

    with holon.Runtime.in_memory(plugins=[Acme()]) as runtime:
        assert [each.id for each in runtime.agents.dialects()] == [*FIVE, "acme-x"]
        assert len(runtime.plugins.list()[0].problems) == 3
        with pytest.raises(holon.Misuse, match="anthropic"):
            runtime.session(principal="x").tools("antropic")
