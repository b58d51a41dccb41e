"""Text for people: tables, facts and results, each value made safe for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from typing import TextIO

STYLES = {
    "completed": "green",
    "pass": "green",
    "allow": "green",
    "approved": "green",
    "ok": "green",
    "blocked": "yellow",
    "held": "yellow",
    "ask": "yellow",
    "pending": "yellow",
    "absent": "yellow",
    "failed": "red",
    "block": "red",
    "deny": "red",
    "denied": "red",
    "refused": "red",
    "rejected": "red",
    "problem": "red",
}

EXACT = frozenset({"arguments", "input", "output", "payload", "value"})


class PlainConsole(Console):
    """A console that leaves it to its caller what a broken pipe means."""

    def on_broken_pipe(self) -> None:
        """Raise it on; rich would end the process."""
        raise BrokenPipeError


def console_on(stream: TextIO) -> Console:
    """Make a console that takes text as it is: no markup, no emoji codes, no highlighting."""
    return PlainConsole(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=True)


def cell(name: str, value: Any) -> str:
    """Write one value in one safe line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_time(name, value):
        return _moment(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return escape_unseen(", ".join(value))
    if isinstance(value, (Mapping, list, tuple)):
        return escape_unseen(json.dumps(value, ensure_ascii=False))
    first, _, rest = str(value).partition("\n")
    return escape_unseen(f"{first} …" if rest.strip() else first)


def _is_time(name: str, value: Any) -> bool:
    """Tell whether a member of an answer is a time: by its name, as every answer names them."""
    return name.endswith(("_unix_seconds", "_at")) and type(value) in (int, float)


def _moment(seconds: float) -> str:
    from datetime import datetime

    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")[:19]
    except (OverflowError, ValueError, OSError):
        return str(seconds)


def styled(text: str) -> Text:
    """Colour a word that says how something stands."""
    return Text(text, style=STYLES.get(text, ""), overflow="fold")


def head_of(column: str) -> str:
    """Name a column for people."""
    return column.removesuffix("_unix_seconds").replace("_", " ")


def show_table(console: Console, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Show things as a table; to a pipe as lines of columns parted by tabs."""
    lines = [[cell(column, row.get(column)) for column in columns] for row in rows]
    if not console.is_terminal:
        for line in [[head_of(column) for column in columns], *lines]:
            # Not by rich, which would make blanks of the tabs.
            console.file.write("\t".join(line) + "\n")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(Text(head_of(column)), overflow="fold")
    for line in lines:
        table.add_row(*map(styled, line))
    console.print(table, soft_wrap=False)


def show_facts(
    console: Console, facts: Mapping[str, Any], *, indent: str = "", bullet: str = ""
) -> None:
    """Show the members of an object, one a line; what is empty is left away.

    Args:
        console: Where.
        facts: The object; what is nested in it comes below, further in.
        indent: Before each line.
        bullet: What the first line begins with instead.
    """
    for name, value in facts.items():
        if value in (None, "", [], {}):
            continue
        label = Text(f"{bullet or indent}{escape_unseen(head_of(name))}:", style="bold")
        bullet = ""
        inner = f"{indent}  "
        if _is_exact(name) and isinstance(value, (Mapping, list)):
            console.print(label)
            show_json(console, value, indent=inner)
        elif isinstance(value, Mapping):
            console.print(label)
            show_facts(console, value, indent=inner)
        elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            console.print(label)
            _show_items(console, value, indent=inner)
        elif isinstance(value, str) and "\n" in value:
            console.print(label)
            for line in value.split("\n"):
                console.print(Text(f"{inner}{escape_unseen(line)}"))
        else:
            console.print(label + Text(" ") + styled(cell(name, value)))


def _show_items(console: Console, items: Sequence[Any], *, indent: str) -> None:
    for item in items:
        if isinstance(item, Mapping) and any(item.values()):
            show_facts(console, item, indent=f"{indent}  ", bullet=f"{indent}- ")
        else:
            console.print(Text(f"{indent}- {cell('', item)}"))


def _is_exact(name: str) -> bool:
    """Tell members whose JSON is what they are about: schemas, and what a call is given."""
    return name.endswith("schema") or name in EXACT


def show_json(console: Console, value: Any, *, indent: str = "") -> None:
    """Show a JSON value, indented."""
    for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"):
        console.print(Text(indent + escape_unseen(line)))


def stderr_console() -> Console:
    """Make the console for what is about an answer rather than the answer."""
    import sys

    return console_on(sys.stderr)
