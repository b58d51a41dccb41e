"""What `holon doctor` looks at: one function a subject, each a list of checks."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from holon_cli.advice import at_the_prompt
from holon_core.errors import HolonError, Misuse, Rejected
from holon_core.records.words import Word

if TYPE_CHECKING:
    from holon_cli.common import Setup
    from holon_core.runtime import Runtime

DISTRIBUTIONS = ("holon-core", "holon-cli")
# Extra of holon-core, the module that shows it, what it is for.
EXTRAS = (
    ("otel", "opentelemetry.sdk", "the OpenTelemetry sink for evidence"),
    ("keyring", "keyring", "secrets from the keyring of the operating system"),
    ("testing", "pytest", "the kit that lanes are tested with"),
    ("langchain", "langchain_core", "LangChain tools by register_tools"),
    ("openai-agents", "agents", "OpenAI Agents function tools by register_tools"),
    ("pydantic-ai", "pydantic_ai", "Pydantic AI tools and toolsets by register_tools"),
)


class State(Word):
    """How a check came out; only a problem fails the whole."""

    OK = "ok"
    ABSENT = "absent"
    PROBLEM = "problem"


@frozen(kw_only=True)
class Check:
    """One thing looked at; ``remedy`` is what would lift it."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def machine() -> Iterator[Check]:
    """Look at Python, SQLite, the schema engine and what is installed."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check(name="python", state=State.OK, detail=f"{version} at {sys.executable}")
    yield from _distributions()
    yield _sqlite()
    yield _schema_engine()
    yield from _extras()
    yield _confinement()


def _confinement() -> Check:
    """Look whether programs can be confined where a policy or a setting asks for it."""
    from holon_core import confinement

    why = confinement.lack()
    if why is None:
        detail = f"{confinement.program()} can confine scripts and Rust tools"
        return Check(name="bubblewrap", state=State.OK, detail=detail)
    detail = f"{why}; where a policy requires confinement nothing runs"
    remedy = "install bubblewrap, and let it make namespaces, if tools are to be confined"
    return Check(name="bubblewrap", state=State.ABSENT, detail=detail, remedy=remedy)


def _distributions() -> Iterator[Check]:
    from importlib.metadata import PackageNotFoundError, version

    for name in DISTRIBUTIONS:
        try:
            yield Check(name=name, state=State.OK, detail=version(name))
        except PackageNotFoundError:
            text = "importable, and not installed as a distribution"
            yield Check(name=name, state=State.ABSENT, detail=text, remedy=f"pip install {name}")


def _sqlite() -> Check:
    import sqlite3

    version = sqlite3.sqlite_version
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create virtual table probe using fts5(text)")
    except sqlite3.Error as error:
        remedy = "use a Python whose SQLite has FTS5; only searching tools needs it"
        detail = f"{version} without FTS5: {error}"
        return Check(name="sqlite", state=State.ABSENT, detail=detail, remedy=remedy)
    finally:
        connection.close()
    return Check(name="sqlite", state=State.OK, detail=f"{version} with FTS5")


def _schema_engine() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    from holon_core.wire.engine import engine

    fast = engine().remembers
    name = "jsonschema-rs" if fast else "jsonschema"
    try:
        detail = f"{name} {version(name)}"
    except PackageNotFoundError:
        detail = name
    if fast:
        return Check(name="json schema", state=State.OK, detail=detail)
    return Check(
        name="json schema",
        state=State.ABSENT,
        detail=f"{detail}, the slower one, which refuses more patterns",
        remedy="pip install jsonschema-rs, where it has a wheel",
    )


def _extras() -> Iterator[Check]:
    from importlib.util import find_spec

    for extra, module, purpose in EXTRAS:
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        yield Check(
            name=f"extra {extra}",
            state=State.OK if found else State.ABSENT,
            detail=purpose,
            remedy="" if found else f'pip install "holon-core[{extra}]"',
        )


def storage(setup: Setup, root: Path) -> Iterator[Check]:
    """Look at the storage root, its store, its chains and its plugins.

    A root that is not there yet is not made.
    """
    if not root.exists():
        remedy = "nothing: the first command that needs it makes it"
        yield Check(name="storage root", state=State.ABSENT, detail=str(root), remedy=remedy)
        return
    from holon_core.store.ownership import open_to_others

    usable = root.is_dir() and os.access(root, os.R_OK | os.W_OK | os.X_OK)
    state = State.OK if usable else State.PROBLEM
    remedy = "" if usable else "make it a folder of yours, or name another by --root"
    yield Check(name="storage root", state=state, detail=str(root), remedy=remedy)
    for said in open_to_others(root.resolve()):
        remedy = "chmod go-w it, or name another root by --root"
        yield Check(name="storage root", state=State.PROBLEM, detail=said, remedy=remedy)
    if usable:
        yield from _opened(setup, root)


def _opened(setup: Setup, root: Path) -> Iterator[Check]:
    from holon_core.runtime import Runtime

    try:
        with Runtime.open(root, app="cli") as runtime:
            yield _store(root)
            yield from _chains(runtime)
            yield from _plugins(runtime)
            yield from _workspace(runtime, setup)
    except Rejected as error:
        for finding in error.findings:
            remedy = "correct it"
            yield Check(
                name=error.subject, state=State.PROBLEM, detail=finding.message, remedy=remedy
            )
    except HolonError as error:
        yield _problem("store", error)


def _problem(name: str, error: HolonError) -> Check:
    from holon_core.operations.faults import problem_of

    body = problem_of(error).body["failure"]
    remedy = at_the_prompt(body["next_action"])
    return Check(name=name, state=State.PROBLEM, detail=body["message"], remedy=remedy)


def _store(root: Path) -> Check:
    import sqlite3

    path = root / "holon.db"
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            found = str(connection.execute("pragma quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        found = str(error)
    if found == "ok":
        detail = f"sound, {path.stat().st_size:,} bytes"
        return Check(name="store", state=State.OK, detail=detail)
    remedy = "restore a copy; the file was left as it is"
    return Check(name="store", state=State.PROBLEM, detail=f"{path}: {found}", remedy=remedy)


def _chains(runtime: Runtime) -> Iterator[Check]:
    from holon_core.guard.evidence import RUNTIME_CHAIN

    records = 0
    heads = runtime.evidence.heads()
    for head in heads:
        found = runtime.evidence.verify(None if head.chain == RUNTIME_CHAIN else head.chain)
        records += found.records
        if not found.consistent:
            remedy = "compare with an earlier head and an exported bundle"
            name = f"evidence of {head.chain}"
            yield Check(name=name, state=State.PROBLEM, detail=found.message, remedy=remedy)
    detail = f"{_counted(len(heads), 'chain')} read, {_counted(records, 'record')} verified"
    yield Check(name="evidence", state=State.OK, detail=detail)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _plugins(runtime: Runtime) -> Iterator[Check]:
    for plugin in runtime.plugins.list():
        origin = f"{plugin.distribution} {plugin.version}".strip() or "of the host"
        yield Check(
            name=f"plugin {plugin.name}",
            state=State.PROBLEM if plugin.problems else State.OK,
            detail="; ".join([origin, *plugin.problems]),
            remedy=f"repair or uninstall {plugin.distribution}" if plugin.problems else "",
        )
    for name in runtime.plugins.unmatched():
        yield Check(
            name=f"setting plugins ({runtime.plugins.config.sources['plugins']})",
            state=State.PROBLEM,
            detail=f"{name} is no distribution that is installed here and has plugins",
            remedy="correct the name: a distribution's whole name, or first-party; or install it",
        )
    for guard in runtime.plugins.missing_guards():
        yield Check(
            name=f"guard {guard}",
            state=State.PROBLEM,
            detail="is absent: every call is denied",
            remedy=_typed(runtime.plugins.remedy(guard), guard),
        )


def _typed(remedy: str, guard: str) -> str:
    """Put the command where an operator is named."""
    command = f"{shlex.quote(guard)} --reason TEXT"
    return remedy.replace("have an operator retire it", f"holon plugin retire {command}")


def _workspace(runtime: Runtime, setup: Setup) -> Iterator[Check]:
    place = Path.cwd()
    found = runtime.workspaces.containing(place)
    if setup.workspace is not None or found is not None:
        shown = setup.workspace or (found.id if found else "")
        yield Check(name="workspace", state=State.OK, detail=shown)
        return
    remedy = "holon workspace open ."
    yield Check(name="workspace", state=State.ABSENT, detail=f"none holds {place}", remedy=remedy)


def guarded(name: str, subject: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """Take a subject's checks; a fault in them is a problem and not the end."""
    try:
        yield from subject()
    except (Misuse, OSError) as error:
        yield Check(name=name, state=State.PROBLEM, detail=str(error), remedy="see the message")
