"""The steps of the demo: real calls on a real runtime, each with what it must show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from holon_cli.demo.functions import functions_on, lines_in
from holon_cli.demo.tamper import copy_store, edit_one_byte, forge_hashes
from holon_core.records.evidence import EvidenceHead
from holon_core.records.result import ToolResult
from holon_core.runtime import Runtime

APP = "demo"
AGENT, PERSON = "agent", "you"
LINE = "The build is green."
OTHER_LINE = "The build is green!"
KEY = "note-1"


class NotAsExpected(Exception):
    """A step did not show what it has to: the demo fails."""


@frozen(kw_only=True)
class Step:
    """One step: what it is about, what was done and seen, and the same as facts."""

    title: str
    lines: tuple[tuple[str, str], ...]
    facts: dict[str, Any]


def expect(holds: bool, what: str) -> None:
    """Fail the demo where something does not hold.

    Raises:
        NotAsExpected: It does not.
    """
    if not holds:
        raise NotAsExpected(what)


class Story:
    """One run of the demo.

    Args:
        workspace: The folder that the reading functions look at; nothing is written there.
        scratch: An empty folder for storage root, notes and copies.
    """

    def __init__(self, workspace: Path, scratch: Path) -> None:
        self.workspace = workspace
        self._scratch = scratch
        self._notes = scratch / "NOTES.md"
        root = scratch / "root"
        tools = functions_on(workspace, self._notes)
        self.runtime = Runtime.open(root, app=APP, tools=tools, discover=False)
        self._store = root / "holon.db"
        self._session = self.runtime.session(principal=AGENT, workspace=workspace)
        self._chain = str(self._session.caller.workspace)
        self._calls = 0
        self._held = ""

    def steps(self) -> Iterator[Step]:
        """Take the steps one after another, each when it is asked for."""
        made: list[Callable[[], Step]] = [
            self._list,
            self._read,
            self._refuse,
            self._hold,
            self._approve,
            self._repeat,
            self._change,
            self._explain,
            self._evidence,
            self._tamper,
        ]
        for step in made:
            yield step()
        yield self._summary()

    def _call(self, name: str, *, key: str | None = None, **arguments: Any) -> ToolResult:
        self._calls += 1
        return self._session.call(f"host.{APP}/{name}", arguments, key=key)

    def _list(self) -> Step:
        tools = self.runtime.tools.list()
        expect(len(tools) == 3, "three tools are in the catalogue")
        lines = [
            (tool.id, f"{tool.side_effect_class.value:16} {tool.description}") for tool in tools
        ]
        facts = [{"id": t.id, "side_effect_class": t.side_effect_class.value} for t in tools]
        return Step(
            title="Three functions behind the door", lines=(*lines,), facts={"tools": facts}
        )

    def _read(self) -> Step:
        counted = self._call("count_lines").raise_for_failure().output
        found = self._call("find_text", text="license").raise_for_failure().output
        top = counted["languages"][:3]
        shown = ", ".join(f"{each['language']} {each['lines']:,}" for each in top) or "none"
        places = ", ".join(f"{m['path']}:{m['line']}" for m in found["matches"]) or "none"
        return Step(
            title="Reads run at once: policy allows workspace_read",
            lines=(
                ("count_lines", f"{counted['files']:,} files, {counted['lines']:,} lines: {shown}"),
                ("find_text license", f"{found['total']:,} lines, first {places}"),
            ),
            facts={"counted": counted, "found": found},
        )

    def _refuse(self) -> Step:
        result = self._call("find_text", text="license", limit="ten")
        problem = result.failure
        expect(problem is not None and problem.code == "arguments_invalid", "it is refused")
        assert problem is not None
        expect(problem.details["path"] == "/limit", "the refusal names the argument")
        return Step(
            title="A wrong argument is refused with its path",
            lines=(
                ('find_text limit="ten"', _outcome(result)),
                ("path", f"{problem.details['path']}: {problem.message}"),
                ("next", problem.next_action),
            ),
            facts={"code": problem.code, "path": problem.details["path"]},
        )

    def _hold(self) -> Step:
        result = self._call("append_note", line=LINE, key=KEY)
        expect(result.held is not None and lines_in(self._notes) == 0, "held, and nothing written")
        self._held = str(result.held)
        view = self.runtime.approvals.view(self._held)
        facts = view.facts
        shown = ("principal", "tool", "effects", "surface", "posture")
        told = {name: facts[name] for name in shown}
        told["effects"] = ", ".join(facts["effects"])
        payload = " ".join(view.payload.text.split())
        return Step(
            title="A write is held; a person sees exactly what would run",
            lines=(
                (f'append_note "{LINE}"', _outcome(result)),
                *((name, str(value)) for name, value in told.items()),
                ("payload", payload),
                ("untrusted", f"{view.untrusted['description']} (the tool says of itself)"),
                ("notes", "0 lines: nothing has run"),
            ),
            facts={"held": self._held, "view": view.to_json()},
        )

    def _approve(self) -> Step:
        approved = self.runtime.approvals.approve(self._held, by=PERSON, reason="as agreed")
        result = self._session.release(self._held).raise_for_failure()
        self._calls += 1
        expect(lines_in(self._notes) == 1, "the release wrote one line")
        return Step(
            title="Approved by somebody else than who asked, it is released",
            lines=(
                ("approved by", f"{approved.decided_by}: {approved.reason}"),
                ("release", f"{result.status.value}: {result.output}"),
                ("notes", "1 line"),
            ),
            facts={"approved_by": approved.decided_by, "output": result.output},
        )

    def _repeat(self) -> Step:
        result = self._call("append_note", line=LINE, key=KEY)
        expect(result.replayed_from == self._held, "the repeat is answered by the first call")
        expect(lines_in(self._notes) == 1, "the repeat wrote nothing")
        return Step(
            title="The same call with the same key does not run twice",
            lines=(
                (f"append_note key={KEY}", f"{result.status.value}: {result.output}, replayed"),
                ("notes", "still 1 line"),
            ),
            facts={"replayed_from": result.replayed_from},
        )

    def _change(self) -> Step:
        result = self._call("append_note", line=OTHER_LINE)
        expect(result.held is not None, "another payload needs another approval")
        expect(lines_in(self._notes) == 1, "the other payload wrote nothing")
        change = self.runtime.approvals.view(str(result.held)).difference[0]
        return Step(
            title="One character changed is another call: held again",
            lines=(
                (f'append_note "{OTHER_LINE}"', _outcome(result)),
                ("difference", f"{change.path}: {change.before} -> {change.after}"),
            ),
            facts={"held": result.held, "path": change.path},
        )

    def _explain(self) -> Step:
        told = self._session.explain(f"host.{APP}/append_note", {"line": OTHER_LINE})
        expect(told.outcome == "would be held", "explain says what the call said")
        passed = ", ".join(s.step for s in told.steps if s.verdict == "pass")
        others = [s for s in told.steps if s.verdict != "pass" and s.detail]
        return Step(
            title=f"Explain: it {told.outcome}, and this is why",
            lines=(("pass", passed), *((f"{s.step}: {s.verdict}", s.detail) for s in others)),
            facts={
                "outcome": told.outcome,
                "steps": [[s.step, s.verdict, s.detail] for s in told.steps],
            },
        )

    def _evidence(self) -> Step:
        records = self.runtime.evidence.list(workspace=self._chain, limit=1000)
        calls: dict[str, list[str]] = {}
        for record in records:
            calls.setdefault(record.call_id, []).append(f"{record.seq} {record.kind}")
        found = self.runtime.evidence.verify(self._chain)
        expect(found.consistent, "the chain verifies")
        names = {
            record.call_id: str(record.body["tool"]["id"]).rpartition("/")[2]
            for record in reversed(records)
            if "tool" in record.body
        }
        return Step(
            title="Everything left its trail, refusals too",
            lines=(
                *((names.get(call, "?"), ", ".join(kinds)) for call, kinds in calls.items()),
                ("verify", f"{found.records} records: {found.message}"),
            ),
            facts={"records": found.records, "consistent": found.consistent},
        )

    def _tamper(self) -> Step:
        head = self.runtime.evidence.head(self._chain)
        trail = self.runtime.evidence.read(self._held)
        accepted = next(record.seq for record in trail if record.kind == "accepted")
        copy = copy_store(self._store, self._scratch / "copy")
        edit_one_byte(copy, accepted, before=b"green.", after=b"green!")
        edited = self._verified(copy.parent, head)
        forge_hashes(copy, self._chain)
        forged = self._verified(copy.parent, head)
        expect([edited, forged] == [(False, False), (True, False)], "tampering shows as it should")
        return Step(
            title=f"A copy of the store, one byte of record {accepted} edited",
            lines=(
                ("one byte", f"without a head: {_said(edited[0])}; with one: {_said(edited[1])}"),
                (
                    "and every hash",
                    f"without a head: {_said(forged[0])}; with one: {_said(forged[1])}",
                ),
                ("so", "keep `evidence head` where the store's holder cannot change it"),
            ),
            facts={
                "record": accepted,
                "one_byte": {"without_head": edited[0], "with_head": edited[1]},
                "forged": {"without_head": forged[0], "with_head": forged[1]},
            },
        )

    def _verified(self, root: Path, head: EvidenceHead) -> tuple[bool, bool]:
        """Verify a copy without and with the head that was kept."""
        with Runtime.open(root, app=APP, discover=False) as runtime:
            alone = runtime.evidence.verify(self._chain)
            against = runtime.evidence.verify(self._chain, head=head)
        return alone.consistent, against.consistent and against.matches_head is True

    def _summary(self) -> Step:
        end = self.runtime.evidence.head(self._chain)
        written = lines_in(self._notes)
        expect(written == 1, "one line was written, by the one approved call")
        return Step(
            title="What was real",
            lines=(
                ("real", f"the folder, {self._calls} guarded calls, {end.seq} evidence records"),
                ("", f"{written} line written to a file, 2 edits of a real SQLite store"),
                ("played", f"{AGENT} and {PERSON} were this command; storage was thrown away"),
            ),
            facts={"calls": self._calls, "records": end.seq, "lines_written": written},
        )

    def close(self) -> None:
        """Close the runtime."""
        self.runtime.close()


def _outcome(result: ToolResult) -> str:
    code = "" if result.failure is None else f": {result.failure.code}"
    return f"{result.status.value}{code}"


def _said(sound: bool) -> str:
    return "consistent" if sound else "does not verify"
