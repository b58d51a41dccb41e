"""Lifecycle and provenance of a frozen tool as a graph, in Mermaid's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holon_core.frozen.lifecycle import MOVES
from holon_core.visible import escape_unseen

if TYPE_CHECKING:
    from holon_core.records.frozen import FrozenToolRecord

MAX_NODES = 50
DRAWING_S = 10.0
MAX_SVG_BYTES = 1024 * 1024


def mermaid(record: FrozenToolRecord) -> str:
    """Draw where a tool came from, what proves it, and its way through the lifecycle."""
    lines = ["flowchart LR"]
    for number, ref in enumerate(record.provenance[:MAX_NODES]):
        label = _label(f"{ref.kind} {ref.tool or ref.digest[:12]}", f"{ref.chain}#{ref.seq}")
        lines.append(f'  origin{number}["{label}"] --> proposed')
    run = record.validation
    for number, each in enumerate(() if run is None else run.fixtures[:MAX_NODES]):
        verdict = "passed" if each.passed else "failed"
        lines.append(
            f'  fixture{number}["{_label("fixture " + each.name, verdict)}"] -.-> validated'
        )
    made = [(move.source, move.target) for move in record.moves if move.source is not None]
    for move in MOVES:
        pair = (move.source, move.target)
        arrow = "==>" if pair in made else "-.->"
        lines.append(f"  {move.source.value} {arrow}|{move.verb}| {move.target.value}")
    lines += [
        f"  %% {each.target.value} approved by {_label(each.approved_by)}"
        for each in record.moves[-MAX_NODES:]
        if each.approved_by
    ]
    lines.append(f"  style {record.state.value} stroke-width:4px")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def svg(record: FrozenToolRecord) -> str | None:
    """Draw the same as SVG where graphviz is on this machine; ``None`` where it is not."""
    return drawn(_dot(record))


def drawn(dot: str) -> str | None:
    """Draw a graph in graphviz's words as SVG; ``None`` where graphviz is not on this machine."""
    import tempfile
    from pathlib import Path

    from holon_core.process import ProcessCause, ProcessSpec, resolve_program, run

    program = resolve_program("dot")
    if program is None:
        return None
    spec = ProcessSpec(
        argv=(program, "-Tsvg"),
        cwd=Path(tempfile.gettempdir()),
        stdin=dot.encode(),
        timeout_s=DRAWING_S,
        max_stdout_bytes=MAX_SVG_BYTES,
        max_stderr_bytes=4096,
    )
    outcome = run(spec)
    drawn = outcome.cause is ProcessCause.EXITED and outcome.exit_code == 0
    return outcome.stdout.head.decode("utf-8", "replace") if drawn else None


def _dot(record: FrozenToolRecord) -> str:
    """Write the graph in graphviz's words."""
    made = {(move.source, move.target) for move in record.moves}
    lines = ["digraph frozen {", "  rankdir=LR;", f"  {record.state.value} [penwidth=3];"]
    origins = [f"{ref.kind} {ref.chain}#{ref.seq}" for ref in record.provenance[:MAX_NODES]]
    lines += [f'  "{_plain(origin)}" -> proposed;' for origin in origins]
    run = record.validation
    for each in () if run is None else run.fixtures[:MAX_NODES]:
        verdict = "passed" if each.passed else "failed"
        name = _plain(f"fixture {each.name}: {verdict}")
        lines.append(f'  "{name}" -> validated [style=dashed];')
    for move in MOVES:
        style = "bold" if (move.source, move.target) in made else "dotted"
        ends = f"{move.source.value} -> {move.target.value}"
        lines.append(f'  {ends} [label="{move.verb}", style={style}];')
    return "\n".join([*lines, "}"])


def _plain(text: str) -> str:
    """Write a text so that it ends no quotation."""
    return escape_unseen(text)[:120].replace("\\", "/").replace('"', "'").replace("\n", " ")


def _label(*parts: str) -> str:
    """Write a text so that it ends no label and starts no markup."""
    text = "<br/>".join(escape_unseen(part)[:120].replace("\n", " ") for part in parts)
    plain = text.replace("&", "&amp;").replace('"', "&quot;")
    return (
        plain.replace("<br/>", "\0")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\0", "<br/>")
    )
