"""What the portable form has no member for, as files of it: other content, whole fixtures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holon_core.errors import JsonRefused, Refused
from holon_core.operations.answers import to_json
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.frozen import FixtureStatus
from holon_core.wire.canonical import canonical, sha256_hex
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from holon_core.records.frozen import Fixture, FrozenToolDefinition

# A tool whose own sources are here can't leave: what is here says what the tool is.
FOLDER = "crystallized/"
CONTENT = f"{FOLDER}content.json"
_FIXTURE = ("input", "expect", "files")


def refuse_clash(definition: FrozenToolDefinition) -> None:
    """Refuse a tool with sources in the folder that is the portable form's.

    Raises:
        Refused: ``unsupported_capability``.
    """
    taken = [each.path for each in definition.files if each.path.startswith(FOLDER)]
    if taken:
        text = f"{taken[0]} lies in {FOLDER}, which the portable form keeps for itself"
        raise Refused(failure("unsupported_capability", text))


def command_of(content: Mapping[str, Any]) -> list[str] | None:
    """Return the command of a content that is nothing else; ``None`` of any other."""
    command = content.get("command")
    if set(content) != {"command"} or not isinstance(command, (list, tuple)):
        return None
    plain = len(command) > 1 and all(isinstance(each, str) for each in command)
    return list(command) if plain else None


def file_of(path: str, value: Any) -> dict[str, str]:
    """Write a JSON value as a file of the definition."""
    text = canonical(value).decode()
    return {"path": path, "sha256": sha256_hex(text.encode()), "content": text}


def fixtures_of(
    definition: FrozenToolDefinition,
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Write fixtures: those with an exact output and no files as they are, all others as files.

    Returns:
        The entries of ``validation``, and the files that they refer to.
    """
    entries: list[dict[str, Any]] = []
    files: list[dict[str, str]] = []
    for number, each in enumerate(definition.fixtures, 1):
        if _is_plain(each):
            made = {"id": each.name, "input": dict(each.input), "output": each.expect.output}
        else:
            whole = to_json(each)
            file = file_of(f"{FOLDER}fixture-{number}.json", {k: whole[k] for k in _FIXTURE})
            files.append(file)
            made = {"id": each.name, "path": file["path"], "sha256": file["sha256"]}
        entries.append(made)
    return entries, files


def _is_plain(fixture: Fixture) -> bool:
    expect = fixture.expect
    exact = expect.status is FixtureStatus.COMPLETED and expect.output is not None
    return exact and expect.output_schema is None and not fixture.files


class Read:
    """The files of a definition as they come in: sources, content and fixtures apart.

    Args:
        data: Contract data that was admitted.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.findings: list[Finding] = []
        made = data["implementation"]
        files = {each["path"]: each for each in made.get("files", ())}
        kept = {path: each for path, each in files.items() if path.startswith(FOLDER)}
        self.sources = [
            {"path": path, "text": each["content"]}
            for path, each in files.items()
            if path not in kept
        ]
        self.content = self._content(made, kept)
        self.fixtures = list(self._fixtures(data.get("validation", ()), kept))

    def _content(self, made: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
        if made.get("entryPoint") == CONTENT:
            return self._object(kept.get(CONTENT), "/implementation/entryPoint")
        command = [made[name] for name in ("language", "entryPoint") if name in made]
        return {"command": [*command, *made.get("arguments", ())]} if command else {}

    def _fixtures(self, entries: Any, kept: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for number, each in enumerate(entries):
            where = f"/validation/{number}"
            if "output" in each:
                expect = {"output": each["output"]}
                yield {"name": each["id"], "input": each.get("input", {}), "expect": expect}
            elif each.get("path", "").startswith(FOLDER):
                file = kept.get(each["path"])
                if file is not None and each.get("sha256", file["sha256"]) != file["sha256"]:
                    self._find("it is not of the digest that is stated here", where)
                yield {**self._object(file, where), "name": each["id"]}

    def _object(self, file: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
        """Read a file as one JSON object; of what is none there is a finding."""
        if file is None:
            self._find("there is no such file", where)
            return {}
        try:
            value = parse(file["content"])
        except JsonRefused as error:
            self._find(f"its file is no strict JSON: {error.message}", where)
            return {}
        if isinstance(value, dict):
            return value
        self._find("its file is no JSON object", where)
        return {}

    def _find(self, message: str, where: str) -> None:
        self.findings.append(Finding(code="source_invalid", message=message, path=where))
