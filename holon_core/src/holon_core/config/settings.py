"""The settings of a storage root: argument before environment before ``holon.toml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from holon_core.config import checks
from holon_core.config.checks import Check
from holon_core.config.document import Findings, Unreadable, parse, read_bounded
from holon_core.config.lines import Path as KeyPath
from holon_core.config.lines import line_of
from holon_core.config.records import DAY_S, EMPTY, FILE, LIMITS, Config, Journal
from holon_core.config.rule_tables import rules_of
from holon_core.errors import Rejected
from holon_core.records.base import Record
from holon_core.records.finding import Finding
from holon_core.records.tool import Limits


@frozen(kw_only=True, eq=False, repr=False)
class Setting(Record):
    """One row of the table of settings; ``key`` is dotted as in ``holon.toml``.

    A ``joined`` setting is the union of all places instead of the first of them.
    """

    key: str
    default: Any
    check: Check
    env: str = ""
    from_text: Callable[[str], Any] = str
    nullable: bool = False
    joined: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The steps to it in ``holon.toml``."""
        return tuple(self.key.split("."))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_DISTRIBUTIONS = checks.list_of(checks.distribution)

SETTINGS: tuple[Setting, ...] = (
    Setting(key="rules", default=(), check=rules_of(FILE)),
    # Joined, so that neither a program nor its environment can drop a guard of the operator.
    Setting(key="required_plugins", default=(), check=_DISTRIBUTIONS, joined=True),
    Setting(
        key="plugins",
        default=None,
        check=_DISTRIBUTIONS,
        env="HOLON_PLUGINS",
        from_text=_names,
        nullable=True,
    ),
    Setting(
        key="store.journal",
        default=Journal.WAL,
        check=checks.word(Journal),
        env="HOLON_STORE_JOURNAL",
    ),
    Setting(
        key="approval_ttl_s",
        default=DAY_S,
        check=checks.between(1, 30 * DAY_S),
        env="HOLON_APPROVAL_TTL_S",
        from_text=_number,
    ),
    Setting(
        key="key_ttl_s",
        default=DAY_S,
        check=checks.between(1, 30 * DAY_S),
        env="HOLON_KEY_TTL_S",
        from_text=_number,
    ),
    Setting(
        key="retention_days",
        default=None,
        check=checks.between(1, 36_500),
        env="HOLON_RETENTION_DAYS",
        from_text=_number,
        nullable=True,
    ),
    Setting(
        key="limits.timeout_s",
        default=LIMITS.timeout_s,
        check=checks.between(0.001, 3600, whole=False),
        env="HOLON_TIMEOUT_S",
        from_text=_number,
    ),
    Setting(
        key="limits.max_output_bytes",
        default=LIMITS.max_output_bytes,
        check=checks.between(1, 64 * 1024 * 1024),
        env="HOLON_MAX_OUTPUT_BYTES",
        from_text=_number,
    ),
    Setting(key="secrets", default=EMPTY, check=checks.secret_references),
    Setting(key="lane", default=EMPTY, check=checks.tables),
    Setting(key="memory", default=EMPTY, check=checks.memory),
)
_GROUPS = sorted({setting.path[0] for setting in SETTINGS if len(setting.path) > 1})


def _with_memory(
    lanes: Mapping[str, Mapping[str, Any]], memory: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Let ``[memory]`` be the table of the memory lane."""
    if not memory:
        return dict(lanes)
    return {**lanes, "memory": {**lanes.get("memory", {}), **memory}}


def load(
    root: Path | None, env: Mapping[str, str], *, overrides: Mapping[str, Any] = EMPTY
) -> Config:
    """Read the settings of a storage root.

    Args:
        root: The storage root whose ``holon.toml`` is read, at most 1 MiB; ``None`` reads none.
        env: The environment; of it only the variables of the table of settings are looked at.
        overrides: What the program says, by the dotted key of the setting, e.g.
            ``store.journal``; ``rules`` may be ``Rule`` records.

    Returns:
        Every setting, taken from the argument, else the environment, else the file, else the
        default; ``required_plugins`` joins all of them.

    Raises:
        Rejected: Anything is unknown, of the wrong type or out of range; ``findings`` names
            each with file, line and key, variable or argument.

    Source: design, section 7.
    """
    places = [_arguments(overrides), _environment(env), _file(root)]
    if findings := [finding for place in places for finding in place.findings]:
        raise Rejected(FILE if findings == list(places[-1].findings) else "settings", findings)
    chosen = {setting.key: _choose(setting, places) for setting in SETTINGS}
    values = {key: value for key, (value, _) in chosen.items()}
    return Config(
        rules=values["rules"],
        required_plugins=values["required_plugins"],
        plugins=values["plugins"],
        store_journal=values["store.journal"],
        approval_ttl_s=values["approval_ttl_s"],
        key_ttl_s=values["key_ttl_s"],
        retention_days=values["retention_days"],
        secrets=MappingProxyType(dict(values["secrets"])),
        limits=Limits(
            timeout_s=float(values["limits.timeout_s"]),
            max_output_bytes=values["limits.max_output_bytes"],
        ),
        lanes=MappingProxyType(_with_memory(values["lane"], values["memory"])),
        memory=MappingProxyType(dict(values["memory"])),
        sources=MappingProxyType({key: source for key, (_, source) in chosen.items()}),
    )


@frozen(kw_only=True, eq=False, repr=False)
class _Place(Record):
    """What one place says: values by key, where exactly, and what is wrong there."""

    values: Mapping[str, Any] = EMPTY
    sources: Mapping[str, str] = EMPTY
    findings: tuple[Finding, ...] = ()


def _choose(setting: Setting, places: list[_Place]) -> tuple[Any, str]:
    saying = [place for place in places if setting.key in place.values]
    if not saying:
        return setting.default, "default"
    if not setting.joined:
        return saying[0].values[setting.key], saying[0].sources[setting.key]
    joined = dict.fromkeys(item for place in saying for item in place.values[setting.key])
    return tuple(joined), " + ".join(place.sources[setting.key] for place in saying)


def _arguments(overrides: Mapping[str, Any]) -> _Place:
    findings = Findings(lambda path: f"argument {'.'.join(str(part) for part in path)}")
    settings = {setting.key: setting for setting in SETTINGS}
    findings.unknown_keys(overrides, settings, ())
    values = {
        key: None
        if value is None and settings[key].nullable
        else settings[key].check(value, settings[key].path, findings)
        for key, value in overrides.items()
        if key in settings
    }
    rules = values.get("rules")
    if rules:
        # The tables of a file and of an argument are read alike; a verdict tells them apart.
        values["rules"] = tuple(
            evolve(rule, origin=rule.origin.replace(f"{FILE}:", "argument:", 1)) for rule in rules
        )
    sources = dict.fromkeys(values, "argument")
    return _Place(values=values, sources=sources, findings=tuple(findings.found))


def _environment(env: Mapping[str, str]) -> _Place:
    values: dict[str, Any] = {}
    found: list[Finding] = []
    named = [setting for setting in SETTINGS if setting.env and setting.env in env]
    for setting in named:
        findings = Findings(lambda _, name=setting.env: f"env {name}")  # type: ignore[misc]
        value = setting.from_text(env[setting.env])
        values[setting.key] = setting.check(value, setting.path, findings)
        found += findings.found
    sources = {setting.key: f"env {setting.env}" for setting in named}
    return _Place(values=values, sources=sources, findings=tuple(found))


def _file(root: Path | None) -> _Place:
    if root is None:
        return _Place()
    try:
        raw = read_bounded(root / FILE)
        document, lines = parse(raw or b"")
    except Unreadable as error:
        finding = Finding(code="config_invalid", message=f"{FILE}: {error}")
        return _Place(findings=(finding,))
    findings = Findings.of_file(FILE, lines)
    values = _file_values(document, findings)
    sources = {
        setting.key: f"{FILE}:{line_of(lines, setting.path)}"
        for setting in SETTINGS
        if setting.key in values
    }
    return _Place(values=values, sources=sources, findings=tuple(findings.found))


def _file_values(document: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    tables: dict[KeyPath, Mapping[str, Any]] = {(): document}
    findings.unknown_keys(document, [setting.path[0] for setting in SETTINGS], ())
    for group in _GROUPS:
        table = checks.table(document.get(group, {}), (group,), findings) or {}
        known = [setting.path[1] for setting in SETTINGS if setting.path[0] == group]
        findings.unknown_keys(table, known, (group,))
        tables[(group,)] = table
    return {
        setting.key: setting.check(tables[setting.path[:-1]][name], setting.path, findings)
        for setting in SETTINGS
        if (name := setting.path[-1]) in tables[setting.path[:-1]]
    }
