"""A workspace's [tool.holon]: it may tighten, and nothing else."""

import json
import os
from pathlib import Path

import pytest

from holon_core.config import LimitCaps, WorkspaceConfig, WorkspaceConfigs, load_workspace
from holon_core.records.rule import Rule
from holon_core.records.tool import Limits
from holon_core.records.words import Decision

BAD = json.loads(Path(__file__).with_name("bad_pyproject_toml.json").read_text(encoding="utf-8"))
DENY = '[tool.holon]\nrules = [{decision = "deny"}]\n'


def write(root: Path, text: str) -> Path:
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "text",
    [None, "", "[project]\nname = 'x'", "[tool.ruff]\nline-length = 1", "[tool.holon]"],
    ids=["no file", "empty", "no tool", "no holon", "nothing said"],
)
def test_a_workspace_need_not_say_anything(tmp_path: Path, text: str | None) -> None:
    """Ordinary projects are governed by the operator alone."""
    if text is not None:
        write(tmp_path, text)

    assert load_workspace(tmp_path) == WorkspaceConfig()


def test_deny_and_ask_rules_and_lower_limits_are_read(tmp_path: Path) -> None:
    """What tightens is taken as it stands."""
    write(
        tmp_path,
        '[[tool.holon.rules]]\ndecision = "deny"\nid = "x/*"\n'
        '[[tool.holon.rules]]\ndecision = "ask"\n'
        "[tool.holon.limits]\ntimeout_s = 2\nmax_output_bytes = 10\n",
    )

    config = load_workspace(tmp_path)

    assert config == WorkspaceConfig(
        rules=(
            Rule(decision=Decision.DENY, id="x/*", origin="pyproject.toml:rules[0]"),
            Rule(decision=Decision.ASK, origin="pyproject.toml:rules[1]"),
        ),
        limits=LimitCaps(timeout_s=2, max_output_bytes=10),
    )
    assert config.fault == ""


@pytest.mark.parametrize(
    ("caps", "limits", "lowered"),
    [
        (LimitCaps(), Limits(), Limits()),
        (
            LimitCaps(timeout_s=2, max_output_bytes=9),
            Limits(),
            Limits(timeout_s=2, max_output_bytes=9),
        ),
        (LimitCaps(timeout_s=2), Limits(timeout_s=1), Limits(timeout_s=1)),
        (LimitCaps(timeout_s=2), Limits(timeout_s=9), Limits(timeout_s=2)),
        (LimitCaps(max_output_bytes=99), Limits(max_output_bytes=9), Limits(max_output_bytes=9)),
    ],
    ids=["nothing", "both", "already lower", "lower", "output already lower"],
)
def test_limits_are_lowered_and_never_raised(
    caps: LimitCaps, limits: Limits, lowered: Limits
) -> None:
    """A ceiling above the tool's own limit changes nothing."""
    assert caps.lower(limits) == lowered


@pytest.mark.parametrize("case", BAD, ids=[case["text"] for case in BAD])
def test_anything_else_is_a_finding(tmp_path: Path, case: dict[str, str]) -> None:
    """With line and key; nothing of the file is used then."""
    config = load_workspace(write(tmp_path, case["text"]))

    [finding] = config.findings
    assert finding.message.startswith(case["message"])
    assert config.fault == finding.message
    assert (config.rules, config.limits) == ((), LimitCaps())


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    """What lies outside is neither read nor shown."""
    (tmp_path / "secret.toml").write_text("s3cret")
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "pyproject.toml").symlink_to(tmp_path / "secret.toml")

    [finding] = load_workspace(root).findings

    assert finding.message == "pyproject.toml: it is a link that leads outside"


def test_a_link_inside_the_workspace_is_followed(tmp_path: Path) -> None:
    """Some projects keep the file in a folder of their own."""
    (tmp_path / "real.toml").write_text(DENY)
    (tmp_path / "pyproject.toml").symlink_to("real.toml")

    assert len(load_workspace(tmp_path).rules) == 1


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """Looked at once a second; the answer stays the same object until then, and while unchanged."""
    clock = Clock()
    configs = WorkspaceConfigs(lambda _: tmp_path, clock=clock)
    first = configs("w")
    write(tmp_path, DENY)
    assert configs("w") is first

    clock.now = 1.0
    second = configs("w")
    assert len(second.rules) == 1
    clock.now = 2.0
    assert configs("w") is second

    (tmp_path / "pyproject.toml").unlink()
    clock.now = 3.0
    assert configs("w") == WorkspaceConfig()


def test_a_file_exchanged_for_one_of_equal_size_and_time_is_seen(tmp_path: Path) -> None:
    """The inode tells what size and time do not."""
    clock = Clock()
    path = write(tmp_path, DENY) / "pyproject.toml"
    configs = WorkspaceConfigs(lambda _: tmp_path, clock=clock)
    assert configs("w").rules[0].decision is Decision.DENY
    other = tmp_path / "other"
    other.write_text(DENY.replace('"deny"', '"ask" '))
    found = path.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(path)

    clock.now = 1.0

    assert configs("w").rules[0].decision is Decision.ASK


def test_a_workspace_without_a_folder_says_nothing() -> None:
    """A runtime in memory has workspaces that are names alone."""
    assert WorkspaceConfigs(lambda _: None)("w") == WorkspaceConfig()
