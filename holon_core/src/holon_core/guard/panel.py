"""Ask the policies of plugins: all of a call together, on one guard thread, within a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from attrs import evolve, frozen

from holon_core.plugins.faults import kind_of
from holon_core.records.base import Record
from holon_core.records.policy import PolicyRequest, Verdict
from holon_core.records.words import Decision
from holon_core.visible import escape_controls

BUDGET_S = 1.0
MAX_STUCK = 4
_MAX_REASON = 500
_JOIN_S = 1.0


@frozen(kw_only=True, eq=False, repr=False)
class NamedPolicy(Record):
    """A plugin's policy with the name and the distribution that it is known by."""

    name: str
    distribution: str
    evaluate: Callable[[PolicyRequest], Verdict]

    @property
    def rule(self) -> str:
        """How verdicts name this policy."""
        return f"plugin:{self.distribution}/{self.name}"


class PolicyPanel:
    """The policies of plugins, asked by name order; whatever is no clear verdict is a deny.

    A call waits at most ``budget_s`` for its turn and as long for all verdicts together. The
    thread of a policy that hangs is abandoned and replaced; with ``MAX_STUCK`` of them alive
    every call is denied at once. A policy that holds the interpreter lock can't be bounded.
    """

    def __init__(self, policies: Sequence[NamedPolicy], *, budget_s: float = BUDGET_S) -> None:
        self.policies = tuple(sorted(policies, key=lambda each: (each.distribution, each.name)))
        self._budget_s = budget_s
        self._turn = threading.Lock()
        self._worker: _Worker | None = None
        self._stuck: list[_Worker] = []
        self._closed = False

    def ask(self, request: PolicyRequest) -> tuple[Verdict, ...]:
        """Return one verdict for each policy, in the order of their names."""
        if not self._turn.acquire(timeout=self._budget_s):
            return self._denials(f"no turn within {self._budget_s:g} s")
        try:
            return self._ask(request)
        finally:
            self._turn.release()

    def close(self) -> tuple[str, ...]:
        """End the guard thread, in at most 1 s; return the names of those that go on."""
        self._closed = True
        workers = [*self._stuck, *([self._worker] if self._worker else [])]
        for worker in workers:
            worker.stop()
        deadline = monotonic() + _JOIN_S
        return tuple(worker.name for worker in workers if not worker.ends_by(deadline))

    def _ask(self, request: PolicyRequest) -> tuple[Verdict, ...]:
        if self._closed:
            return self._denials("the policies are closed")
        self._stuck = [worker for worker in self._stuck if worker.alive]
        if len(self._stuck) >= MAX_STUCK:
            return self._denials(f"too many calls hang in {self._stuck[-1].at}")
        worker = self._worker
        try:
            if worker is None or not worker.alive:
                worker = self._worker = _Worker(self.policies)
        except RuntimeError as error:
            return self._denials(f"no guard thread: {error}")
        return self._answers(worker, request)

    def _answers(self, worker: _Worker, request: PolicyRequest) -> tuple[Verdict, ...]:
        try:
            verdicts = worker.ask(request, timeout_s=self._budget_s)
        except BaseException:
            # An interrupted wait leaves an answer behind that belongs to no later call.
            self._abandon(worker)
            raise
        if len(verdicts) == len(self.policies):
            return tuple(verdicts)
        self._abandon(worker)
        late = self.policies[len(verdicts)]
        reason = f"no verdict of {late.rule} within {self._budget_s:g} s"
        return (*verdicts, *self._denials(reason)[len(verdicts) :])

    def _abandon(self, worker: _Worker) -> None:
        worker.stop()
        self._stuck.append(worker)
        self._worker = None

    def _denials(self, reason: str) -> tuple[Verdict, ...]:
        return tuple(_deny(policy, reason) for policy in self.policies)


class _Worker:
    """One guard thread with its queues; a late answer stays in them, seen by nobody."""

    def __init__(self, policies: tuple[NamedPolicy, ...]) -> None:
        self._policies = policies
        self._requests: SimpleQueue[PolicyRequest | None] = SimpleQueue()
        self._answers: SimpleQueue[None] = SimpleQueue()
        self._verdicts: list[Verdict] = []
        self._thread = threading.Thread(target=self._run, name="holon-guard", daemon=True)
        self._thread.start()

    def ask(self, request: PolicyRequest, *, timeout_s: float) -> list[Verdict]:
        """Return the verdicts that came in time, possibly fewer than there are policies."""
        verdicts: list[Verdict] = []
        self._verdicts = verdicts
        self._requests.put(request)
        try:
            self._answers.get(timeout=timeout_s)
        except Empty:
            return list(verdicts)
        return verdicts

    def stop(self) -> None:
        """Have the thread end as soon as it is free."""
        self._requests.put(None)

    def ends_by(self, deadline: float) -> bool:
        """Wait for a thread that was stopped; tell whether it ended."""
        self._thread.join(max(0.0, deadline - monotonic()))
        return not self.alive

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def at(self) -> str:
        """The policy that is being asked."""
        return self._policies[min(len(self._verdicts), len(self._policies) - 1)].rule

    @property
    def name(self) -> str:
        return f"{self._thread.name} in {self.at}"

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            verdicts = self._verdicts
            for policy in self._policies:
                verdicts.append(_verdict(policy, request))
            self._answers.put(None)


def _verdict(policy: NamedPolicy, request: PolicyRequest) -> Verdict:
    try:
        # Each policy gets arguments of its own: one that changes them changes nothing that runs.
        said: object = policy.evaluate(evolve(request, arguments=_copy(request.arguments)))
        return _checked(policy, said)
    except BaseException as error:
        # KeyboardInterrupt as well: a person's arrives in the main thread and never in this one.
        from holon_core import logs

        name = kind_of(error)
        logs.raised(policy.rule, name, logs.frames(error))
        return _deny(policy, f"it raised {name}")


def _checked(policy: NamedPolicy, said: object) -> Verdict:
    if type(said) is not Verdict or type(said.decision) is not Decision:
        return _deny(policy, f"it answered a {kind_of(said)} that is no plain verdict")
    confined: object = said.confined
    if type(confined) is not bool:
        return _deny(policy, "it says of confinement neither yes nor no")
    text = said.reason or said.rule
    if type(text) is not str:
        return _deny(policy, "its reason is not text")
    return Verdict(
        decision=said.decision,
        rule=policy.rule,
        reason=escape_controls(text[:_MAX_REASON]),
        confined=confined,
    )


def _deny(policy: NamedPolicy, reason: str) -> Verdict:
    return Verdict(decision=Decision.DENY, rule=policy.rule, reason=reason)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
