"""Whether each abuse case of these areas has a test that names it."""

from __future__ import annotations

import re

import pytest

from support import ABSENT, ROOT, shared_json_lines

AREAS = ("mcp", "proc", "output", "schema", "approval", "evidence", "store")
CASES = [
    case["id"] for case in shared_json_lines("abuse-cases/cases.jsonl") if case["area"] in AREAS
]
NAME = re.compile(r"^\s*(?:async )?def (test_ab_\w+)", re.MULTILINE)
PART = re.compile(r"(\d{3})(?:_to_(\d{3}))?")


def named() -> set[str]:
    """Return the ids that names of tests hold, ranges included."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in NAME.findall(path.read_text(encoding="utf-8")):
            area = name.split("_")[2].upper()
            for first, last in PART.findall(name):
                numbers = range(int(first), int(last or first) + 1)
                found.update(f"AB-{area}-{number:03}" for number in numbers)
    return found


@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("case", CASES)
def test_every_case_is_named_by_a_test(case):
    """A case that no test handles is a gap."""
    assert case in named()


@pytest.mark.skipif(not CASES, reason=ABSENT)
def test_no_test_names_a_case_that_does_not_exist():
    """A wrong number would hide a gap."""
    areas = {area.upper() for area in AREAS}

    assert {each for each in named() if each.split("-")[1] in areas} <= set(CASES)
