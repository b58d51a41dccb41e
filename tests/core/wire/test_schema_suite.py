"""Both engines, and admission, against the official JSON Schema test suite."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from holon_core.errors import JsonRefused
from holon_core.wire.engine import Engine, EngineRefused
from holon_core.wire.engine_py import PythonEngine
from holon_core.wire.engine_rs import RustEngine
from holon_core.wire.format_names import ASSERTED
from holon_core.wire.schema_check import check_schema
from holon_core.wire.schema_engine import SchemaValidator
from holon_core.wire.values import normalise

TABLE = Path(__file__).with_name("suite_differences.json")
META_REFERENCE = re.compile(r'"\$ref": "https?://json-schema\.org/')
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def groups(shared: Path) -> Iterator[tuple[str, dict]]:
    root = shared / "conformance/json-schema/tests"
    for draft, uri in DRAFTS.items():
        for file in sorted((root / draft).rglob("*.json")):
            if file.parent.name == "format" and file.stem not in ASSERTED:
                continue
            for group in json.loads(file.read_text(encoding="utf-8")):
                if isinstance(group["schema"], dict):
                    group["schema"] = {"$schema": uri, **group["schema"]}
                yield file.relative_to(root).as_posix(), group


def differing(engine: Engine, group: dict) -> Iterator[str]:
    """Name the tests of one group whose verdict is not the expected one, or is none."""
    try:
        validator = SchemaValidator(group["schema"], engine=engine)
    except EngineRefused:
        yield from (test["description"] for test in group["tests"])
        return
    for test in group["tests"]:
        try:
            value = normalise(test["data"]).value
        except JsonRefused:
            yield test["description"]
            continue
        verdict = validator.is_valid(value)
        assert (validator.errors(value) == ()) == verdict
        if verdict != test["valid"]:
            yield test["description"]


@pytest.mark.parametrize(
    ("name", "engine"), [("rust", RustEngine()), ("python", PythonEngine())], ids=["rust", "python"]
)
def test_the_verdicts_are_the_expected_ones_but_for_the_listed(shared, name, engine):
    """Each difference from the suite is argued in a table, and the table holds nothing else."""
    listed = [row for row in json.loads(TABLE.read_text("utf-8")) if row[0] in ("both", name)]
    used, unlisted, judged = set(), [], 0
    for file, group in groups(shared):
        judged += len(group["tests"])
        for test in differing(engine, group):
            place = (file, group["description"], test)
            rows = [at for at, row in enumerate(listed) if all(map(fnmatchcase, place, row[1:4]))]
            used.update(rows)
            if not rows:
                unlisted.append(place)
    assert judged > 7000
    assert unlisted == []
    assert [row for at, row in enumerate(listed) if at not in used] == []


def test_admission_refuses_no_local_schema_of_the_suite_but_for_the_stated_rules(shared):
    """What the suite takes for a schema is admitted, unless it is foreign, vast or false."""
    refused = set()
    for file, group in groups(shared):
        for finding in check_schema(group["schema"], role="output").findings:
            if finding.severity == "error" and finding.code != "schema_remote_ref":
                refused.add((finding.code, file.partition("/")[2], finding.path.split("/")[-1]))
    assert refused == {
        ("schema_invalid", "boolean_schema.json", ""),
        ("schema_invalid", "const.json", "const"),
        ("schema_invalid", "optional/bignum.json", "maximum"),
        ("schema_invalid", "optional/bignum.json", "minimum"),
        ("schema_unsupported", "vocabulary.json", "$schema"),
        ("schema_unsupported", "optional/format-assertion.json", "$schema"),
    }


def test_admission_finds_exactly_the_references_that_an_engine_would_have_to_fetch(shared):
    """A reference is called remote where the offline engine misses it, or knows a meta-schema."""
    for file, group in groups(shared):
        codes = {finding.code for finding in check_schema(group["schema"], role="output").findings}
        if codes & {"schema_unsupported", "schema_invalid"}:
            continue
        missed = META_REFERENCE.search(json.dumps(group["schema"])) is not None
        try:
            SchemaValidator(group["schema"], engine=RustEngine())
        except EngineRefused:
            missed = True
        assert ("schema_remote_ref" in codes) == missed, (file, group["description"])
