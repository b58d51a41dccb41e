"""The parts that the guarded call works with, gathered once when a runtime opens."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from holon_core.config.records import LimitCaps
from holon_core.guard.running import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from holon_core.catalogue.catalogue import Catalogue
    from holon_core.clock import Clock
    from holon_core.config.records import Config, WorkspaceConfig
    from holon_core.governed import Through
    from holon_core.guard.attempt import Attempt
    from holon_core.guard.evidence import Recorder
    from holon_core.guard.policy import PolicyEngine
    from holon_core.guard.redaction import Redactor
    from holon_core.guard.secrets import SecretResolver
    from holon_core.guard.services import CallServices
    from holon_core.guard.sinks import SinkPump
    from holon_core.guard.threads import Threads
    from holon_core.guard.workspaces import Workspaces
    from holon_core.records.caller import CallerContext
    from holon_core.records.failure import StructuredFailure
    from holon_core.records.gate import GateCall
    from holon_core.records.output import OutputClass
    from holon_core.records.result import ToolResult
    from holon_core.records.tool import Limits, RuntimeToolDescriptor
    from holon_core.store.protocol import Store, Tables
    from holon_core.structured_output.classes import OutputClasses

    Gate = Callable[[GateCall], Iterable[StructuredFailure]]


T = TypeVar("T")
NO_CAPS = LimitCaps()


class Lifecycle(Protocol):
    """What stands around calls of frozen tools; the guard asks it, and knows nothing of them."""

    def before(self, attempt: Attempt) -> None:
        """Look after a tool before its call: an open circuit may be due for its fixtures."""
        ...

    def after(self, attempt: Attempt, result: ToolResult) -> ToolResult:
        """Offer the tool's fallback in the result of a call that it did not serve."""
        ...


class ProfileGate(Protocol):
    """What profiles and sessions of agents say of a call; asked where the caller has a profile."""

    def admits(
        self, caller: CallerContext, tool: RuntimeToolDescriptor
    ) -> StructuredFailure | None:
        """Say what the profile refuses."""
        ...

    def may_act(self, caller: CallerContext) -> StructuredFailure | None:
        """Say why a caller may do nothing any more: no such profile, or its session has ended."""
        ...

    def may_start(self, tables: Tables, attempt: Attempt) -> StructuredFailure | None:
        """Say which limit of its run is reached, inside the transaction that would accept it."""
        ...

    def started(self, tables: Tables, attempt: Attempt) -> None:
        """Count a call that is accepted, and bound it by what is left, inside that transaction."""
        ...

    def ended(self, tables: Tables, attempt: Attempt, output_bytes: int, *, ran: bool) -> None:
        """Count what a call gave, or that nothing ran, inside the transaction that closes it."""
        ...

    def own_class(self, class_id: str) -> OutputClass | None:
        """Return the class of output that a profile brings by its own schema."""
        ...


class Guard:
    """Everything that ``guard/call.py`` reads.

    ``gates`` are callables of lanes: each is shown the call and names what blocks it.
    ``operator`` is the one person of a runtime opened for one, who may approve own calls.
    ``output_classes`` are those of plugins, admitted.
    ``on_change`` is called when another process changed what belongs to the storage root.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        config: Config,
        catalogue: Catalogue,
        policy: PolicyEngine,
        secrets: SecretResolver,
        redactor: Redactor,
        recorder: Recorder,
        workspaces: Workspaces,
        workspace_config: Callable[[str], WorkspaceConfig],
        services: CallServices,
        threads: Threads,
        pump: SinkPump,
        gates: dict[str, tuple[Gate, ...]],
        runtime_id: str,
        operator: str | None,
        on_change: Callable[[], None],
        output_classes: Iterable[OutputClass] = (),
    ) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self.catalogue = catalogue
        self.policy = policy
        self.secrets = secrets
        self.redactor = redactor
        self.recorder = recorder
        self.workspaces = workspaces
        self.workspace_config = workspace_config
        self.services = services
        self.threads = threads
        self.pump = pump
        self.gates = gates
        self.runtime_id = runtime_id
        self.operator = operator
        self.revision = 0
        self.running = Running()
        self.lifecycle: Lifecycle | None = None
        # The way of operations; set when a runtime opens.
        self.operating: Through | None = None
        self._on_change = on_change
        # Set when a runtime opens; a caller without a profile never makes them.
        self.find_profiles: Callable[[], ProfileGate] | None = None
        # Says which skill an imported tool came with; set when a runtime opens.
        self.skill_of: Callable[[str], str | None] = lambda _: None
        self._output_classes = tuple(output_classes)
        services.requester = self.request
        services.knower = self.know_secrets

    def request(self, attempt: Attempt) -> ToolResult:
        """Take the steps of a request for an approval that a tool makes while it runs."""
        from holon_core.guard.drive import request

        return request(self, attempt)

    def know_secrets(self) -> StructuredFailure | None:
        """Fetch every registered secret; see ``secrecy.know_registered``."""
        from holon_core.guard.secrecy import know_registered

        return know_registered(self)

    def through(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        /,
        *,
        by: str | CallerContext | None,
    ) -> T:
        """Do an operation as all are done: policy, approval, evidence, and then the work."""
        assert self.operating is not None, "set when a runtime opens"
        return self.operating(method, params, work, by=by)

    @cached_property
    def outputs(self) -> OutputClasses:
        """The classes of structured output, made when first asked for."""
        from holon_core.structured_output.classes import OutputClasses

        made = OutputClasses(self._class_elsewhere)
        for each in self._output_classes:
            made.register(each)
        return made

    @property
    def profiles(self) -> ProfileGate | None:
        """What profiles and sessions of agents say of calls, where the runtime has them."""
        return None if self.find_profiles is None else self.find_profiles()

    def _class_elsewhere(self, class_id: str) -> OutputClass | None:
        profiles = self.profiles
        return None if profiles is None else profiles.own_class(class_id)

    def admits(
        self, caller: CallerContext, tool: RuntimeToolDescriptor
    ) -> StructuredFailure | None:
        """Say what a caller's profile refuses of a tool; ``None`` where it refuses nothing."""
        if caller.profile is None:
            return None
        profiles = self.profiles
        return None if profiles is None else profiles.admits(caller, tool)

    def learn(self, since: int) -> bool:
        """Read anew what another process changed: tools, pins, guards of the root.

        Args:
            since: Revision of the catalogue that is known.

        Returns:
            Whether anything had changed.

        Raises:
            StoreError: The store does not answer.
        """
        found = self.store.read(lambda tables: tables.revision())
        if found == since:
            return False
        self.revision = found
        self.catalogue.forget()
        self.workspaces.forget()
        self._on_change()
        return True

    def lowered(self, workspace: str, limits: Limits) -> Limits:
        """Return the limits of a tool as a workspace lowers them."""
        caps = self.workspace_config(workspace).limits
        return limits if caps == NO_CAPS else caps.lower(limits)
