"""What an imported capability needs before it can run; each lack is named."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.records.base import Record
from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.skill import CapabilityBindingRecord, SkillLifecycle
from holon_core.records.words import Effect
from holon_core.skills.codec import approval_from, binding_of
from holon_core.store.rows import decodes

if TYPE_CHECKING:
    from holon_core.records.gate import GateCall
    from holon_core.records.skill import PostureApproval
    from holon_core.records.tool import Dependency
    from holon_core.records.words import Posture
    from holon_core.skills.bindings import Bindings
    from holon_core.store.protocol import Store, Tables

CARDS = "holon.skill-tools"
APPROVALS = "holon.skill-approvals"
MAX_CARDS = 4096
MAX_SKILLS = 100_000


@frozen(kw_only=True, eq=False, repr=False)
class Card(Record):
    """What the gates look at of one capability."""

    binding: CapabilityBindingRecord
    lifecycle: SkillLifecycle
    skill_digest: str
    tool_digest: str


@decodes("a capability of a skill")
def card_from(body: bytes) -> Card:
    """Return the card that was stored."""
    data = json.loads(body)
    return Card(
        binding=binding_of(data["binding"]),
        lifecycle=SkillLifecycle(data["lifecycle"]),
        skill_digest=data["skill_digest"],
        tool_digest=data["tool_digest"],
    )


def approval_key(tool_id: str, posture: Posture) -> str:
    """Return the id under which the approval of a posture is kept."""
    return f"{tool_id}#{posture.value}"


class SkillGates:
    """The gates of imported capabilities.

    Args:
        store: Where cards and approvals are.
        bindings: The executors that are bound.
    """

    def __init__(self, store: Store, bindings: Bindings) -> None:
        self._store = store
        self._bindings = bindings
        self._known: OrderedDict[str, tuple[Card | None, PostureApproval | None]] = OrderedDict()
        self._skills: dict[str, str | None] = {}
        self._generation = 0
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Look anew, after a change of the registry."""
        with self._lock:
            self._generation += 1
            self._known.clear()
            self._skills.clear()

    def card(self, tool_id: str) -> Card | None:
        """Return what is kept of a capability."""
        found = self._store.read(lambda tables: tables.document(CARDS, tool_id))
        return None if found is None else card_from(found.body)

    def skill_of(self, tool_id: str) -> str | None:
        """Return the skill of a capability; ``None`` where it is none of a skill."""
        known = self._skills.get(tool_id, ...)
        if known is not ...:
            return known
        generation = self._generation
        card = self.card(tool_id)
        found = None if card is None else card.binding.skill
        with self._lock:
            if generation == self._generation and len(self._skills) < MAX_SKILLS:
                self._skills[tool_id] = found
        return found

    def __call__(self, call: GateCall) -> Iterator[StructuredFailure]:
        """Name everything that keeps a capability from running under the posture of a call."""
        tool = call.tool
        card, approval = self._look_up(tool.id, call.posture)
        if card is None or card.tool_digest != tool.digest:
            text = f"what was imported of {tool.id} is not whole; import its skill again"
            yield failure("definition_incomplete", text)
            return
        yield from of_definition(card)
        bound = self._bindings.of(tool.id)
        provided = frozenset() if bound is None else bound.provides
        for dependency in tool.dependencies:
            if dependency.name not in provided:
                yield from _missing(dependency)
        beyond = frozenset() if bound is None else undeclared(bound.effects, tool.effects)
        if beyond:
            names = sorted(beyond)
            text = f"what is bound has effects that it does not declare: {', '.join(names)}"
            yield failure("effects_undeclared", text, effects=[each.value for each in names])
        if card.binding.needs_posture_approval:
            yield from _posture(card, approval, call)

    def _look_up(self, tool_id: str, posture: Posture) -> tuple[Card | None, Any]:
        key = approval_key(tool_id, posture)
        known = self._known.get(key)
        if known is not None:
            return known
        generation = self._generation

        def work(tables: Tables) -> tuple[Any, Any]:
            return tables.document(CARDS, tool_id), tables.document(APPROVALS, key)

        card, approval = self._store.read(work)
        found = (
            None if card is None else card_from(card.body),
            None if approval is None else approval_from(approval),
        )
        with self._lock:
            if generation == self._generation:
                self._known[key] = found
                if len(self._known) > MAX_CARDS:
                    self._known.popitem(last=False)
        return found


def undeclared(effects: frozenset[Effect], declared: frozenset[Effect]) -> frozenset[Effect]:
    """Return the effects of what runs a capability that the capability does not declare.

    Policy judges by what is declared, so that nothing may do more behind it. Whoever may change
    things elsewhere may read there, too.
    """
    reads = {Effect.NETWORK_READ} if Effect.NETWORK_WRITE in declared else set()
    return effects - declared - reads - {Effect.NONE}


def of_definition(card: Card) -> Iterator[StructuredFailure]:
    """Name what the definition itself lacks."""
    binding = card.binding
    lacking = [
        what
        for what, schema in (("input", binding.input_schema), ("output", binding.output_schema))
        if schema is None
    ]
    if lacking:
        text = f"it has no usable {' and no usable '.join(lacking)} schema"
        yield failure("schema_unusable", text, schemas=lacking)
    for text in binding.blocked:
        yield failure("definition_incomplete", text)
    if card.lifecycle is not SkillLifecycle.ACTIVE:
        text = f"its skill is {card.lifecycle}, and only an active one is executed"
        yield failure("lifecycle_blocked", text, lifecycle=card.lifecycle.value)


def _posture(
    card: Card, approval: PostureApproval | None, call: GateCall
) -> Iterator[StructuredFailure]:
    name = call.posture.value
    if approval is None:
        text = f"nobody approved that it runs under {name}"
        yield failure("posture_unapproved", text, posture=name)
    elif (approval.tool_digest, approval.skill_digest) != (card.tool_digest, card.skill_digest):
        text = f"its definition changed since {approval.by} approved that it runs under {name}"
        yield failure("posture_unapproved", text, posture=name, approved=approval.tool_digest)


def _missing(dependency: Dependency) -> Iterator[StructuredFailure]:
    if dependency.kind == "program":
        import shutil

        if shutil.which(dependency.name) is None:
            text = f"the program {dependency.name} is not on the path of this machine"
            yield failure("dependency_missing", text, program=dependency.name)
    elif dependency.kind == "python":
        from importlib.metadata import PackageNotFoundError, version

        try:
            version(dependency.name)
        except PackageNotFoundError:
            text = f"the Python package {dependency.name} is not installed"
            yield failure("dependency_missing", text, package=dependency.name)
    else:
        text = f"the {dependency.kind} {dependency.name} has to be brought by the executor"
        yield failure("dependency_missing", text, kind_of_dependency=dependency.kind)
