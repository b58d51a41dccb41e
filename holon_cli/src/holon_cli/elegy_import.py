"""`holon skill import-elegy`: files and folders of Elegy definitions, with progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holon_cli.common import Setup, common_options
from holon_cli.exits import Exit
from holon_cli.helping import HelpfulCommand
from holon_cli.host import opened

if TYPE_CHECKING:
    from holon_cli.host import Host
    from holon_cli.output import Output

SOURCE = "holon-elegy.local"
HELP = (
    "Import Elegy definitions from files, or from all *.json files of folders.\n\n"
    "The same definition again changes nothing; a changed one is a new revision, shows its "
    "difference and voids approvals. Files of folders that hold no skill are left out and named. "
    "Nothing that is imported runs before its gates pass: see `holon skill approve` and "
    "`holon tool explain`."
)
MAX_FILES = 100_000
MAX_FILE_BYTES = 900_000
# What one request may hold is bounded; a single large definition goes alone.
BATCH_BYTES = 500_000
BATCH = 500
NO_SKILL = ("no_skill:", "unknown_contract:")


def import_command() -> click.Command:
    """Make the command."""

    @click.pass_context
    def run(context: click.Context, /, *, paths: tuple[str, ...], source: str, **_: object) -> int:
        out: Output = context.obj
        files = list(_files(paths))
        with opened(Setup.of(context)) as host:
            host.dispatch("skill-source/register", {"source": source, "kind": "elegy_v2"})
            rows = list(_imported(host, source, files, out))
        return _show(out, source, rows)

    return HelpfulCommand(
        name="import-elegy",
        params=[
            click.Argument(["paths"], nargs=-1, required=True, metavar="FILE|FOLDER..."),
            click.Option(
                ["--source"],
                default=SOURCE,
                metavar="ID",
                help=f"Source of the skills, registered where it is not yet. Default {SOURCE}.",
            ),
            *common_options(),
        ],
        callback=run,
        help=HELP,
        short_help="Import Elegy definitions from files and folders",
    )


def _files(paths: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and whether it was named itself."""
    count = 0
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise click.UsageError(f"{name}: no such file or folder")
        found = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        for each in found:
            count += 1
            if count > MAX_FILES:
                raise click.UsageError(f"more than {MAX_FILES} files; name fewer")
            yield each, not path.is_dir()


def _imported(
    host: Host, source: str, files: Sequence[tuple[Path, bool]], out: Output
) -> Iterator[dict[str, Any]]:
    read: list[tuple[Path, bool, Any]] = []
    size = 0
    with _progress(out, len(files)) as advance:
        for path, named in files:
            data, length, problem = _read(path)
            advance()
            if problem:
                yield _row(path, "rejected", findings=[_finding(problem)])
                continue
            if read and (size + length > BATCH_BYTES or len(read) >= BATCH):
                yield from _batch(host, source, read)
                read, size = [], 0
            read.append((path, named, data))
            size += length
        if read:
            yield from _batch(host, source, read)


def _read(path: Path) -> tuple[Any, int, str]:
    from holon_core.errors import JsonRefused
    from holon_core.wire.strict_json import parse

    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return None, 0, f"it cannot be read: {error.strerror}"
    if len(text) > MAX_FILE_BYTES:
        return None, 0, f"it has more than {MAX_FILE_BYTES} bytes"
    try:
        data: Any = parse(text.removeprefix(b"\xef\xbb\xbf"))
    except JsonRefused as error:
        return None, 0, str(error)
    if not isinstance(data, dict):
        return None, 0, "it holds no JSON object"
    return data, len(text), ""


def _batch(
    host: Host, source: str, read: Sequence[tuple[Path, bool, Any]]
) -> Iterator[dict[str, Any]]:
    params = {"source": source, "definitions": [data for _, _, data in read]}
    answer = host.dispatch("skill/import-elegy-v2", params)
    for at, each in zip(answer["definitions"], answer["skills"], strict=True):
        path, named, _ = read[at]
        state = each["state"]
        told = [finding["message"] for finding in each["findings"]]
        if state == "rejected" and not named and any(t.startswith(NO_SKILL) for t in told):
            state = "no skill"
        yield {"file": str(path), **each, "state": state}


def _row(path: Path, state: str, *, findings: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "file": str(path),
        "id": "",
        "state": state,
        "digest": "",
        "tools": [],
        "changes": [],
        "voided": [],
        "findings": findings,
    }


def _finding(message: str) -> dict[str, Any]:
    return {"code": "record_invalid", "message": message, "path": "", "severity": "error"}


def _progress(out: Output, total: int) -> Any:
    """Show how many files are read, where a person watches."""
    from contextlib import contextmanager

    @contextmanager
    def showing() -> Iterator[Any]:
        from holon_cli.people import stderr_console

        console = stderr_console()
        if out.for_programs or total < 2 or not console.is_terminal:
            yield lambda: None
            return
        from rich.progress import Progress

        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("importing", total=total)
            yield lambda: bar.advance(task)

    return showing()


def _show(out: Output, source: str, rows: Sequence[dict[str, Any]]) -> int:
    rejected = any(row["state"] == "rejected" for row in rows)
    if out.for_programs:
        out.document({"source": source, "skills": list(rows)})
    else:
        _show_people(out, rows)
    return Exit.REJECTED if rejected else Exit.COMPLETED


def _show_people(out: Output, rows: Sequence[dict[str, Any]]) -> None:
    from holon_cli.people import show_table
    from holon_core.visible import escape_unseen

    shown = [{**row, "tools": len(row["tools"])} for row in rows if row["state"] != "no skill"]
    show_table(out.console, ("state", "id", "tools", "file"), shown)
    for row in rows:
        for change in row["changes"]:
            before, after = change["before"] or "absent", change["after"] or "absent"
            out.write(escape_unseen(f"{row['id']}: {change['path']}: {before} -> {after}"))
        for tool in row["voided"]:
            out.write(f"{tool}: its approval no longer holds")
        for finding in row["findings"] if row["state"] != "no skill" else ():
            place = finding["path"] or "/"
            out.write(escape_unseen(f"{row['file']}: {finding['message']} at {place}"))
    left = sum(row["state"] == "no skill" for row in rows)
    if left:
        out.write(f"{left} files hold no skill and were left out")
