"""holon.toml, the environment, arguments: what counts, and what is refused with line and key."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holon_core.config import SETTINGS, Config, load
from holon_core.errors import Rejected
from holon_core.records.rule import Condition, Rule
from holon_core.records.tool import Limits
from holon_core.records.words import Decision, Effect, Posture

WHOLE = """\
required_plugins = ["Acme_Policy"]
plugins = ["holon-mcp", "acme.policy"]
approval_ttl_s = 3600
key_ttl_s = 60
retention_days = 30

[store]
journal = "rollback"

[limits]
timeout_s = 5
max_output_bytes = 1000

[secrets]
github = "env:GITHUB_TOKEN"

[lane.notes]
command = ["python", "-m", "notes"]

[memory]
command = ["python", "-m", "elegy_memory"]

[[rules]]
name = "small refunds"
decision = "allow"
id = "host.shop/refund"
lane = "host"
effects = ["network_write"]
role = "support"
profile = "p"
plan_step = "s"
principal = "a*"
workspace = "w"
posture = "host_function"
effects_used = ["none"]
reason = "agreed"

[rules.arguments]
cents = { min = 1, max = 500.5 }
currency = { one_of = ["EUR", "CHF"] }
"/note/text" = { absent = true }
"""


def write(root: Path, text: str | bytes) -> Path:
    raw = text.encode() if isinstance(text, str) else text
    (root / "holon.toml").write_bytes(raw)
    return root


def refused(
    root: Path | None, env: dict[str, str] | None = None, **overrides: Any
) -> list[tuple[str, str]]:
    with pytest.raises(Rejected) as caught:
        load(root, env or {}, overrides=overrides)
    assert all(finding.code == "config_invalid" for finding in caught.value.findings)
    return [(finding.path, finding.message) for finding in caught.value.findings]


def test_every_setting_can_stand_in_the_file(tmp_path: Path) -> None:
    """A file that uses each setting is read as it says, names of distributions normalised."""
    config = load(write(tmp_path, WHOLE), {})

    rule = Rule(
        name="small refunds",
        decision=Decision.ALLOW,
        id="host.shop/refund",
        lane="host",
        effects=(Effect.NETWORK_WRITE,),
        role="support",
        profile="p",
        plan_step="s",
        principal="a*",
        workspace="w",
        posture=Posture.HOST_FUNCTION,
        effects_used=(Effect.NONE,),
        reason="agreed",
        origin="holon.toml:rules[0]",
        arguments={
            "cents": Condition(min=1, max=500.5),
            "currency": Condition(one_of=("EUR", "CHF")),
            "/note/text": Condition(absent=True),
        },
    )
    assert config.rules == (rule,)
    assert config.required_plugins == ("acme-policy",)
    assert config.plugins == ("holon-mcp", "acme-policy")
    assert (config.store_journal, config.approval_ttl_s, config.key_ttl_s) == ("rollback", 3600, 60)
    assert config.retention_days == 30
    assert config.secrets == {"github": "env:GITHUB_TOKEN"}
    assert config.limits == Limits(timeout_s=5.0, max_output_bytes=1000)
    assert config.memory == {"command": ["python", "-m", "elegy_memory"]}
    assert config.lanes == {
        "memory": config.memory,
        "notes": {"command": ["python", "-m", "notes"]},
    }
    assert config.sources == {
        "rules": "holon.toml:23",
        "required_plugins": "holon.toml:1",
        "plugins": "holon.toml:2",
        "store.journal": "holon.toml:8",
        "approval_ttl_s": "holon.toml:3",
        "key_ttl_s": "holon.toml:4",
        "retention_days": "holon.toml:5",
        "limits.timeout_s": "holon.toml:11",
        "limits.max_output_bytes": "holon.toml:12",
        "secrets": "holon.toml:14",
        "lane": "holon.toml:17",
        "memory": "holon.toml:20",
    }


@pytest.mark.parametrize("root", [True, False], ids=["no file", "no root"])
def test_without_a_file_the_defaults_hold(tmp_path: Path, root: bool) -> None:
    """Nothing has to be configured; the sources say so."""
    config = load(tmp_path if root else None, {"PATH": "/bin", "HOLON_OTHER": "x"})

    assert config == Config(sources=config.sources)
    assert config.sources == {setting.key: "default" for setting in SETTINGS}


def test_argument_before_environment_before_file(tmp_path: Path) -> None:
    """The nearer place wins, and is named."""
    root = write(tmp_path, "key_ttl_s = 1\napproval_ttl_s = 1\nretention_days = 1\n")
    env = {"HOLON_KEY_TTL_S": "2", "HOLON_APPROVAL_TTL_S": "2"}

    config = load(root, env, overrides={"key_ttl_s": 3})

    assert (config.key_ttl_s, config.approval_ttl_s, config.retention_days) == (3, 2, 1)
    sources = [config.sources[key] for key in ("key_ttl_s", "approval_ttl_s", "retention_days")]
    assert sources == ["argument", "env HOLON_APPROVAL_TTL_S", "holon.toml:3"]


def test_required_plugins_are_joined(tmp_path: Path) -> None:
    """A program can add to the guards that the operator requires, and drop none."""
    root = write(tmp_path, 'required_plugins = ["a", "b"]')

    config = load(root, {}, overrides={"required_plugins": ["c", "a"]})

    assert set(config.required_plugins) == {"a", "b", "c"}
    assert config.sources["required_plugins"] == "argument + holon.toml:1"


@pytest.mark.parametrize(
    ("text", "plugins"),
    [("", ()), ("holon-mcp", ("holon-mcp",)), (" a , B_c,", ("a", "b-c"))],
    ids=["none", "one", "two"],
)
def test_holon_plugins_names_what_may_load(text: str, plugins: tuple[str, ...]) -> None:
    """A list with commas; the empty text allows none."""
    assert load(None, {"HOLON_PLUGINS": text}).plugins == plugins


def test_an_argument_may_lift_an_optional_setting(tmp_path: Path) -> None:
    """``None`` is a value where the setting has it: all plugins, payloads kept for ever."""
    root = write(tmp_path, "plugins = []\nretention_days = 3")

    config = load(root, {}, overrides={"plugins": None, "retention_days": None})

    assert (config.plugins, config.retention_days) == (None, None)


def test_rules_of_an_argument_replace_those_of_the_file(tmp_path: Path) -> None:
    """A host that passes rules states them all."""
    root = write(tmp_path, '[[rules]]\ndecision = "deny"')
    rule = Rule(decision=Decision.ASK)

    assert load(root, {}, overrides={"rules": [rule]}).rules == (rule,)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"HOLON_KEY_TTL_S": "x"}, "env HOLON_KEY_TTL_S: must be a whole number from 1 to 2592000"),
        ({"HOLON_KEY_TTL_S": "1.5"}, "env HOLON_KEY_TTL_S: must be a whole number from 1 to"),
        ({"HOLON_TIMEOUT_S": "nan"}, "env HOLON_TIMEOUT_S: must be a number from 0.001 to 3600"),
        ({"HOLON_STORE_JOURNAL": "WAL"}, "env HOLON_STORE_JOURNAL: must be one of wal, rollback"),
        ({"HOLON_PLUGINS": "a b"}, "env HOLON_PLUGINS: must be the name of a distribution"),
        ({"HOLON_MAX_OUTPUT_BYTES": "0"}, "env HOLON_MAX_OUTPUT_BYTES: must be a whole number"),
    ],
    ids=lambda value: next(iter(value.items())).__repr__() if isinstance(value, dict) else "",
)
def test_a_bad_variable_is_named(env: dict[str, str], message: str) -> None:
    """The environment is refused as the file is."""
    [(_, said)] = refused(None, env)

    assert said.startswith(message)


def test_a_bad_argument_is_named() -> None:
    """So is what the program passes."""
    found = refused(None, None, **{"journal": "wal", "limits.timeout_s": 0, "key_ttl_s": True})

    assert [message.partition(":")[0] for _, message in found] == [
        "argument journal",
        "argument limits.timeout_s",
        "argument key_ttl_s",
    ]


BAD = json.loads(Path(__file__).with_name("bad_holon_toml.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", BAD, ids=[case["text"][:60] for case in BAD])
def test_a_bad_setting_is_named_with_line_and_key(tmp_path: Path, case: dict[str, str]) -> None:
    """Each kind of mistake is one finding, at its place, with what is expected there."""
    [(path, message)] = refused(write(tmp_path, case["text"]))

    assert path == case["path"]
    assert message.startswith(case["message"])


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "key_ttl_s = " + "9" * 5000], ids=["deep", "huge"]
)
def test_text_that_would_exhaust_the_parser_is_refused(tmp_path: Path, text: str) -> None:
    """Neither the stack nor the limit on digits lets another exception out."""
    [(_, message)] = refused(write(tmp_path, text))

    assert message.startswith("holon.toml:")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """Nobody has to repair a file one message at a time."""
    root = write(tmp_path, "x = 1\n[store]\njournal = 2\n[[rules]]\nid = 3\neffects = ['a', 'b']\n")

    found = refused(root, {"HOLON_KEY_TTL_S": "x"}, nothing=1)

    assert [path for path, _ in found] == [
        "/nothing",
        "/key_ttl_s",
        "/x",
        "/rules/0/id",
        "/rules/0/effects/0",
        "/rules/0/effects/1",
        "/rules/0",
        "/store/journal",
    ]


def test_a_secret_put_in_the_file_by_mistake_is_not_repeated(tmp_path: Path) -> None:
    """Neither message nor exception text shows what stood where a reference belongs."""
    with pytest.raises(Rejected) as caught:
        load(write(tmp_path, "[secrets]\ntoken = 'ghp_0123456789'"), {})

    assert "ghp_" not in str(caught.value) + repr(caught.value.findings)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"a = 1\nb = '\xff'", "holon.toml: line 2: it is not UTF-8"),
        (b"#" * (1024 * 1024 + 1), "holon.toml: it is larger than 1048576 bytes"),
    ],
    ids=["not UTF-8", "too large"],
)
def test_a_file_that_is_no_small_text_is_refused(tmp_path: Path, raw: bytes, message: str) -> None:
    """Bounds and encoding are checked before anything is parsed."""
    assert refused(write(tmp_path, raw)) == [("", message)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """Nothing waits for whoever might write into it."""
    os.mkfifo(tmp_path / "holon.toml")

    assert refused(tmp_path) == [("", "holon.toml: it is not a regular file")]


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """A folder of this name is no configuration."""
    (tmp_path / "holon.toml").mkdir()

    [(_, message)] = refused(tmp_path)

    assert message.startswith("holon.toml: it ")


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """Rules that were meant to be there do not fall back to the defaults."""
    (tmp_path / "holon.toml").symlink_to(tmp_path / "gone")

    assert refused(tmp_path) == [("", "holon.toml: it is a link that leads nowhere")]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    """The same on every Python, whatever its pathlib raises."""
    (tmp_path / "holon.toml").symlink_to(tmp_path / "holon.toml")

    [(_, message)] = refused(tmp_path)

    assert message.startswith("holon.toml: it cannot be read: ")


def test_an_operator_may_link_to_a_file_elsewhere(tmp_path: Path) -> None:
    """Managed hosts keep configuration in one place."""
    (tmp_path / "root").mkdir()
    (tmp_path / "etc.toml").write_text("key_ttl_s = 7")
    (tmp_path / "root" / "holon.toml").symlink_to(tmp_path / "etc.toml")

    assert load(tmp_path / "root", {}).key_ttl_s == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[memory]\ncommnd = ["x"]\n', "holon.toml:2: memory.commnd: unknown key"),
        ('[secrets]\na = "secret:b"\nb = "env:B"\n', "holon.toml:2: secrets.a: names another"),
        ('[secrets]\na = "secret:a"\n', "holon.toml:2: secrets.a: names another"),
    ],
)
def test_a_table_that_says_nothing_usable_opens_nothing(tmp_path, text: str, said: str) -> None:
    """A mistyped key, and a name of a secret that leads to no provider."""
    (tmp_path / "holon.toml").write_text(text, encoding="utf-8")

    with pytest.raises(Rejected) as rejected:
        load(tmp_path, {})

    assert said in rejected.value.findings[0].message
