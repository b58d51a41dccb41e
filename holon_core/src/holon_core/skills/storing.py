"""Taking imported skills into the store: tools first, then skills with what gates look at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from holon_core.catalogue.catalogue import TOOLS
from holon_core.catalogue.codec import descriptor_from
from holon_core.catalogue.registry import MAX_FINDINGS
from holon_core.errors import Misuse
from holon_core.ids import id_problem
from holon_core.plugins.faults import told
from holon_core.records.base import Record
from holon_core.records.finding import Finding, has_errors
from holon_core.records.skill import ImportedSkill, SkillEntry, SkillOutcome, SkillState
from holon_core.records.words import Origin
from holon_core.skills import approving
from holon_core.skills.codec import binding_json, card_body, entry_body, entry_from, skill_json
from holon_core.skills.gates import CARDS, card_from
from holon_core.wire.canonical import sha256_hex
from holon_core.wire.difference import Pair, differing, shown_change

if TYPE_CHECKING:
    from holon_core.catalogue.registry import Registry
    from holon_core.clock import Clock
    from holon_core.records.approval_view import ViewChange
    from holon_core.records.tool import Provenance, RuntimeToolDescriptor
    from holon_core.store.protocol import Store, Tables

SKILLS = "holon.skills"
SKILL_DOMAIN = "holon-skill/1"
MAX_SKILLS = 100_000
MAX_CHANGES = 200
# Skills of one transaction: other writers get their turn in between.
BATCH = 500


@frozen(kw_only=True, eq=False, repr=False)
class _Judged(Record):
    """An imported skill with its digest, or the findings that keep it out."""

    given: ImportedSkill
    before: SkillEntry | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def good(self) -> bool:
        return not has_errors(self.findings)

    @property
    def same(self) -> bool:
        return self.before is not None and self.before.skill.digest == self.given.skill.digest


class Storing:
    """Stores the skills of one source.

    Args:
        store: Where they go.
        clock: For times.
        registry: Takes their tools into the catalogue.
        source: The source id; every id begins with it.
        lane: The lane of its kind.
        provenance: Who imports them.
        origin: What the entries say of where they come from.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        registry: Registry,
        *,
        source: str,
        lane: str,
        provenance: Provenance,
        origin: Origin,
    ) -> None:
        self._store = store
        self._clock = clock
        self._registry = registry
        self._source = source
        self._lane = lane
        self._provenance = provenance
        self._origin = origin

    def store(self, skills: Sequence[ImportedSkill], *, whole: bool) -> tuple[SkillOutcome, ...]:
        """Store what is good and changed; see ``Skills.store``."""
        if len(skills) > MAX_SKILLS:
            raise Misuse(f"at most {MAX_SKILLS} skills come in at once")
        for each in skills:
            self._check(each)
        stored = self._entries() if whole else self._named(skills)
        judged = self._judge(skills, stored)
        changed = [each for each in judged if each.good and not each.same]
        kept = {each.given.skill.id for each in judged}
        gone = [entry for name, entry in stored.items() if whole and name not in kept]
        findings = self._into_catalogue(changed, gone)
        voided = self._write(changed, gone, findings)
        return tuple(_outcome(each, findings, voided) for each in judged)

    def remove_all(self) -> None:
        """Remove every skill of the source, and its approvals."""
        self._write([], list(self._entries().values()), {})

    def _check(self, each: ImportedSkill) -> None:
        """Refuse records that no lane of this source may give."""
        skill = each.skill
        ids = [skill.id, *(item.tool.id for item in each.capabilities)]
        wrong = [one for one in ids if one.partition("/")[0] != self._source or id_problem(one)]
        if wrong or skill.source != self._source:
            raise Misuse(f"{(wrong or [skill.id])[0]!r:.200} is not of the source {self._source}")
        for item in each.capabilities:
            binding, tool = item.binding, item.tool
            if (binding.skill, binding.tool) != (skill.id, tool.id):
                raise Misuse(f"the binding of {tool.id} names another skill or tool")
            if self._lane not in (binding.lane,) or tool.lane != self._lane:
                raise Misuse(f"{tool.id} is not of the lane {self._lane}")

    def _entries(self) -> dict[str, SkillEntry]:
        found: dict[str, SkillEntry] = {}
        after = prefix = f"{self._source}/"
        while True:
            rows = self._store.read(
                lambda tables, after=after: tables.list_documents(  # type: ignore[misc]
                    SKILLS, after=after, limit=BATCH
                )
            )
            mine = [row for row in rows if row.id.startswith(prefix)]
            found.update({row.id: entry_from(row) for row in mine})
            if len(mine) < BATCH:
                return found
            after = mine[-1].id

    def _named(self, skills: Sequence[ImportedSkill]) -> dict[str, SkillEntry]:
        """Return what is stored of these skills: one import does not read the whole source."""
        names = list(dict.fromkeys(each.skill.id for each in skills))
        rows = self._store.read(lambda tables: [tables.document(SKILLS, name) for name in names])
        return {row.id: entry_from(row) for row in rows if row is not None}

    def _owners(self, skills: Sequence[ImportedSkill]) -> dict[str, str]:
        """Return the stored skill of each of their tools."""
        names = [item.tool.id for each in skills for item in each.capabilities]
        rows = self._store.read(lambda tables: [tables.document(CARDS, name) for name in names])
        return {row.id: card_from(row.body).binding.skill for row in rows if row is not None}

    def _judge(
        self, skills: Sequence[ImportedSkill], stored: Mapping[str, SkillEntry]
    ) -> list[_Judged]:
        owners = self._owners(skills)
        seen: dict[str, str] = {}
        ids: set[str] = set()
        judged = []
        for given in skills:
            one = _digested(given, stored.get(given.skill.id))
            found = [*one.findings]
            if given.skill.id in ids:
                text = f"{given.skill.id} is defined twice in one import"
                found.append(Finding(code="duplicate_id", message=text))
            for item in given.capabilities:
                owner = seen.get(item.tool.id) or owners.get(item.tool.id)
                if owner not in (None, given.skill.id) or item.tool.id in seen:
                    text = (
                        f"the capability {item.binding.capability} is defined by {owner} already; "
                        "capabilities of one source have ids of their own"
                    )
                    found.append(Finding(code="duplicate_id", message=text))
            one = evolve(one, findings=tuple(found))
            if one.good:
                ids.add(given.skill.id)
                seen.update({item.tool.id: given.skill.id for item in given.capabilities})
            judged.append(one)
        return judged

    def _into_catalogue(
        self, changed: Sequence[_Judged], gone: Sequence[SkillEntry]
    ) -> Mapping[str, tuple[Finding, ...]]:
        tools = [item.tool for each in changed for item in each.given.capabilities]
        now = {tool.id for tool in tools}
        before = [each.before for each in changed if each.before is not None]
        lost = {b.tool for entry in (*before, *gone) for b in entry.bindings} - now
        if not tools and not lost:
            return {}
        return self._registry.register(
            self._source,
            tools,
            origin=self._origin,
            provenance=self._provenance,
            whole=False,
            registered=True,
            gone=frozenset(lost),
        ).findings

    def _write(
        self,
        changed: Sequence[_Judged],
        gone: Sequence[SkillEntry],
        findings: Mapping[str, tuple[Finding, ...]],
    ) -> dict[str, tuple[str, ...]]:
        at = int(self._clock.now())
        voided: dict[str, tuple[str, ...]] = {}
        work_items: list[Any] = [*changed, *gone]
        for start in range(0, len(work_items), BATCH):
            part = work_items[start : start + BATCH]

            def work(tables: Tables, part: Any = part) -> None:
                for each in part:
                    if isinstance(each, _Judged):
                        voided[each.given.skill.id] = _put(tables, each, findings, at)
                    else:
                        _remove(tables, each, at)
                tables.bump_revision()

            self._store.transact(work)
        return voided


def _digested(given: ImportedSkill, before: SkillEntry | None) -> _Judged:
    """Give a skill the digest of all that it is and binds to."""
    bindings = [binding_json(item.binding) for item in given.capabilities]
    tools = [_beyond_schemas(item.tool) for item in given.capabilities]
    skill = evolve(given.skill, digest="")
    try:
        # Of thousands of skills each copy counts: this one only has to tell changes.
        text = json.dumps([skill_json(skill), bindings, tools], sort_keys=True, allow_nan=False)
        made = sha256_hex(f"{SKILL_DOMAIN}\0{text}".encode())
    except (TypeError, ValueError, RecursionError) as error:
        text = f"the skill is no sound JSON: {told(error)}"
        fault = Finding(code="record_invalid", message=text)
        return _Judged(given=given, before=before, findings=(*given.findings, fault))
    given = evolve(given, skill=evolve(skill, digest=made))
    return _Judged(given=given, before=before, findings=given.findings)


def _beyond_schemas(tool: RuntimeToolDescriptor) -> dict[str, Any]:
    """Return what a binding does not say of its tool."""
    said = tool.definition()
    del said["input_schema"], said["output_schema"]
    return {**said, "name": tool.name, "title": tool.title, "projections": list(tool.projections)}


def _put(
    tables: Tables, each: _Judged, findings: Mapping[str, tuple[Finding, ...]], at: int
) -> tuple[str, ...]:
    """Store one skill with its cards; return the tools whose approvals it voids."""
    given = each.given
    bindings = tuple(item.binding for item in given.capabilities)
    kept = _all_findings(each, findings)
    tables.put_document(SKILLS, given.skill.id, entry_body(given.skill, bindings, kept), at=at)
    before = () if each.before is None else each.before.bindings
    for lost in {b.tool for b in before} - {b.tool for b in bindings}:
        tables.remove_document(CARDS, lost, at=at)
    for binding in bindings:
        stored = tables.document(TOOLS, binding.tool)
        known = "" if stored is None else descriptor_from(stored.body).digest
        tables.put_document(CARDS, binding.tool, card_body(binding, given.skill, known), at=at)
    if each.before is None:
        return ()
    return tuple(b.tool for b in before if approving.clear(tables, b.tool, at=at))


def _remove(tables: Tables, entry: SkillEntry, at: int) -> None:
    for binding in entry.bindings:
        approving.clear(tables, binding.tool, at=at)
        tables.remove_document(CARDS, binding.tool, at=at)
    tables.remove_document(SKILLS, entry.skill.id, at=at)


def _all_findings(
    each: _Judged, findings: Mapping[str, tuple[Finding, ...]]
) -> tuple[Finding, ...]:
    tools = [item.tool.id for item in each.given.capabilities]
    told = [
        evolve(found, message=f"{name}: {found.message}")
        for name in tools
        for found in findings.get(name, ())
    ]
    return tuple(islice((*each.findings, *told), MAX_FINDINGS))


def _outcome(
    each: _Judged,
    findings: Mapping[str, tuple[Finding, ...]],
    voided: Mapping[str, tuple[str, ...]],
) -> SkillOutcome:
    skill = each.given.skill
    if not each.good:
        return SkillOutcome(id=skill.id, state=SkillState.REJECTED, findings=each.findings)
    tools = tuple(item.tool.id for item in each.given.capabilities)
    if each.before is None:
        state = SkillState.ADDED
    else:
        state = SkillState.UNCHANGED if each.same else SkillState.CHANGED
    return SkillOutcome(
        id=skill.id,
        state=state,
        digest=skill.digest,
        tools=tools,
        changes=changes(each.before, each.given) if state is SkillState.CHANGED else (),
        voided=voided.get(skill.id, ()),
        findings=_all_findings(each, findings),
    )


def changes(before: SkillEntry | None, given: ImportedSkill) -> tuple[ViewChange, ...]:
    """Return the smallest places in which a definition differs from the stored one."""
    if before is None:
        return ()
    old, new = (
        _shown(before.skill, before.bindings),
        _shown(given.skill, tuple(item.binding for item in given.capabilities)),
    )
    pairs = differing(Pair("", old, new, shown_before=old, shown_after=new))
    return tuple(shown_change(pair) for pair in islice(pairs, MAX_CHANGES))


def _shown(skill: Any, bindings: Any) -> Any:
    """Return what differs for a person: the definition as it was read, where there is one."""
    if skill.definition:
        return dict(skill.definition)
    data = {key: value for key, value in skill_json(skill).items() if key != "digest"}
    return {**data, "bindings": [binding_json(each) for each in bindings]}
