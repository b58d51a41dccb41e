"""Every public exception, and the failure table: code, kind, status, what to do.

A refusal or failure of a governed call is a value (`StructuredFailure`); exceptions are for
misuse of the API, for rejected registrations and for a store that cannot be opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holon_core.records.words import Status, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holon_core.records.failure import StructuredFailure
    from holon_core.records.finding import Finding


class StructuredFailureKind(Word):
    """The coarse kinds of failure; discovery's blocking reasons use the same words."""

    UNKNOWN_TOOL = "unknown_tool"
    DEFINITION_CHANGED = "definition_changed"
    WRONG_WORKSPACE = "wrong_workspace"
    NOT_ALLOWED = "not_allowed"
    INVALID_ARGUMENTS = "invalid_arguments"
    PATH_REFUSED = "path_refused"
    UNSUPPORTED_CAPABILITY = "unsupported_capability"
    DEPENDENCY_MISSING = "dependency_missing"
    SECRET_UNRESOLVED = "secret_unresolved"
    ARTIFACT_NOT_READY = "artifact_not_ready"
    LIFECYCLE_BLOCKED = "lifecycle_blocked"
    CIRCUIT_OPEN = "circuit_open"
    POLICY_DENIED = "policy_denied"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    CONFLICT = "conflict"
    EVIDENCE_UNAVAILABLE = "evidence_unavailable"
    EVIDENCE_TAMPERED = "evidence_tampered"
    STORE_UNAVAILABLE = "store_unavailable"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_FAILED = "process_failed"
    TOOL_FAILED = "tool_failed"
    INVALID_OUTPUT = "invalid_output"
    SCHEMA_MISMATCH = "schema_mismatch"
    EXTRACTION_FAILURE = "extraction_failure"
    BUDGET_EXCEEDED = "budget_exceeded"
    UNSUPPORTED_HOST = "unsupported_host"
    INTERNAL = "internal"


K = StructuredFailureKind
F, B = Status.FAILED, Status.BLOCKED

# code: (kind, status, what it means, what would unblock it)
# fmt: off
FAILURES: dict[str, tuple[StructuredFailureKind, Status, str, str]] = {
    "unknown_tool": (K.UNKNOWN_TOOL, B, "no tool of this id is in the catalogue", "list the tools; install or register the one you need"),
    "definition_changed": (K.DEFINITION_CHANGED, B, "the tool differs from the definition that was pinned or reviewed", "read the difference, then pin or accept the new definition"),
    "wrong_workspace": (K.WRONG_WORKSPACE, B, "the workspace does not exist or is not the caller's", "open the workspace, or call from a session that may use it"),
    "workspace_unavailable": (K.WRONG_WORKSPACE, B, "the workspace's root is gone, exchanged or not a directory", "restore the folder or open the workspace anew"),
    "workspace_required": (K.WRONG_WORKSPACE, B, "the tool needs a workspace and the session has none", "call from a session that has a workspace"),
    "not_allowed": (K.NOT_ALLOWED, B, "the caller's role, plan step, profile or authority does not include this", "ask as a caller that may, or widen the profile"),
    "arguments_invalid": (K.INVALID_ARGUMENTS, F, "the arguments break the input schema or the boundary rules", "correct the argument at the path given"),
    "input_too_large": (K.INVALID_ARGUMENTS, F, "the input does not fit the contract's channel", "send less, or pass a reference instead of the content"),
    "schema_limit": (K.INVALID_ARGUMENTS, F, "validating this value costs more than the budget", "send a smaller value, or simplify the schema"),
    "path_escape": (K.PATH_REFUSED, B, "the path leads outside the workspace", "name a path inside the workspace"),
    "path_invalid": (K.PATH_REFUSED, B, "not a usable path on this platform", "name an ordinary relative path"),
    "path_loop": (K.PATH_REFUSED, B, "the links of this path do not end", "name the target directly"),
    "path_not_found": (K.TOOL_FAILED, F, "nothing is at this path inside the workspace", "check the path against a listing"),
    "not_regular_file": (K.TOOL_FAILED, F, "the path is a pipe, socket or device", "name a regular file"),
    "is_a_directory": (K.TOOL_FAILED, F, "a file was needed and the path is a directory", "name a file, or list the directory"),
    "not_a_directory": (K.TOOL_FAILED, F, "a directory was needed and the path is a file", "name a directory"),
    "permission_denied": (K.TOOL_FAILED, F, "the operating system refuses access", "change the file's permissions or name another"),
    "secret_in_content": (K.INVALID_ARGUMENTS, F, "the content contains the value of a registered secret, which is written nowhere", "leave the secret out; name its reference instead"),
    "binary_content": (K.TOOL_FAILED, F, "the content is not UTF-8 text", "ask for it with the encoding base64"),
    "changed_during_read": (K.TOOL_FAILED, F, "the file changed while it was read", "read it again"),
    "invalid_pattern": (K.TOOL_FAILED, F, "the regular expression or its size is refused", "correct or shorten the pattern"),
    "invalid_glob": (K.TOOL_FAILED, F, "the glob is malformed", "correct the glob"),
    "unsupported_capability": (K.UNSUPPORTED_CAPABILITY, B, "the capability is known but not executable here", "see the list of plugins: it says what was refused, and why"),
    "executor_unbound": (K.UNSUPPORTED_CAPABILITY, B, "nothing that could run the imported capability is bound to it", "have the host or an adapter bind an executor to it"),
    "schema_unusable": (K.UNSUPPORTED_CAPABILITY, B, "the imported capability has no usable input or output schema", "import a definition that declares both"),
    "definition_incomplete": (K.UNSUPPORTED_CAPABILITY, B, "the imported definition says too little, or wrong things, to run it", "see the findings of its skill, and import a corrected definition"),
    "posture_unapproved": (K.UNSUPPORTED_CAPABILITY, B, "nobody approved that this definition runs under this posture", "have an approver do it: skill/approve-execution"),
    "unknown_skill": (K.UNKNOWN_TOOL, F, "no such skill or source of skills is registered", "see skill/list and skill-source/list"),
    "live_execution_blocked": (K.UNSUPPORTED_CAPABILITY, B, "live execution is closed for this lane", "see the message for what would open it; until then use a dry run"),
    "mcp_pagination": (K.TOOL_FAILED, F, "a list of an MCP server does not end by the rules of the protocol", "have the server corrected, or give every page of one whole list"),
    "mcp_answer": (K.TOOL_FAILED, F, "an MCP server answers otherwise than the protocol says, or not in time", "see the message; correct the server, or save its answers and register those"),
    "effects_undeclared": (K.UNSUPPORTED_CAPABILITY, B, "the tool declares no effects, and unknown effects are never executed", "declare its effects where the tool is registered"),
    "dependency_missing": (K.DEPENDENCY_MISSING, B, "a needed program or package is absent or too old", "install what the message names"),
    "secret_unresolved": (K.SECRET_UNRESOLVED, B, "a secret slot has no provider that resolves it", "bind the slot to a secret reference and set its value"),
    "artifact_not_ready": (K.ARTIFACT_NOT_READY, B, "the artifact behind the tool is not built or not verified", "build it, then revalidate"),
    "artifact_changed": (K.ARTIFACT_NOT_READY, B, "what would run is not what was approved, frozen or built", "review the change and approve the new artifact"),
    "lifecycle_blocked": (K.LIFECYCLE_BLOCKED, B, "the tool's lifecycle state does not allow execution", "move it to a state that does"),
    "unknown_package": (K.UNKNOWN_TOOL, F, "no plugin package of this id is registered", "see plugin-package/list; plugin-package/register brings one"),
    "unknown_proposal": (K.UNKNOWN_TOOL, B, "no frozen tool, and no proposal of one, has this id", "list the frozen tools of the workspace"),
    "move_not_allowed": (K.LIFECYCLE_BLOCKED, B, "the lifecycle has no such move from this state", "make one of the moves that the message names"),
    "provenance_missing": (K.LIFECYCLE_BLOCKED, B, "no run or record of evidence is named as its origin, or one that is not there", "name completed calls of this workspace in calls"),
    "fixtures_missing": (K.LIFECYCLE_BLOCKED, B, "it has no fixture", "add at least one fixture"),
    "fixtures_failed": (K.LIFECYCLE_BLOCKED, B, "the runtime did not run and pass its fixtures in this form", "read the results of its fixtures, correct it, and validate it again"),
    "content_frozen": (K.LIFECYCLE_BLOCKED, B, "from frozen on nothing of it can be changed", "propose a new version under the same name"),
    "confinement_unavailable": (K.UNSUPPORTED_CAPABILITY, B, "policy requires confinement, which can't be enforced here", "install bubblewrap where it is missing, or have an operator change the rule that requires it"),
    "circuit_open": (K.CIRCUIT_OPEN, B, "the tool failed too often lately", "wait for the circuit to close, or fix the tool"),
    "policy_denied": (K.POLICY_DENIED, B, "policy said no, or did not clearly say yes", "ask an operator to change the rule named in the message"),
    "guard_missing": (K.POLICY_DENIED, B, "a guard that belongs to this storage root, or that is required, is absent", "install it again, or see the list of plugins: it says of each guard what else lifts it"),
    "approval_required": (K.APPROVAL_REQUIRED, B, "a person has to approve exactly this call", "approve the held call, then release it"),
    "approval_mismatch": (K.APPROVAL_REQUIRED, B, "an approval exists, but for another payload", "have this payload approved, or send the approved one"),
    "approval_wrong_scope": (K.APPROVAL_REQUIRED, B, "an approval exists, but for another workspace, caller or definition", "have this call approved: an approval holds in its own scope alone"),
    "approval_expired": (K.APPROVAL_REQUIRED, B, "the approval is no longer valid", "have this call approved anew"),
    "approval_consumed": (K.APPROVAL_REQUIRED, B, "the approval was for a single use and has been used", "have this call approved anew"),
    "approval_revoked": (K.APPROVAL_REQUIRED, B, "the approval was taken back", "have this call approved anew"),
    "approval_denied": (K.APPROVAL_DENIED, B, "a person said no", "change the call, or talk to the person named"),
    "approval_limit": (K.APPROVAL_DENIED, B, "too many approvals of this caller are pending", "have some of them decided first"),
    "self_approval": (K.NOT_ALLOWED, B, "who asked may not decide", "have somebody else decide"),
    "already_decided": (K.CONFLICT, B, "the approval or held call was decided before", "read its record"),
    "not_held": (K.CONFLICT, B, "no such call is held, or it was released before", "list the held calls"),
    "conflict": (K.CONFLICT, B, "something else is there already, or it changed meanwhile: an idempotency key, a name, a revision", "look at what is there now, then ask again; with another key or name where that one is taken"),
    "unknown_guard": (K.CONFLICT, B, "no guard of this name belongs to the storage root", "see which guards are missing in the list of plugins"),
    "guard_active": (K.CONFLICT, B, "the guard is active, so that no call misses it", "uninstall its plugin first, where it should go"),
    "not_pinned": (K.CONFLICT, B, "the tool is not pinned", "see which tools are"),
    "file_exists": (K.CONFLICT, B, "a file is there already", "name another file, or ask for it to be replaced"),
    "evidence_unavailable": (K.EVIDENCE_UNAVAILABLE, B, "the call cannot be recorded, so it did not run", "free disk space or repair the store"),
    "evidence_not_closed": (K.EVIDENCE_UNAVAILABLE, F, "the call ran, but its end could not be recorded", "treat its effect as indeterminate and repair the store"),
    "sink_behind": (K.EVIDENCE_UNAVAILABLE, B, "a required evidence sink is too far behind", "repair the sink"),
    "evidence_tampered": (K.EVIDENCE_TAMPERED, F, "the evidence chain does not verify", "compare with an earlier head and an exported bundle"),
    "store_locked": (K.STORE_UNAVAILABLE, B, "another writer held the store past the time limit", "try again when it is free"),
    "store_corrupt": (K.STORE_UNAVAILABLE, F, "the file is not a sound store", "restore a copy; the file was left as it is"),
    "store_incompatible": (K.STORE_UNAVAILABLE, F, "the store is of another version", "open it with the version that it names"),
    "store_unsupported_fs": (K.STORE_UNAVAILABLE, F, "the file system cannot carry the store safely", "use a local folder, or set store.journal = \"rollback\""),
    "store_unavailable": (K.STORE_UNAVAILABLE, B, "the store cannot be read or written", "let this user read and write it, or name another storage root"),
    "timeout": (K.TIMEOUT, F, "ended by the time limit", "ask for less, or raise the limit where the tool is declared"),
    "cancelled": (K.CANCELLED, F, "ended by the caller", "call again if it is still wanted"),
    "interrupted": (K.INTERRUPTED, B, "the process died while this call ran; whether it took effect is unknown", "check the effect by hand, then call with a new key"),
    "output_too_large": (K.OUTPUT_LIMIT, F, "ended by the output limit", "ask for less, or raise the limit where the tool is declared"),
    "spawn_failed": (K.PROCESS_FAILED, F, "the program never started", "check the program named in the message"),
    "killed_by_signal": (K.PROCESS_FAILED, F, "the program was ended by a signal that the runtime did not send", "see its standard error in evidence"),
    "tool_exit": (K.PROCESS_FAILED, F, "the program ran and exited with an error", "see its standard error in evidence"),
    "exit_status_lost": (K.PROCESS_FAILED, F, "the host reaped the program, so its exit status is unknown", "do not ignore SIGCHLD or reap foreign children in the host"),
    "tool_failed": (K.TOOL_FAILED, F, "the tool reported a failure", "see the message"),
    "tool_raised": (K.TOOL_FAILED, F, "the tool raised an exception", "see the evidence of the call"),
    "output_empty": (K.INVALID_OUTPUT, F, "no bytes, or white space only", "a tool with nothing to say prints {}"),
    "output_not_utf8": (K.INVALID_OUTPUT, F, "the output is not UTF-8", "print UTF-8"),
    "output_not_json": (K.INVALID_OUTPUT, F, "not exactly one strict JSON text within limits", "print one JSON object on stdout and diagnostics on stderr"),
    "output_not_object": (K.INVALID_OUTPUT, F, "JSON, but not an object", "print one JSON object"),
    "output_schema": (K.INVALID_OUTPUT, F, "the output breaks the declared schema", "correct the tool or its output schema"),
    "schema_mismatch": (K.SCHEMA_MISMATCH, F, "the value does not fit the required schema", "correct the value at the path given"),
    "extraction_failure": (K.EXTRACTION_FAILURE, F, "no single JSON value could be taken from the text", "answer with exactly one JSON value"),
    "gate_unmet": (K.SCHEMA_MISMATCH, F, "a gate of the output's class lacks a fact that it decides by", "give the fact that the message names, or use a class without that gate"),
    "unknown_output_class": (K.UNSUPPORTED_CAPABILITY, B, "no structured-output class of this name", "list the classes; register the one you need"),
    "unknown_output": (K.CONFLICT, B, "no accepted output of this id belongs to this caller", "use the id that the acceptance gave, in the same workspace"),
    "unknown_workflow": (K.UNKNOWN_TOOL, F, "no workflow definition of this id and version", "list the definitions"),
    "unknown_run": (K.UNKNOWN_TOOL, F, "no run of a workflow has this id", "list the runs"),
    "unknown_gate": (K.UNKNOWN_TOOL, F, "no human gate has this id", "list the gates that wait"),
    "unknown_bridge": (K.UNKNOWN_TOOL, F, "nothing of this id is kept for bridges", "list what there is"),
    "workflow_state": (K.CONFLICT, F, "the run, step or gate is in a state that does not allow this, or another process drives the run", "read the run"),
    "workflow_step_indeterminate": (K.INTERRUPTED, B, "a process died during a step with side effects; whether it took effect is unknown", "check the effect by hand, then workflow-step/resolve"),
    "workflow_no_branch": (K.TOOL_FAILED, F, "no condition of a branch holds, and it has no default", "give the branch a default, or correct its conditions"),
    "workflow_expression": (K.TOOL_FAILED, F, "a mapping or condition does not fit the values", "correct the expression, or what it is applied to"),
    "workflow_limit": (K.BUDGET_EXCEEDED, F, "a stated limit of turns, items or depth was reached", "raise the limit in the definition, or correct what never ends"),
    "gate_expired": (K.TIMEOUT, F, "nobody answered the human gate in time", "start again, or give the gate more time"),
    "gate_rejected": (K.APPROVAL_DENIED, F, "a person, or a review, said no", "see the reason that was given"),
    "ai_no_answer": (K.TOOL_FAILED, F, "an AI step has no answer for its inputs", "record one, or add a rule or a default answer"),
    "ai_failed": (K.TOOL_FAILED, F, "the model's service did not answer as it has to", "see the message"),
    "bridge_not_ready": (K.UNSUPPORTED_HOST, B, "a bridge that the step needs is not ready", "see bridge/readiness"),
    "budget_exceeded": (K.BUDGET_EXCEEDED, F, "a stated budget is used up", "raise the budget or ask for less"),
    "host_unsupported": (K.UNSUPPORTED_HOST, B, "the host lacks what the tool needs", "see the message"),
    "event_loop_blocked": (K.UNSUPPORTED_HOST, B, "the tool needs the event loop that waits for it, or may need it", "make the call asynchronously (acall), or give the tool a time limit (timeout_s)"),
    "lane_protocol": (K.INTERNAL, F, "a lane's executor broke the contract", "report it to the lane named in the message"),
    "internal": (K.INTERNAL, F, "a fault of Holon itself", "report it with the evidence of the call"),
}
# fmt: on

# Codes of findings: what is refused at registration, import or validation.
FINDINGS: dict[str, str] = {
    "schema_invalid": "not a valid or usable JSON Schema",
    "schema_unsupported": "a dialect that the core does not know",
    "schema_remote_ref": "a reference reaches outside its own document",
    "schema_limit": "the schema costs more than the budget",
    "schema_closed": "an object schema silent on additional properties was closed",
    "schema_format_unchecked": "a format outside the asserted list is an annotation only",
    "duplicate_id": "one id twice",
    "invalid_id": "outside the id grammar",
    "reserved_id": "belongs to the core or another owner",
    "unresolved_ref": "points at nothing",
    "version_conflict": "same version, other content",
    "record_invalid": "a field is missing, unknown or of the wrong type",
    "config_invalid": "a setting that is not allowed, or not understood",
    "signature_unsupported": "a function's signature cannot be described by a schema",
    "plugin_broken": "a plugin that could not be loaded or misbehaved",
    "effects_undeclared": "the effects of a tool are not declared, so that its calls are refused",
    "text_suspicious": "a text hides characters, or instructs a model instead of describing a tool",
    "operation_unsupported": "an operation of an API, or a part of it, that cannot be mapped",
    "package_path_escape": "a path of a package that leads outside it, or is no path everywhere",
    "package_entry_type": "a link, a device or another entry of a package that is no regular file",
    "package_duplicate_entry": "two entries of a package with one name, on some platform at least",
    "package_too_large": "a package, or a part of one, beyond the limits",
    "package_archive_invalid": "an archive that is broken or cannot be read",
    "package_manifest_invalid": "a manifest of a package, or a part of it, that breaks its format",
    "package_format_unknown": "a package of a format that no installed reader knows",
    "package_formats": "a package of several formats, of which one is read",
    "package_digest_mismatch": "a file of a package that is not what its digest says",
    "package_part_unmapped": "a part of a package that has no place in the catalogue",
    "cyclic_ref": "references that lead in a ring",
    "undeclared_file": "a file that a package does not declare",
    "lane_unknown": "a lane of a package that is not known, and stays closed",
    "host_only": "policy, secrets, approvals, sessions or authority, which stay with the host",
    "changed_during_read": "a file that changed while it was read",
    "fixture_invalid": "a fixture whose input or expectation does not fit its own tool",
    "source_invalid": "a source file that cannot be managed: its path, its size or its place",
    "workflow_invalid": "a definition that breaks the form of a workflow",
    "workflow_cycle": "nodes that go round; only a loop node repeats",
    "workflow_unreachable": "a node that nothing leads to",
    "workflow_branch": "a branch that may match nothing, or an edge that is none of its own",
    "workflow_input": "an input that is missing, or mapped from a step that may not have run",
    "workflow_mismatch": "what a step gives can't be what the next one takes",
    "workflow_gate_missing": "an AI step's answer is used, and passes no output class or schema",
    "workflow_kind_unknown": "a kind of nodes that no installed distribution brings",
    "workflow_timer": "a time or duration that is none, or too far away",
    "workflow_unmapped": "a part of another format that has no place in a definition",
    "secret_unbound": "a secret of a proposal whose reference no operator has bound",
    "secret_in_content": "a part of a proposal that holds the value of a secret",
    "kind_unknown": "a kind of frozen tool that no installed lane brings",
    "not_portable": "a part that the contract it is written to has no place for",
    "returns_plan": "a tool whose purpose is to return a plan, which is a final answer",
    "review_refused": "a reviewer plugin refused the candidate",
}


class HolonError(Exception):
    """Base of all exceptions that Holon raises on purpose."""

    def _fields(self) -> dict[str, Any]:
        return dict(vars(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HolonError) or type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class Misuse(HolonError):
    """The API was used in a way that can never work; the text says what to do instead."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


class RuntimeNotOpen(Misuse):
    """Something was asked of a runtime, or of a plugin's host, that is not open yet or no longer."""


class UsedAfterFork(Misuse):
    """A runtime opened before a fork was used in the child, which has to open its own."""


class Rejected(HolonError):
    """A registration, import or configuration was refused; nothing was stored.

    ``findings`` holds everything that was found, errors and warnings alike.
    """

    def __init__(self, subject: str, findings: Sequence[Finding]) -> None:
        super().__init__(subject, tuple(findings))
        self.subject = subject
        self.findings = tuple(findings)

    def __str__(self) -> str:
        shown = "; ".join(f"{f.code} at {f.path or '/'}: {f.message}" for f in self.findings[:5])
        more = len(self.findings) - 5
        return f"{self.subject} rejected: {shown}" + (f"; and {more} more" if more > 0 else "")


class JsonRefused(HolonError):
    """Text or a value is not strict JSON within the limits (design, section 4, step 3).

    ``path`` is a JSON pointer to the fault; ``offset`` its position in the text where known,
    in bytes for bytes and in characters for str.
    """

    def __init__(self, rule: str, message: str, path: str = "", offset: int | None = None) -> None:
        super().__init__(rule, message, path, offset)
        self.rule, self.message, self.path, self.offset = rule, message, path, offset

    def __str__(self) -> str:
        at = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.message} at {self.path or '/'}{at}"


class StoreError(HolonError):
    """The store cannot be opened, read or written. ``code`` is a row of the failure table."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message

    def __str__(self) -> str:
        return f"{self.message}; {FAILURES[self.code][3]}"


class WorkspaceInsideRoot(HolonError):
    """A workspace and the storage root contain one another; neither may."""

    def __init__(self, root: Path, workspace: Path) -> None:
        super().__init__(root, workspace)
        self.root, self.workspace = root, workspace

    def __str__(self) -> str:
        return f"workspace {self.workspace} overlaps storage root {self.root}; choose another root"


class CallFailed(HolonError):
    """Raised by ``ToolResult.raise_for_failure``; carries the failure."""

    def __init__(self, failure: StructuredFailure, call_id: str) -> None:
        super().__init__(failure, call_id)
        self.failure, self.call_id = failure, call_id

    def __str__(self) -> str:
        return f"{self.failure.code}: {self.failure.message}"


class Refused(HolonError):
    """An operation on approvals, held calls or the like was refused; carries the failure."""

    def __init__(self, failure: StructuredFailure) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        return f"{self.failure.code}: {self.failure.message}"
