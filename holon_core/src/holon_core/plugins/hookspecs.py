"""Hook specifications: what a plugin may offer, one documented function each (section 5)."""

from __future__ import annotations

from collections.abc import Iterable

from holon_core.plugins.host import PluginHost
from holon_core.plugins.markers import hookspec
from holon_core.records.dialect import FunctionDialect
from holon_core.records.embedder import Embedder
from holon_core.records.finding import Finding
from holon_core.records.frozen_kind import FrozenToolKind
from holon_core.records.lane import CapabilityLane, LaneExecutor, SkillSource
from holon_core.records.operation import Operation
from holon_core.records.output import OutputClass
from holon_core.records.policy import Policy
from holon_core.records.secret import SecretProvider
from holon_core.records.sink import EvidenceSink
from holon_core.records.tool import RuntimeToolDescriptor


@hookspec
def holon_capability_lanes(host: PluginHost) -> Iterable[CapabilityLane]:
    """Offer the lanes that this plugin brings.

    Called once, when a runtime opens, never during a call. The answers of all plugins are
    joined and sorted by kind; a kind that two offer is refused for both, reserved kinds never
    lose. Must not start a process or open a connection.
    """
    raise AssertionError


@hookspec
def holon_skill_sources(host: PluginHost) -> Iterable[SkillSource]:
    """Offer sources of tool definitions, each under an id of this distribution.

    Called once, when a runtime opens. The sources are read then, and at a refresh, within 5 s
    each. A definition with an error finding stays out and its neighbours come in.
    """
    raise AssertionError


@hookspec
def holon_executors(host: PluginHost) -> Iterable[LaneExecutor]:
    """Offer what runs the tools of this distribution's own sources.

    Called once, when a runtime opens. An executor is entered with a sealed call and nothing
    else, possibly from many threads at once.
    """
    raise AssertionError


@hookspec
def holon_review_registration(
    candidate: RuntimeToolDescriptor, previous: RuntimeToolDescriptor | None
) -> Iterable[Finding]:
    """Give findings on anything that is about to enter or change in the catalogue.

    Called for every candidate, before it is stored. All findings of all plugins count; an
    error finding keeps the candidate out. A reviewer that raises keeps it out, too. Like a
    policy, a reviewer that was ever active belongs to the storage root.
    """
    raise AssertionError


@hookspec
def holon_policies(host: PluginHost) -> Iterable[Policy]:
    """Offer policies, each asked about every call.

    Called once, when a runtime opens. All answers of all plugins count: the strictest verdict
    wins, and a policy of a plugin can only tighten. The policies of one call run together on
    a guard thread within 1 s; late, raising or answering anything but a ``Verdict`` is deny.
    A plugin that ever offered one belongs to the storage root: where it is absent later, every
    call is denied until an operator retires it.
    """
    raise AssertionError


@hookspec
def holon_evidence_sinks(host: PluginHost) -> Iterable[EvidenceSink]:
    """Offer sinks that get every evidence record at least once, in chain order.

    Called once, when a runtime opens. Sinks are written to from a background thread, from a
    cursor in the store; one that fails is retried and reported and never blocks a call. One
    marked required that is more than 1,000 records or 60 s behind makes calls
    ``sink_behind``.
    """
    raise AssertionError


@hookspec
def holon_secret_providers(host: PluginHost) -> Iterable[SecretProvider]:
    """Offer resolvers of secret references, each for one scheme.

    Called once, when a runtime opens. A scheme that two plugins offer is refused for both;
    ``env``, ``file`` and ``keyring`` are reserved. Values are fetched only when a call
    executes, and never enter evidence, results or models.
    """
    raise AssertionError


@hookspec
def holon_frozen_tool_kinds(host: PluginHost) -> Iterable[FrozenToolKind]:
    """Offer implementation kinds of frozen tools; lane, gates and executor are made from each.

    Called once, when a runtime opens. A kind that two offer is refused for both, reserved ones
    (``script-artifact``, ``rust-code-tool``) never lose; no kind is in a runtime in memory. See
    docs/lanes/frozen-tool-kinds.md.
    """
    raise AssertionError


@hookspec
def holon_hookspecs() -> Iterable[object]:
    """Offer modules of further hook specifications.

    Called first of all, before any implementation is registered. A plugin that implements a
    hook of a package that may be absent marks it ``optionalhook=True``.
    """
    raise AssertionError


@hookspec
def holon_services(host: PluginHost) -> Iterable[tuple[str, object]]:
    """Offer services by name, which hosts and lanes ask for by ``runtime.service(name)``.

    Called once, when a runtime opens. A name that two plugins offer is refused for both.
    """
    raise AssertionError


@hookspec
def holon_operations(host: PluginHost) -> Iterable[Operation]:
    """Offer operations under nouns of this plugin's own.

    Called once, when a runtime opens. From each row come its protocol method and its command.
    A noun of the core's is refused, one that two distributions use for both. One that states
    effects beyond reads passes policy as calls do, and leaves evidence of who asked and what
    became of it.
    """
    raise AssertionError


@hookspec
def holon_dialects(host: PluginHost) -> Iterable[FunctionDialect]:
    """Offer dialects of function calling, as data, each under an id that begins with this name.

    Called once, when a runtime opens. An id is ``<distribution>`` or goes on with ``-`` or
    ``.``. One that two offer is refused for both.
    """
    raise AssertionError


@hookspec
def holon_output_classes(host: PluginHost) -> Iterable[OutputClass]:
    """Offer classes of structured output, each under an id that begins with this distribution.

    Called once, when a runtime opens. An id is ``<distribution>.<name>``. One that two offer is
    refused for both, one whose schema is of no use stays out and its neighbours come in.
    """
    raise AssertionError


@hookspec
def holon_embedders(host: PluginHost) -> Iterable[Embedder]:
    """Offer what makes vectors of texts, so that discovery also ranks by meaning.

    Called once, when a runtime opens. Of several the one whose name comes first is used. It
    ranks the best that words found anew, by a weighted sum; what it raises is logged, and the
    query is ranked without it. Absent, nothing changes.
    """
    raise AssertionError


@hookspec
def holon_runtime_opened(host: PluginHost) -> None:
    """Be told that the runtime is open, and everything of the host may be used.

    Called once, last of all at opening. What it raises is reported and stops nothing.
    """
    raise AssertionError


@hookspec
def holon_runtime_closing(host: PluginHost) -> None:
    """Be told that the runtime is about to close, while all of it still works.

    Called once. What it raises is reported and stops nothing.
    """
    raise AssertionError
