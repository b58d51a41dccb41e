"""Asking the person at the terminal about a held call: show it, take a key, do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen
from rich.text import Text

from holon_cli.keys import read_key
from holon_cli.presenting import present_failure, present_findings, show_view
from holon_cli.values import parsed
from holon_core.errors import JsonRefused, Refused, Rejected
from holon_core.operations.faults import problem_of
from holon_core.records.words import Word

if TYPE_CHECKING:
    from rich.console import Console

    from holon_cli.host import Host

HELP = """\
a  approve: it runs once, exactly as shown
d  deny: the same payload stays refused until the approval would expire
e  edit the arguments in your editor; what comes of it is held and shown anew
g  grant: approve this one, and further calls within a pattern, a number and a time
n  next: leave it waiting
q  quit: leave it waiting"""


class Answer(Word):
    """What came of asking about one call."""

    APPROVED = "approved"
    DENIED = "denied"
    LEFT = "left"
    QUIT = "quit"


@frozen(kw_only=True)
class Decided:
    """An answer, and the call that it is about: an edit makes another one."""

    answer: Answer
    call_id: str


class Desk:
    """Where one person decides. Everything here is written to the terminal, not to a pipe."""

    def __init__(self, host: Host, console: Console) -> None:
        self._host = host
        self._console = console
        self._keys: dict[str, Callable[[str], Decided | None]] = {
            "a": self._approve,
            "d": self._deny,
            "e": self._edit,
            "g": self._grant,
            "n": lambda call: Decided(answer=Answer.LEFT, call_id=call),
            "q": lambda call: Decided(answer=Answer.QUIT, call_id=call),
            "": lambda call: Decided(answer=Answer.QUIT, call_id=call),
            "?": self._help,
        }

    def ask(self, call_id: str) -> Decided:
        """Show a held call and ask until it is decided or left."""
        shown = ""
        while True:
            if shown != call_id:
                self._console.rule()
                show_view(self._host.runtime.approvals.view(call_id), self._console)
                shown = call_id
            decided = self._one_key(call_id)
            if decided is None:
                continue
            if decided.answer is not Answer.LEFT or decided.call_id == call_id:
                return decided
            call_id = decided.call_id

    def _one_key(self, call_id: str) -> Decided | None:
        key = read_key(ask=self._prompt) or ""
        self._say(key if key.isprintable() else "")
        act = self._keys.get(key.lower())
        if act is None:
            return self._help(call_id)
        try:
            return act(call_id)
        except (Refused, Rejected) as error:
            self._problem(error)
            return None

    def _prompt(self) -> None:
        text = "approve (a)  deny (d)  edit (e)  grant (g)  next (n)  help (?)  quit (q): "
        self._console.print(Text(text, "bold"), end="")

    def _help(self, _: str) -> Decided | None:
        self._say(HELP)
        return None

    def _approve(self, call_id: str) -> Decided:
        self._do("approve", id=call_id, reason=self._reason())
        return Decided(answer=Answer.APPROVED, call_id=call_id)

    def _deny(self, call_id: str) -> Decided:
        self._do("deny", id=call_id, reason=self._reason())
        return Decided(answer=Answer.DENIED, call_id=call_id)

    def _edit(self, call_id: str) -> Decided | None:
        from holon_core.wire.schema_marks import marked_paths

        held = self._host.runtime.approvals.held_call(call_id)
        if marked_paths(held.tool.get("input_schema") or {}) is not None:
            self._say("its schema marks secrets, which an editor would show; use")
            self._say(f"  holon approval edit {call_id} --reason TEXT KEY=VALUE")
            return None
        before = json.dumps(dict(held.arguments), ensure_ascii=False, indent=2) + "\n"
        after = click.edit(before, extension=".json")
        if after is None or after == before:
            self._say("nothing was changed")
            return None
        try:
            arguments = parsed(after)
        except JsonRefused as error:
            self._say(f"not strict JSON: {error}")
            return None
        reason = self._reason()
        result = self._do("edit", call_id=call_id, arguments=arguments, reason=reason)
        if result["held"] is None:
            present_failure(result["failure"], self._console)
            return None
        return Decided(answer=Answer.LEFT, call_id=result["held"])

    def _grant(self, call_id: str) -> Decided | None:
        held = self._host.runtime.approvals.held_call(call_id)
        exact = {name: {"equals": value} for name, value in held.arguments.items()}
        self._say("pattern, as JSON; Enter for exactly these arguments:")
        text = click.prompt("pattern", default="", show_default=False, err=True)
        try:
            pattern = parsed(text) if text.strip() else exact
        except JsonRefused as error:
            self._say(f"not strict JSON: {error}")
            return None
        caller = held.caller
        self._do(
            "grant",
            tool=held.tool["id"],
            pattern=pattern,
            principal=caller.principal,
            workspace=caller.workspace,
            role=caller.role,
            profile=caller.profile,
            uses=click.prompt("further calls", default=10, type=int, err=True),
            ttl_s=click.prompt("seconds", default=3600, type=int, err=True),
            reason=(reason := self._reason()),
        )
        self._do("approve", id=call_id, reason=reason)
        return Decided(answer=Answer.APPROVED, call_id=call_id)

    def _reason(self) -> str:
        # No default: an Enter typed after the key would state a reason that nobody gave.
        return str(click.prompt("reason", value_proc=_stated, err=True))

    def _do(self, verb: str, **params: Any) -> Any:
        return self._host.dispatch(f"execution-approval/{verb}", params)

    def _problem(self, error: Refused | Rejected) -> None:
        body = problem_of(error).body
        if isinstance(error, Rejected):
            present_findings(error.subject, body["findings"], self._console)
        else:
            present_failure(body["failure"], self._console)

    def _say(self, text: str) -> None:
        self._console.print(Text(text))


def _stated(text: str) -> str:
    if not text.strip():
        raise click.UsageError("a reason is kept with each decision; Ctrl-C leaves it waiting")
    return text.strip()
