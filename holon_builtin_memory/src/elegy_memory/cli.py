"""The command: options, subcommands, exit codes (contract, sections 12.1 to 12.3)."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from elegy_memory import reading, searching, transfer, writing
from elegy_memory.envelope import Envelope
from elegy_memory.faults import Fault, InvalidInput, RuntimeFailure, Unsupported
from elegy_memory.schema import open_file
from elegy_memory.words import PROVENANCE, SCOPES, STATES, TYPES

DEFAULT_PATH = "~/.elegy/memory.db"
_LEFT_OUT: Any = argparse.SUPPRESS


def main(arguments: Sequence[str]) -> int:
    """Run one subcommand; 0 for success, 1 for a failure, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever the locale, the contract's answers are UTF-8.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    options = _parser().parse_args(arguments)
    command = options.command
    if command == "contradictions" and options.action == "resolve":
        command = "contradictions.resolve"
    envelope = Envelope(
        command,
        correlation_id=getattr(options, "correlation_id", None) or _correlation_id(),
        non_interactive=getattr(options, "non_interactive", False),
    )
    try:
        data = _run(options)
    except Fault as fault:
        print(envelope.fault(fault))
        return 1
    except sqlite3.Error as error:
        print(envelope.fault(RuntimeFailure(f"the store failed: {error}")))
        return 1
    if isinstance(data, _Declined):
        print(envelope.answer(data.shown, status="ok"))
        return 1
    if isinstance(data, _Raw) or getattr(options, "format", "text") != "json":
        print(json.dumps(getattr(data, "shown", data), indent=2, ensure_ascii=False))
        return 0
    print(envelope.answer(data))
    return 0


class _Raw:
    """An answer that is printed without an envelope."""

    def __init__(self, shown: Any) -> None:
        self.shown = shown


class _Declined(_Raw):
    """A purge that nobody confirmed."""


def _correlation_id() -> str:
    return f"elegy-memory-{os.getpid()}-{time.time_ns()}"


def _run(options: argparse.Namespace) -> Any:
    if getattr(options, "embedding_provider", None) or getattr(options, "llm_provider", None):
        raise Unsupported("this program has no providers; leave the provider flags out")
    connection = open_file(options.db)
    try:
        action: Callable[[sqlite3.Connection, argparse.Namespace], Any] = options.run
        return action(connection, options)
    finally:
        connection.close()


def _add(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    row = writing.new_row(
        options.content,
        scope=options.scope,
        memory_type=options.type,
        provenance=options.provenance,
        importance=options.importance,
        tags=options.tag or [],
    )
    return writing.add(connection, row)


def _search(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    return searching.search(
        connection,
        options.query,
        scope=options.scope,
        limit=options.limit,
        include_dormant=options.include_dormant,
        whole=options.whole,
    )


def _list(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    return reading.listed(
        connection,
        scope=options.scope,
        memory_type=options.type,
        state=options.state,
        include_dormant=options.include_dormant,
        limit=options.limit,
        after=options.after,
    )


def _inspect(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    return reading.inspected(connection, options.id)


def _health(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    return reading.health(connection, options.scope)


def _contradictions(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    if options.action is None:
        if options.id or options.keep or options.keep_both:
            raise InvalidInput("--id, --keep and --keep-both belong to contradictions resolve")
        return reading.contradictions(connection, options.scope)
    if options.id is None or bool(options.keep) == options.keep_both:
        raise InvalidInput("resolve takes --id and exactly one of --keep and --keep-both")
    return reading.resolve(connection, options.id, keep=options.keep)


def _export(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    if options.export_format != "json":
        raise Unsupported(f"this program does not export as {options.export_format}")
    scope = None if options.all_scopes else options.scope
    document = transfer.exported(
        connection, scope=scope, path=options.db, shown_scope=scope or "all"
    )
    return (
        _Raw(document) if options.output is None else transfer.write_file(options.output, document)
    )


def _import(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    try:
        if options.input is None:
            raw = sys.stdin.buffer.read(transfer.MAX_BYTES + 1)
        else:
            with open(options.input, "rb") as file:  # noqa: PTH123 - start-up without pathlib
                raw = file.read(transfer.MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot read {options.input}: {error.strerror}") from None
    return transfer.imported(
        connection, raw, scope=options.scope, path=options.db, force=options.force
    )


def _purge(connection: sqlite3.Connection, options: argparse.Namespace) -> Any:
    if not options.yes:
        if getattr(options, "non_interactive", False):
            raise InvalidInput("purge needs --yes where nobody can be asked")
        print(f"Type purge to delete every memory of {options.db}: ", end="", flush=True)
        if sys.stdin.readline().strip() != "purge":
            return _Declined({"status": "cancelled", "dbPath": options.db, "scope": options.scope})
    return transfer.purged(connection, scope=options.scope, path=options.db)


def _parser() -> argparse.ArgumentParser:
    common = _common()
    store = _store()
    parser = argparse.ArgumentParser(
        prog="elegy_memory", parents=[common], allow_abbrev=False, description=__doc__
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., Any], help_: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, parents=[common, store], allow_abbrev=False, help=help_, description=help_
        )
        made.set_defaults(run=run)
        return made

    add = command("add", _add, "add a memory")
    add.add_argument("content")
    add.add_argument("--type", choices=TYPES, default="observation")
    add.add_argument("--importance", type=float, default=0.5)
    add.add_argument("--provenance", choices=tuple(PROVENANCE), default="user-stated")
    add.add_argument("--tag", action="append", help="a tag; may be repeated")

    search = command("search", _search, "find memories by words")
    search.add_argument("query")
    search.add_argument("--limit", type=int, default=20)
    search.add_argument("--include-dormant", action="store_true")
    search.add_argument("--whole", action="store_true", help="with each hit's full memory")

    list_ = command("list", _list, "list memories, oldest first")
    list_.add_argument("--type", choices=TYPES)
    list_.add_argument("--state", choices=STATES)
    list_.add_argument("--include-dormant", action="store_true")
    list_.add_argument("--limit", type=int, default=20)
    list_.add_argument("--after", help="go on after the memory of this id")

    command("inspect", _inspect, "show one memory with its versions").add_argument("id")
    command("health", _health, "report on the store")

    contradictions = command("contradictions", _contradictions, "what contradicts what")
    contradictions.add_argument("action", nargs="?", choices=("resolve",))
    contradictions.add_argument("--id")
    contradictions.add_argument("--keep")
    contradictions.add_argument("--keep-both", action="store_true")

    export = command("export", _export, "write all memories of a scope")
    export.add_argument("--output")
    export.add_argument("--all-scopes", action="store_true")
    export.add_argument("--export-format", choices=("json", "sqlite", "elegy"), default="json")

    import_ = command("import", _import, "take in an export or a list")
    import_.add_argument("--input")
    import_.add_argument("--force", action="store_true")

    command("purge", _purge, "delete everything").add_argument("--yes", action="store_true")
    return parser


def _common() -> argparse.ArgumentParser:
    """Make the options that stand anywhere; absent ones overrule nothing."""
    common = argparse.ArgumentParser(add_help=False, argument_default=_LEFT_OUT)
    common.add_argument("--format", choices=("text", "json"))
    common.add_argument("--json", action="store_const", dest="format", const="json")
    common.add_argument("--non-interactive", action="store_true")
    common.add_argument("--correlation-id")
    return common


def _store() -> argparse.ArgumentParser:
    store = argparse.ArgumentParser(add_help=False)
    store.add_argument("--db", default=DEFAULT_PATH)
    store.add_argument("--scope", choices=SCOPES, default="workspace")
    store.add_argument("--embedding-provider", "--provider", choices=("ollama", "openai"))
    store.add_argument("--llm-provider", choices=("ollama", "openai"))
    return store
