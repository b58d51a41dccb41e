"""The steps of the demo: real calls on a real runtime, each with what it must show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from holon_builtin_workspace import plugin as lane
from holon_cli.advice import at_the_prompt
from holon_cli.demo.functions import functions_on, lines_in
from holon_cli.demo.step import Step, expect
from holon_cli.demo.tamper import copy_store, edit_one_byte, forge_hashes
from holon_cli.demo.telling import availability, beginning, outcome, said, seen
from holon_core.records.evidence import EvidenceHead
from holon_core.records.result import ToolResult
from holon_core.runtime import Runtime

APP = "demo"
LANE = "holon.built-in.workspace"
WANTED = "find text in files"
AGENT, PERSON = "agent", "you"
LINE = "The build is green."
OTHER_LINE = "The build is green!"
KEY = "note-1"


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
        self.runtime = Runtime.open(root, app=APP, tools=tools, plugins=[lane], discover=False)
        self._store = root / "holon.db"
        self._session = self.runtime.session(principal=AGENT, workspace=workspace)
        self._chain = str(self._session.caller.workspace)
        self._calls = 0
        self._held = ""

    def steps(self) -> Iterator[Step]:
        """Take the steps one after another, each when it is asked for."""
        made: list[Callable[[], Step]] = [
            self._list,
            self._discover,
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
        return self._governed(f"host.{APP}/{name}", arguments, key=key)

    def _look(self, name: str, **arguments: Any) -> ToolResult:
        return self._governed(f"{LANE}/workspace-{name}", arguments)

    def _governed(self, tool: str, arguments: Any, *, key: str | None = None) -> ToolResult:
        self._calls += 1
        return self._session.call(tool, arguments, key=key)

    def _list(self) -> Step:
        tools = self.runtime.tools.list()
        expect(len(tools) == 6, "six tools are in the catalogue")
        lines = [
            (tool.name, f"{tool.side_effect_class.value:16} {tool.title or tool.description}")
            for tool in tools
        ]
        facts = [{"id": t.id, "side_effect_class": t.side_effect_class.value} for t in tools]
        return Step(
            title=f"Six tools behind the door: host.{APP}/… are functions, {LANE}/… a lane",
            lines=(*lines,),
            facts={"tools": facts},
        )

    def _discover(self) -> Step:
        found = self._session.discover(WANTED, limit=4).items
        expect(bool(found) and found[0].name == "workspace-grep", "the fitting tool is the first")
        facts = [{"id": t.id, "availability": t.availability.value} for t in found]
        return Step(
            title=f'Discover "{WANTED}": what fits, best first, and what blocks it',
            lines=tuple((tool.name, availability(tool)) for tool in found),
            facts={"found": facts},
        )

    def _read(self) -> Step:
        counted = self._call("count_lines").raise_for_failure().output
        listed = self._look("list-dir").raise_for_failure().output["entries"]
        found = self._look("grep", pattern="license", literal=True)
        named = self._look("glob", pattern="*.md")
        read = self._read_one(listed)
        top = counted["languages"][:3]
        shown = ", ".join(f"{each['language']} {each['lines']:,}" for each in top) or "none"
        folders = sum(entry["type"] == "dir" for entry in listed)
        return Step(
            title="Reads run at once: policy allows workspace_read",
            lines=(
                ("count_lines", f"{counted['files']:,} files, {counted['lines']:,} lines: {shown}"),
                ("workspace-list-dir", f"{len(listed):,} entries, {folders:,} of them folders"),
                ("workspace-grep license", seen(found, "matches", "lines")),
                ("workspace-glob *.md", seen(named, "paths", "files")),
                ("workspace-read-file", beginning(read)),
            ),
            facts={
                "counted": counted,
                "listed": len(listed),
                "grep": outcome(found),
                "glob": outcome(named),
                "read": None if read is None else outcome(read),
            },
        )

    def _read_one(self, listed: Any) -> ToolResult | None:
        """Read the first line of the readme, else of the first file there is."""
        files = [entry["path"] for entry in listed if entry["type"] == "file"]
        chosen = sorted(files, key=lambda path: not path.lower().startswith("readme"))[:1]
        return self._look("read-file", path=chosen[0], end_line=1) if chosen else None

    def _refuse(self) -> Step:
        result = self._look("grep", pattern="license", max_results="ten")
        problem = result.failure
        expect(problem is not None and problem.code == "arguments_invalid", "it is refused")
        assert problem is not None
        expect(problem.details["path"] == "/max_results", "the refusal names the argument")
        return Step(
            title="A wrong argument is refused with its path",
            lines=(
                ('workspace-grep max_results="ten"', outcome(result)),
                ("path", f"{problem.details['path']}: {problem.message}"),
                ("next", at_the_prompt(problem.next_action)),
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
                (f'append_note "{LINE}"', outcome(result)),
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
                (f'append_note "{OTHER_LINE}"', outcome(result)),
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
        edit_one_byte(copy, self._chain, accepted, before=b"green.", after=b"green!")
        edited = self._verified(copy.parent, head)
        forge_hashes(copy, self._chain)
        forged = self._verified(copy.parent, head)
        expect([edited, forged] == [(False, False), (True, False)], "tampering shows as it should")
        return Step(
            title=f"A copy of the store, one byte of record {accepted} edited",
            lines=(
                ("one byte", f"without a head: {said(edited[0])}; with one: {said(edited[1])}"),
                (
                    "and every hash",
                    f"without a head: {said(forged[0])}; with one: {said(forged[1])}",
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
