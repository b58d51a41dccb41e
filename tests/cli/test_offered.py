"""Operations of plugins as commands, and as methods of the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Command, Done
from sample_lanes import Site
from support import label

CODE = """
import holon_core as holon

@holon.hookimpl
def holon_operations(host):
    from holon_core.records.operation import Operation
    from holon_core.records.words import Authority, Effect

    text = {"type": "string"}
    rows = {"type": "array", "items": {"type": "object", "properties": {"name": text}}}

    def operation(verb, handler, **more):
        return Operation(
            noun="acme-guests",
            verb=verb,
            authority=Authority.CALLER,
            handler=handler,
            doc=f"About guests: {verb}. More of it.",
            **{
                "request": {"type": "object", "properties": {"name": text}},
                "response": {"type": "object", "properties": {"guests": rows, "status": text}},
                **more,
            },
        )

    yield operation(
        "list",
        lambda door, given: {"guests": [{"name": given.get("name", door.caller.principal)}]},
        listing="guests",
        columns=("name",),
    )
    yield operation(
        "invite",
        lambda door, given: {"status": "invited"},
        positional=("name",),
        effects=frozenset({Effect.NETWORK_WRITE}),
    )
    yield operation("break", lambda door, given: 1 / 0)
    yield operation(
        "note",
        lambda door, given: {"status": given["arguments"]["text"]},
        request={"type": "object", "properties": {"arguments": {"type": "object"}}},
    )
"""


@pytest.fixture
def acme(holon: Command, tmp_path: Path) -> Command:
    """The command where a distribution with operations is installed."""
    site = Site(tmp_path / "site")
    site.add("acme-guests", CODE)
    holon.environment["PYTHONPATH"] = f"{site.folder}:{holon.environment.get('PYTHONPATH', '')}"
    return holon


def test_an_operation_of_a_plugin_is_a_command(acme: Command) -> None:
    """Its listing is a table for people and a document for programs."""
    shown = acme("acme-guests", "list", "--actor", "ann")
    told = acme("acme-guests", "list", "--name", "bo", "--json")

    assert (shown.code, shown.out) == (0, "name\nann\n")
    assert told.json == {"guests": [{"name": "bo"}]}


def test_its_words_and_effects_are_those_of_the_row(acme: Command) -> None:
    """Positional parameters, and evidence in the store that was named."""
    other = acme.folder / "other"

    done = acme("acme-guests", "invite", "bo", "--root", str(other))

    assert (done.code, done.out) == (0, "status: invited\n")
    assert not acme.root.exists()
    listed = acme("evidence", "list", "--root", str(other), "--json").json["records"]
    assert [record["body"]["outcome"] for record in listed] == ["accepted", "completed"]


def test_arguments_are_given_as_words(acme: Command) -> None:
    """Also where no tool says how to read them."""
    assert acme("acme-guests", "note", "text=hi").out == "status: hi\n"


def test_a_handler_that_breaks_is_a_failure_and_no_traceback(acme: Command) -> None:
    """The plugin is named, and the exit code is that of what failed."""
    done = acme("acme-guests", "break")

    assert done.code == 1
    assert "lane_protocol: acme-guests/break of acme-guests raised ZeroDivisionError" in done.err
    assert "Traceback" not in done.err


def test_the_noun_helps(acme: Command) -> None:
    """Its verbs are listed with the first sentence of their text."""
    done = acme("acme-guests", "--help")

    assert done.code == 0
    assert "About guests: invite" in done.out


@pytest.mark.parametrize("words", [("acme-guests", "eat"), ("acme-guest", "list")], ids=label)
def test_what_no_plugin_offers_is_a_mistake(acme: Command, words: tuple[str, ...]) -> None:
    """It is named, and no storage root is made for it."""
    done: Done = acme(*words)

    assert done.code == 2
    assert "No such command" in done.err
    assert not acme.root.exists()


def test_the_settings_of_the_root_say_which_plugins_are_loaded(acme: Command) -> None:
    """A plugin that is not to be loaded brings no command."""
    acme.root.mkdir()
    (acme.root / "holon.toml").write_text("plugins = []\n", encoding="utf-8")

    assert acme("acme-guests", "list").code == 2


@pytest.mark.parametrize("given", [["--root", "ROOT"], ["--root=ROOT"]], ids=["word", "equals"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_root_is_read_wherever_it_stands(acme: Command, given: list[str], place: int) -> None:
    """Before the noun, before the verb or at the end: its settings count."""
    other = acme.folder / "other"
    other.mkdir()
    (other / "holon.toml").write_text("plugins = []\n", encoding="utf-8")
    words = ["acme-guests", "list"]
    words[place:place] = [word.replace("ROOT", str(other)) for word in given]

    assert acme(*words).code == 2


def test_the_server_answers_it(acme: Command) -> None:
    """As a method like any other, listed and called."""
    messages: list[dict[str, Any]] = [
        {"method": "acme-guests/list", "params": {"name": "bo"}},
        {"method": "acme-guests/break"},
        {"method": "protocol/list"},
    ]
    sent = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, **message}) + "\n"
        for number, message in enumerate(messages)
    )

    done = acme("serve", stdin=sent.encode())

    answers = {message["id"]: message for message in map(json.loads, done.out.splitlines())}
    assert answers[0]["result"] == {"guests": [{"name": "bo"}]}
    assert answers[1]["error"]["code"] == -32000
    assert answers[1]["error"]["data"]["failure"]["code"] == "lane_protocol"
    methods = [row["method"] for row in answers[2]["result"]["operations"]]
    assert "acme-guests/invite" in methods


def test_words_of_the_command_are_no_nouns_of_plugins() -> None:
    """What the command uses by itself is reserved."""
    from holon_cli.commands import ALIASES, COMMAND_ONLY
    from holon_cli.common import common_options
    from holon_core.operations.offered import COMMAND_WORDS, COMMON_OPTIONS

    # These two are nouns already: one of the core's, one of a lane's.
    words = {*ALIASES, *(path[0] for path in COMMAND_ONLY)} - {"skill", "workflow-run"}
    assert words == COMMAND_WORDS
    flags = {param.opts[0].removeprefix("--") for param in common_options()}
    # These a row may have: it then takes what the common option says.
    shared = {"workspace", "role", "profile", "plan-step", "run"}
    assert flags - shared | {"help"} == COMMON_OPTIONS
