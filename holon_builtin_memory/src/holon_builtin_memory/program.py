"""The memory command: which program that is, how it is started, and what it may answer.

It is the configured one (``[memory] command`` of ``holon.toml``), else ``python -m elegy_memory``
of this process's own Python. One store a workspace lies under the storage root. Its answers are
checked, never believed (contract of elegy.memory, sections 12.1 and 12.2).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_builtin_memory.answers import read
from holon_builtin_memory.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holon_core.guard.sealed import SealedCall
    from holon_core.process import ProcessOutcome

    Run = Callable[[tuple[str, ...], bytes | None], ProcessOutcome]

SCOPE = "workspace"
FILE = "memory.db"
# What ``python -m elegy_memory`` does beyond the contract.
OWN_EXTENSIONS = frozenset({"after", "tags", "whole"})
ADVICE = "correct [memory] command in holon.toml, or leave it out for python -m elegy_memory"


@frozen
class Command:
    """The program and its first arguments; ``own`` where it is this distribution's."""

    argv: tuple[str, ...]
    own: bool


class Program:
    """The memory command of one runtime.

    Args:
        config: The lane's table of ``holon.toml``.
        folder: Where the stores lie; ``None`` in memory.
    """

    def __init__(self, config: Mapping[str, Any], folder: Path | None) -> None:
        self._config = config
        self._folder = folder
        self._extensions: dict[tuple[str, ...], frozenset[str]] = {}

    def database(self, workspace: str) -> Path:
        """Return the file of a workspace's store.

        Raises:
            Refused: ``host_unsupported``: a runtime in memory has no place for it.
        """
        from holon_core.ids import capability_id

        if self._folder is None:
            text = "memory lives in a file under the storage root, and this runtime has none"
            raise refuse("host_unsupported", text, started=False)
        return self._folder / capability_id(workspace) / FILE

    def command(self) -> Command:
        """Return the configured command, its program resolved once.

        Raises:
            Refused: ``dependency_missing``: it is not there, or not understood.
        """
        configured = self._config.get("command")
        if configured is None:
            return Command((sys.executable, "-I", "-m", "elegy_memory"), own=True)
        words: Any = [configured] if isinstance(configured, str) else configured
        usable = isinstance(words, list) and words and all(isinstance(w, str) and w for w in words)
        if not usable:
            text = f"[memory] command is a program and its arguments; {ADVICE}"
            raise refuse("dependency_missing", text, started=False)
        from holon_core.process import resolve_program

        program = resolve_program(words[0])
        if program is None:
            text = f"the memory command {words[0]!r} is not installed; {ADVICE}"
            raise refuse("dependency_missing", text, started=False)
        return Command((program, *words[1:]), own=False)

    def argv(self, workspace: str, words: Sequence[str], text: str | None = None) -> list[str]:
        """Return what is started for a subcommand; ``text`` is a positional text, kept as one."""
        subcommand, *rest = words
        positional = [] if text is None else ["--", text]
        return [
            *self.command().argv,
            subcommand,
            "--format",
            "json",
            "--non-interactive",
            "--db",
            str(self.database(workspace)),
            "--scope",
            SCOPE,
            *rest,
            *positional,
        ]

    def ask(
        self,
        run: Run,
        workspace: str,
        words: Sequence[str],
        *,
        text: str | None = None,
        stdin: bytes | None = None,
    ) -> Any:
        """Run a subcommand and return the data of its answer.

        Args:
            run: The bounded runner, under the limits of whoever asks.
            workspace: Whose store.
            words: The subcommand and its options.
            text: Its positional text, whatever it begins with.
            stdin: What it reads.

        Raises:
            Refused: Every way in which it can fail, as a row of the failure table.
        """
        argv = tuple(self.argv(workspace, words, text))
        self.database(workspace).parent.mkdir(exist_ok=True, mode=0o700)
        outcome = run(argv, stdin)
        return read(outcome, words[0])

    def extensions(self, run: Run, workspace: str) -> frozenset[str]:
        """Return what the command does beyond the contract; probed once, by a harmless command."""
        command = self.command()
        if command.own:
            return OWN_EXTENSIONS
        if command.argv not in self._extensions:
            data = self.ask(run, workspace, ["health"])
            said = data.get("extensions") if isinstance(data, dict) else None
            names = said if isinstance(said, list) else []
            self._extensions[command.argv] = OWN_EXTENSIONS & {
                name for name in names if isinstance(name, str)
            }
        return self._extensions[command.argv]

    def runner(self, call: SealedCall) -> Run:
        """Return the bounded runner under the limits of a call."""

        def run(argv: tuple[str, ...], stdin: bytes | None) -> ProcessOutcome:
            return call.run_process(argv, cwd=Path(argv[0]).parent, stdin=stdin)

        return run
