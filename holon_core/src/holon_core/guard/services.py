"""What a sealed call may ask of its host while it runs: processes, progress, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.errors import Misuse
from holon_core.guard.attempt import Unconfined
from holon_core.plugins.faults import text_of
from holon_core.records.failure import failure
from holon_core.records.outcome import ExecutorEvidenceDraft
from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.redaction import Redactor
    from holon_core.guard.sealed import SealedCall
    from holon_core.process import ProcessOutcome
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.progress import Progress
    from holon_core.records.result import ToolResult
    from holon_core.store.protocol import Store

DEFAULT_TIMEOUT_S = 30.0
STDERR_BYTES = 64 * 1024
MAX_BLOB_BYTES = 64 * 1024 * 1024
MAX_STAGE = 200
MAX_MESSAGE = 500
_NUMBERS = (int, float)


class CallServices:
    """The services of one runtime, handed to each sealed call."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self.progress: Callable[[Progress], None] | None = None
        # Set once the guard stands that takes the steps of such a request.
        self.requester: Callable[[Attempt], ToolResult] | None = None
        # Fetches every registered secret; set with it.
        self.knower: Callable[[], StructuredFailure | None] | None = None

    @property
    def clean(self) -> Callable[[str], str]:
        """Takes secrets out of a text."""
        return self._redactor.text

    def report_progress(
        self, call_id: str, stage: str, done: int, total: int | None, message: str
    ) -> None:
        """Tell whoever listens how far a call is; a listener that fails is ignored."""
        if type(done) not in _NUMBERS or not (total is None or type(total) in _NUMBERS):
            raise Misuse("done and total of a progress are numbers")
        listener = self.progress
        if listener is None:
            return
        from holon_core.records.progress import Progress

        report = Progress(
            stage=self._text(stage, MAX_STAGE),
            done=done,
            total=total,
            message=self._text(message, MAX_MESSAGE),
            call_id=call_id,
        )
        try:
            listener(report)
        except Exception:
            self.progress = None

    def snapshot(self, source: object, data: object) -> ExecutorEvidenceDraft:
        """Take what a tool wants kept as it is now, in plain JSON; redacted when it is kept."""
        import json

        from holon_core.guard.evidence import encode

        kept = json.loads(encode(dict(data) if isinstance(data, Mapping) else {}))
        return ExecutorEvidenceDraft(source=text_of(source), data=kept)

    def _text(self, given: object, limit: int) -> str:
        text = self._redactor.text(text_of(given))
        return escape_controls(text[:limit])

    def put_blob(self, data: bytes) -> str:
        """Store a file that a call made; return its SHA-256."""
        if len(data) > MAX_BLOB_BYTES:
            raise Misuse(f"an artifact has at most {MAX_BLOB_BYTES} bytes")
        return self._store.transact(lambda tables: tables.put_blob(data))

    def run_process(
        self,
        call: SealedCall,
        argv: tuple[str, ...],
        *,
        cwd: Path | None,
        env: Mapping[str, str],
        stdin: bytes | None,
        timeout_s: float | None,
        max_stdout_bytes: int | None,
        cut_at_limit: bool,
        on_stdout: Callable[[bytes], None] | None,
        stdin_fd: int | None,
        confine: bool,
        reads: Sequence[Path],
    ) -> ProcessOutcome:
        """Run a program within the call's limits and keep what happened as evidence."""
        from holon_core.process import ProcessCause, ProcessSpec, run
        from holon_core.tool_contract import process_evidence

        limits = call.limits
        ceiling_s = limits.timeout_s or DEFAULT_TIMEOUT_S
        ceiling_bytes = limits.max_output_bytes
        folder = cwd
        if folder is None:
            import tempfile

            folder = Path(call.workspace.root_path if call.workspace else tempfile.gettempdir())
        if confine:
            argv = self._confined(call, argv, cwd=folder, reads=reads)
        spec = ProcessSpec(
            argv=argv,
            cwd=folder,
            env={**env, "HOLON_CALL_ID": call.call_id},
            stdin=stdin,
            timeout_s=min(timeout_s or ceiling_s, ceiling_s),
            max_stdout_bytes=min(max_stdout_bytes or ceiling_bytes, ceiling_bytes),
            max_stderr_bytes=STDERR_BYTES,
            at_stdout_limit="cut" if cut_at_limit else "fail",
            stdin_fd=stdin_fd,
        )
        outcome = run(spec, cancel=call.cancel, on_stdout=on_stdout)
        if call._attempt.expired and outcome.cause is ProcessCause.CANCELLED:
            # Nobody but the tool's own time limit cancelled it.
            outcome = evolve(outcome, cause=ProcessCause.TIMEOUT)
        data = process_evidence(outcome, self._redactor.data)
        call._drafts.append(ExecutorEvidenceDraft(source="holon-process", data=data))
        return outcome

    def _confined(
        self, call: SealedCall, argv: tuple[str, ...], *, cwd: Path, reads: Sequence[Path]
    ) -> tuple[str, ...]:
        """Put a command into its confinement, and keep as evidence what was enforced."""
        from holon_core import confinement

        why = confinement.lack()
        if why is not None:
            raise Unconfined(failure("confinement_unavailable", f"not run: {why}"))
        workspace = call.workspace
        made = confinement.confined(
            argv,
            effects=call.tool.effects,
            workspace=None if workspace is None else Path(workspace.root_path),
            reads=reads,
            cwd=cwd,
        )
        call._drafts.append(ExecutorEvidenceDraft(source="holon-confinement", data=made.told))
        return made.argv
