"""Decide a call by policy: rules or defaults, then all that may only tighten; strictest wins."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from holon_core.records.base import Record
from holon_core.records.caller import CallerContext
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.tool import RuntimeToolDescriptor
from holon_core.records.words import EFFECT_ORDER, ApprovalRequirement, Decision, Effect, Posture

if TYPE_CHECKING:
    from holon_core.config.records import WorkspaceConfig
    from holon_core.guard.panel import NamedPolicy, PolicyPanel
    from holon_core.guard.rules import CompiledRule
    from holon_core.records.rule import Rule

# All that this tool can make is a pending approval, so asking before it would ask twice.
ASKS_BY_ITSELF = "holon.built-in.memory/request-workspace-memory-write-approval"
DEFAULT_ALLOWED = frozenset({Effect.NONE, Effect.WORKSPACE_READ, Effect.HOST_STATE_READ})

_STRICTNESS = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}
_DEFAULT = "default:effects"
_TOOL = "tool:approval"
_WORKSPACE = "workspace:config"
_MEMO_SIZE = 4096
_WORKSPACES = 256


@frozen(kw_only=True, eq=False, repr=False)
class PolicyOutcome(Record):
    """What policy decided of one call.

    ``rule`` and ``reason`` are those of the first verdict as strict as the decision; ``trail``
    holds every verdict in the order of asking. ``code`` is a row of the failure table for a
    denial, else ``None``. ``confined`` says that at least one of them requires confinement.
    """

    decision: Decision
    rule: str
    reason: str
    code: str | None = None
    confined: bool = False
    trail: tuple[Verdict, ...] = field(repr=False)


class PolicyEngine:
    """All policy of one runtime, immutable but for what it remembers.

    Args:
        rules: The operator's, first match from the top; where one matches it replaces the
            default by effects. ``unknown`` effects are denied whatever a rule says.
        plugin_policies: Asked together on one guard thread; can only tighten.
        workspace_config: Gives the configuration of a workspace id: every matching rule of it
            counts and can only tighten; one with error findings denies every call there.
        missing_guards: Names the guards that belong to the storage root and are absent; any
            name denies every call.
        budget_s: Time that the policies of plugins have together, in seconds.

    Raises:
        ValueError: A glob or an argument's key of a rule made in Python is not usable.

    Source: design, sections 4 (step 5), 6 ("Effects") and 7.
    """

    def __init__(
        self,
        *,
        rules: Sequence[Rule] = (),
        plugin_policies: Sequence[NamedPolicy] = (),
        workspace_config: Callable[[str], WorkspaceConfig] | None = None,
        missing_guards: Callable[[], Sequence[str]] = tuple,
        budget_s: float = 1.0,
    ) -> None:
        self._rules = _compiled(rules)
        self._panel = _panel(plugin_policies, budget_s)
        # Whether ``decide`` may wait, so that an event loop has to call it from a thread.
        self.needs_thread = self._panel is not None
        self._workspace_config = workspace_config
        self._missing_guards = missing_guards
        self._workspaces: dict[str, _WorkspaceRules] = {}
        self._memo: OrderedDict[tuple[Any, ...], tuple[object, PolicyOutcome]] = OrderedDict()

    def decide_operation(
        self, request: PolicyRequest, default: Verdict, *, in_spite_of_missing: bool = False
    ) -> PolicyOutcome:
        """Decide an operation: as a call, but for what counts where no rule matches.

        Args:
            request: ``tool`` describes the operation.
            default: The verdict where no rule of the operator matches.
            in_spite_of_missing: Whether it may be done while guards are missing.
        """
        missing = self._missing_guards()
        if missing and not in_spite_of_missing:
            return _guards_missing(missing)
        workspace = self._rules_of(request.caller.workspace)
        trail, _ = self._walk(request, workspace, default)
        return _strictest(trail)

    def decide(self, request: PolicyRequest) -> PolicyOutcome:
        """Decide one call; never raises on account of a policy.

        Args:
            request: The call; ``tool.digest`` identifies the definition.
        """
        if missing := self._missing_guards():
            return _guards_missing(missing)
        workspace = self._rules_of(request.caller.workspace)
        key = _memo_key(request.tool, request.caller, request.posture, request.effects_used)
        if (outcome := self._remembered(key, workspace)) is not None:
            return outcome
        trail, depends_on_arguments = self._walk(request, workspace)
        outcome = _strictest(trail)
        if self._panel is None and request.tool.digest and not depends_on_arguments:
            self._remember(key, workspace, outcome)
        return outcome

    def recall(
        self,
        tool: RuntimeToolDescriptor,
        caller: CallerContext,
        posture: Posture,
        effects_used: frozenset[Effect],
    ) -> PolicyOutcome | None:
        """Return what ``decide`` would say where that is known without the arguments.

        It spares the common call the making of a request.
        """
        found = self._memo.get(_memo_key(tool, caller, posture, effects_used))
        if found is None or self._missing_guards():
            return None
        workspace = caller.workspace
        rules = None if workspace is None else self._rules_of(workspace)
        return found[1] if found[0] is rules else None

    def close(self) -> tuple[str, ...]:
        """End the guard thread; return the names of threads that could not be ended."""
        return self._panel.close() if self._panel else ()

    def _walk(
        self,
        request: PolicyRequest,
        workspace: _WorkspaceRules | None,
        default: Verdict | None = None,
    ) -> tuple[list[Verdict], bool]:
        match, depends = self._match(request)
        base = default if default and match is None else _base(request.tool, match)
        trail = [base]
        if request.tool.approval is ApprovalRequirement.REQUIRED:
            trail.append(_own_requirement(match))
        if workspace is not None:
            verdicts, more = workspace.verdicts(request)
            trail += verdicts
            depends = depends or more
        if self._panel is not None:
            trail += self._panel.ask(request)
        return trail, depends

    def _match(self, request: PolicyRequest) -> tuple[CompiledRule | None, bool]:
        depends = False
        for rule in self._rules:
            if rule.concerns(request):
                depends = depends or rule.needs_arguments
                if rule.fits(request.arguments):
                    return rule, depends
        return None, depends

    def _rules_of(self, workspace: str | None) -> _WorkspaceRules | None:
        if workspace is None or self._workspace_config is None:
            return None
        known = self._workspaces.get(workspace)
        try:
            config = self._workspace_config(workspace)
            if known is not None and known.config is config:
                return known
            fresh = _WorkspaceRules(workspace, config)
        except Exception as error:
            return _WorkspaceRules.broken(f"its configuration raised {type(error).__name__}")
        if len(self._workspaces) >= _WORKSPACES:
            self._workspaces.clear()
        self._workspaces[workspace] = fresh
        return fresh

    def _remembered(
        self, key: tuple[Any, ...], workspace: _WorkspaceRules | None
    ) -> PolicyOutcome | None:
        found = self._memo.get(key)
        return found[1] if found is not None and found[0] is workspace else None

    def _remember(
        self, key: tuple[Any, ...], workspace: _WorkspaceRules | None, outcome: PolicyOutcome
    ) -> None:
        # First in, first out: moving entries on each hit would cost more than it saves.
        self._memo[key] = (workspace, outcome)
        if len(self._memo) > _MEMO_SIZE:
            self._memo.popitem(last=False)


class _WorkspaceRules:
    """The compiled rules of one reading of a workspace's configuration."""

    __slots__ = ("_fault", "_rules", "config")

    def __init__(self, workspace: str, config: WorkspaceConfig | None, fault: str = "") -> None:
        self.config = config
        self._rules: tuple[CompiledRule, ...] = ()
        self._fault = fault
        if config is not None:
            self._fault = config.fault
            self._rules = _compiled(config.rules, prefix=f"workspace:{workspace}:")

    @classmethod
    def broken(cls, fault: str) -> _WorkspaceRules:
        return cls("", None, fault)

    def verdicts(self, request: PolicyRequest) -> tuple[list[Verdict], bool]:
        """Return the verdict of every matching rule; whether the arguments mattered."""
        if self._fault:
            return [Verdict(decision=Decision.DENY, rule=_WORKSPACE, reason=self._fault)], False
        concerned = [rule for rule in self._rules if rule.concerns(request)]
        verdicts = [rule.verdict for rule in concerned if rule.fits(request.arguments)]
        return verdicts, any(rule.needs_arguments for rule in concerned)


def _memo_key(
    tool: RuntimeToolDescriptor,
    caller: CallerContext,
    posture: Posture,
    effects_used: frozenset[Effect],
) -> tuple[Any, ...]:
    return (
        tool.digest,
        caller.principal,
        caller.workspace,
        caller.role,
        caller.profile,
        caller.plan_step,
        posture,
        effects_used,
    )


def _compiled(rules: Sequence[Rule], **options: Any) -> tuple[CompiledRule, ...]:
    if not rules:
        return ()
    from holon_core.guard.rules import compile_rules

    return compile_rules(rules, **options)


def _panel(policies: Sequence[NamedPolicy], budget_s: float) -> PolicyPanel | None:
    if not policies:
        return None
    from holon_core.guard.panel import PolicyPanel

    return PolicyPanel(policies, budget_s=budget_s)


def _base(tool: RuntimeToolDescriptor, match: CompiledRule | None) -> Verdict:
    if Effect.UNKNOWN in tool.effects or not tool.effects:
        return _verdict(Decision.DENY, "its effects are not declared, and no rule lifts that")
    if match is not None:
        return match.verdict
    if tool.id == ASKS_BY_ITSELF:
        return _verdict(Decision.ALLOW, "all it can make is a pending approval")
    asks = tool.effects - DEFAULT_ALLOWED
    if not asks:
        return _verdict(Decision.ALLOW, "no effect beyond reads of the workspace and own state")
    named = ", ".join(effect for effect in EFFECT_ORDER if effect in asks)
    return _verdict(Decision.ASK, f"its effects need an approval: {named}")


def _verdict(decision: Decision, reason: str, rule: str = _DEFAULT) -> Verdict:
    return Verdict(decision=decision, rule=rule, reason=reason)


def _own_requirement(match: CompiledRule | None) -> Verdict:
    if match is not None and match.rule.decision is Decision.ALLOW and match.rule.exact:
        return _verdict(Decision.ALLOW, f"lifted by {match.label}, which names it exactly", _TOOL)
    return _verdict(Decision.ASK, "the tool itself requires an approval", _TOOL)


def _guards_missing(names: Sequence[str]) -> PolicyOutcome:
    trail = tuple(
        Verdict(decision=Decision.DENY, rule=f"guard:{name}", reason=f"guard {name} is missing")
        for name in names
    )
    return PolicyOutcome(
        decision=Decision.DENY,
        rule=trail[0].rule,
        reason=f"missing guards: {', '.join(names)}",
        code="guard_missing",
        trail=trail,
    )


def _strictest(trail: Sequence[Verdict]) -> PolicyOutcome:
    worst = max(trail, key=lambda verdict: _STRICTNESS[verdict.decision])
    return PolicyOutcome(
        decision=worst.decision,
        rule=worst.rule,
        reason=worst.reason,
        code="policy_denied" if worst.decision is Decision.DENY else None,
        confined=any(verdict.confined for verdict in trail),
        trail=tuple(trail),
    )
