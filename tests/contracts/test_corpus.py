"""The whole corpus: every valid file is recognised and written as it was; bad ones say why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elegy_contracts import canonical, examine, names, parse, recognise, schema, write
from support import ABSENT, shared_folder

FOLDER = shared_folder()
FIXTURES = [] if FOLDER is None else sorted((FOLDER / "elegy-corpus" / "fixtures").glob("*.json"))
pytestmark = pytest.mark.skipif(not FIXTURES, reason=ABSENT)

# Files that are no good, with the code that says so. Source: the corpus' INDEX.
REFUSED = {
    "capability-catalog-v1.negative-cli-without-invocation": "invocation_missing",
    "capability-catalog-v1.negative-duplicate-ids": "duplicate",
    "elegy-package-v1.negative-path-escape": "path_unsafe",
    "elegy-plugin-package-v2.negative-side-effect-loosening": "side_effect_loosened",
    "elegy-plugin-package.negative-phantom-capability": "unknown_capability",
    "elegy-plugin-package.template": "schema",
    "skill-definition.elegy-diagram": "schema",
}
# Files that are read, with the warning that says what of them is of no use.
SPOILED = {
    "elegy-plugin-package.negative-missing-subset-marker": "subset_unmarked",
    "skill.negative-no-output-schema": "output_schema_missing",
    "skill-definition-v2.minimal~a60ea1d": "implementation_missing",
}
# Read with repairs, so that what is written is not what was there.
REPAIRED = ("null_dropped", "hint_translated")
OTHER_NAMES = {
    "capability-catalog-v1": "elegy-capability-catalog-v1",
    "capability-catalog-v2": "elegy-capability-catalog-v2",
    "elegy-plugin-manifest-v2": "elegy-plugin-v2",
    "elegy-plugin-manifest-v3": "elegy-plugin-v3",
    "elegy-plugin-package-v1": "elegy-plugin-package",
    "elegy-plugin-package-v2": "elegy-plugin-package",
    "skill-definition-v2": "skill",
}


def stem(path: Path) -> str:
    return path.name.removesuffix(".json")


def named(path: Path) -> str:
    """Return the contract that a file's name says it is of."""
    name = path.name.split(".")[0].split("~")[0]
    return OTHER_NAMES.get(name, name)


@pytest.mark.parametrize("path", FIXTURES, ids=stem)
def test_every_file_is_recognised(path: Path):
    """By its own marks and members, never by its name."""
    found = recognise(parse(path.read_bytes()))

    if named(path) == "elegy-plugin-manifest-v1":
        assert found in ("elegy-plugin-v1", "elegy-plugin-v1-sdk")
    elif stem(path) == "skill-definition.elegy-diagram":
        assert found == "skill"
    else:
        assert found == named(path)


@pytest.mark.parametrize("path", FIXTURES, ids=stem)
def test_every_file_is_valid_or_refused_for_the_reason_that_is_known(path: Path):
    """What was shipped as valid is read, with findings where it is not; the negatives are not."""
    one = examine(None, parse(path.read_bytes()))
    errors = [each.code for each in one.findings if each.severity == "error"]

    if stem(path) in REFUSED:
        assert REFUSED[stem(path)] in errors
    else:
        assert errors == []
    if stem(path) in SPOILED:
        assert SPOILED[stem(path)] in [each.code for each in one.findings]


VALID = [path for path in FIXTURES if stem(path) not in REFUSED]


@pytest.mark.parametrize("path", VALID, ids=stem)
def test_what_is_read_is_written_as_it_was(path: Path):
    """A record gives the same canonical bytes, unless something was made to fit."""
    data = parse(path.read_bytes())
    one = examine(None, data)
    repaired = any(each.code in REPAIRED for each in one.findings)

    assert canonical(write(one.value)) == one.canonical()
    assert (one.canonical() == canonical(data)) is not repaired


@pytest.mark.parametrize("path", VALID, ids=stem)
def test_snake_case_is_read_as_the_same(path: Path):
    """The documents' spelling gives the same data as the contracts'."""
    from elegy_contracts.spelling import snake

    data = parse(path.read_bytes())
    one = examine(named(path) if named(path) != "elegy-plugin-manifest-v1" else None, data)
    known = schema(one.contract).get("properties", {})

    other = {snake(name) if name in known else name: value for name, value in data.items()}

    assert examine(one.contract, other).canonical() == one.canonical()


def test_every_contract_has_a_schema_that_an_engine_takes():
    """By the fast engine and the plain one."""
    import jsonschema_rs
    from jsonschema import Draft202012Validator

    for name in names():
        made = schema(name)
        Draft202012Validator.check_schema(made)
        jsonschema_rs.validator_for(made)


def test_the_schemas_say_what_the_published_ones_say(shared: Path):
    """Each published schema and ours agree on every file of its contract, valid or not."""
    import jsonschema_rs

    from elegy_contracts.engine import findings

    folder = shared / "elegy-corpus" / "schemas"
    differing = []
    for path in FIXTURES:
        data = parse(path.read_bytes())
        name = recognise(data)
        published = folder / f"{name}.schema.json"
        if name is None or name not in names() or not published.is_file():
            continue
        made: Any = json.loads(published.read_text(encoding="utf-8"))
        if "$ref" in json.dumps(made) and ".schema.json" in json.dumps(made).split("$ref", 1)[1]:
            continue
        theirs = jsonschema_rs.validator_for(made).is_valid(data)
        if theirs != (findings(name, data) == []):
            differing.append(path.name)

    # Read with a warning instead: skills without an implementation.
    assert differing == ["skill-definition-v2.minimal~a60ea1d.json"]
