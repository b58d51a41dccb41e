"""``python -m elegy_contracts validate FILE…``: what each file is, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elegy_contracts.finding import ContractError, Finding
from elegy_contracts.reading import Reading, examine
from elegy_contracts.strict import MAX_BYTES, parse

MAX_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 where every file is valid, 1 where one is not, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m elegy_contracts", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    validate = commands.add_parser("validate", help="say what each file is and what is wrong")
    validate.add_argument("files", nargs="+", metavar="FILE", help="a file, or a folder of them")
    validate.add_argument("--contract", help="which contract they have to be")
    validate.add_argument("--json", action="store_true", help="one JSON document for programs")
    given = parser.parse_args(arguments)
    if given.contract is not None:
        from elegy_contracts.shapes import names

        if given.contract not in names():
            parser.error(f"no contract {given.contract!r}; known are {', '.join(names())}")
    results = [(path, _examined(path, given.contract)) for path in _files(given.files)]
    if given.json:
        _say(json.dumps([_json(path, one) for path, one in results], indent=2))
    else:
        for path, one in results:
            _print(path, one)
    return 0 if results and all(one.valid for _, one in results) else 1


def _files(given: Sequence[str]) -> Iterator[Path]:
    for name in given:
        path = Path(name)
        yield from sorted(path.rglob("*.json")) if path.is_dir() else [path]


def _examined(path: Path, contract: str | None) -> Reading:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        fault = Finding(code="unreadable", message=str(error.strerror))
        return Reading(contract="", data=None, findings=(fault,))
    try:
        data = parse(text, subject=path.name)
    except ContractError as error:
        return Reading(contract="", data=None, findings=error.findings)
    return examine(contract, data)


def _print(path: Path, one: Reading) -> None:
    state = "valid" if one.valid else "INVALID"
    _say(f"{_shown(str(path))}: {one.contract or 'unknown'}: {state}")
    for each in one.findings[:MAX_SHOWN]:
        _say(f"  {each.severity} {each.code} at {_shown(each.path) or '/'}: {_shown(each.message)}")
    if len(one.findings) > MAX_SHOWN:
        _say(f"  and {len(one.findings) - MAX_SHOWN} more")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _shown(text: str) -> str:
    """Write a text of others in one line that a terminal can show."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _json(path: Path, one: Reading) -> dict[str, Any]:
    return {
        "file": str(path),
        "contract": one.contract or None,
        "valid": one.valid,
        "findings": [
            {
                "code": each.code,
                "severity": each.severity.value,
                "path": each.path,
                "message": each.message,
            }
            for each in one.findings
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
