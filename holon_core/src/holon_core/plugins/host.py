"""What a plugin may see of the runtime that asks it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from holon_core.clock import Clock
from holon_core.errors import Misuse, RuntimeNotOpen
from holon_core.ids import capability_id

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Sequence

    from holon_core.catalogue.source_records import Registered
    from holon_core.plugins.documents import Documents
    from holon_core.plugins.manager import Offer, PluginManager
    from holon_core.plugins.registering import Registering
    from holon_core.plugins.services import Services
    from holon_core.records.skill import CapabilityBindingRecord
    from holon_core.records.skill_source import SkillSourceDescriptor
    from holon_core.records.tool import RuntimeToolDescriptor
    from holon_core.records.words import Effect, Posture
    from holon_core.store.protocol import Store
    from holon_core.workbench import Workbench

T = TypeVar("T")


class Binding(Protocol):
    """Where executors are bound to imported capabilities."""

    def bind_for(
        self,
        owner: str,
        target: str,
        executor: Any,
        *,
        posture: Posture,
        self_limiting: bool,
        provides: Sequence[str],
        effects: Iterable[Effect],
    ) -> None:
        """Bind one for somebody."""
        ...

    def unbind(self, target: str, *, by: str | None = None) -> bool:
        """Take one away."""
        ...


class HasBindings(Protocol):
    """What has them; they are made when they are first needed."""

    @property
    def bindings(self) -> Binding:
        """Where executors are bound."""
        ...

    def binding_of(self, tool_id: str) -> CapabilityBindingRecord | None:
        """Return how an imported capability is bound; ``None`` where there is none."""
        ...


class PluginHost(Protocol):
    """A narrow view of a runtime: no way to approve, nor to call tools while it opens.

    While the runtime opens, everything but folder, clock, logger and config raises
    ``RuntimeNotOpen``; so it does again once the runtime is closed.
    """

    @property
    def name(self) -> str:
        """The plugin's name."""
        ...

    @property
    def folder(self) -> Path:
        """A folder of the plugin's own under the storage root.

        Raises:
            Misuse: The runtime is in memory and has none.
        """
        ...

    @property
    def clock(self) -> Clock:
        """The runtime's clock."""
        ...

    @property
    def logger(self) -> logging.Logger:
        """A logger of the plugin's own; Holon configures no logging."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """The plugin's own table of `holon.toml`, ``[lane.<name>]``."""
        ...

    @overload
    def documents(self, collection: str) -> Documents[dict[str, Any]]: ...

    @overload
    def documents(self, collection: str, kind: type[T]) -> Documents[T]: ...

    def documents(self, collection: str, kind: Any = None) -> Documents[Any]:
        """Return a collection of documents of the plugin's own.

        Args:
            collection: Its name, 1 to 64 characters of ``a-z 0-9 _ . -``.
            kind: An attrs class that every document is made of; plain JSON where left out.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Misuse: The name is not usable.
        """
        ...

    def workbench(self) -> Workbench:
        """Return what a plugin needs that runs work of its own, step by step.

        Several documents in one change with their evidence, leases, and sessions of the callers
        that it works for.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
        """
        ...

    def service(self, wanted: str | type[T]) -> Any:
        """Return a service that some plugin offers, by its name or type.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Refused: ``dependency_missing``: nobody offers it.
            Misuse: Several services are of the type.
        """
        ...

    def offers(self, hook: str) -> tuple[Offer, ...]:
        """Ask all plugins a hook that this plugin itself specified by ``holon_hookspecs``.

        Returns:
            Every item of every answer with who gave it, by distribution and plugin; faults are
            reported in the list of plugins.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Misuse: The hook is not of this plugin.
        """
        ...

    def register_source(
        self, source: SkillSourceDescriptor, definitions: Iterable[RuntimeToolDescriptor]
    ) -> Registered:
        """Make the definitions of a source of the plugin's own those that are given.

        They stay in the catalogue of the storage root, over later starts, until they are
        registered anew or removed. They are run by the executor of the source, or of the source
        that its id is under: one for ``acme`` runs those of ``acme.imported``.

        Args:
            source: Its id begins with the distribution's name; its origin is ``registered`` or
                ``imported_state``.
            definitions: All of them; those with an error finding stay out.

        Returns:
            What was added, changed and removed, and the findings.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Misuse: The id is not the plugin's to give, or the origin is another.
            Refused: ``conflict``: a plugin offers the source by ``holon_skill_sources``.
        """
        ...

    def remove_source(self, source: str) -> Registered:
        """Remove a source that was registered, with all that it defined.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Misuse: The id is not the plugin's.
            Refused: ``conflict``: a plugin offers the source by ``holon_skill_sources``.
        """
        ...

    def bind(
        self,
        target: str,
        executor: Any,
        *,
        posture: Posture,
        self_limiting: bool = False,
        provides: Sequence[str] = (),
        effects: Iterable[Effect] = (),
    ) -> None:
        """Bind what runs an imported capability; it lasts as long as the runtime.

        Args:
            target: Id of a tool, or of a source for all its tools.
            executor: Has ``execute(call)`` and ``preview(call)``.
            posture: Under which authority it runs; one of the lane's.
            self_limiting: It keeps the time limit itself.
            provides: Names of dependencies that it brings itself.
            effects: What it does, where it is known; the gate ``effects_undeclared`` is closed for
                a capability that does not declare all of it.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
            Misuse: It is no executor, or the lane does not run under the posture.
            Refused: ``conflict``: another one is bound.
        """
        ...

    def unbind(self, target: str) -> bool:
        """Take away an executor that this plugin bound; tell whether there was one."""
        ...

    def binding(self, tool_id: str) -> CapabilityBindingRecord | None:
        """Return how an imported capability is invoked; ``None`` for any other tool.

        Raises:
            RuntimeNotOpen: The runtime is not open yet, or no longer.
        """
        ...


class Behind:
    """What the hosts of one runtime's plugins look at; opens and closes with it.

    Args:
        root: The storage root; ``None`` in memory.
        store: The store.
        clock: The runtime's clock.
        configs: The tables ``[lane.<name>]`` of `holon.toml`, by name.
    """

    def __init__(
        self,
        root: Path | None,
        store: Store,
        clock: Clock,
        configs: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self.root = root
        self.store = store
        self.clock = clock
        self._configs = configs
        self.is_open = False
        self.manager: PluginManager | None = None
        self.services: Services | None = None
        self.registering: Registering | None = None
        self.skills: HasBindings | None = None
        self.make_workbench: Callable[[str], Workbench] | None = None
        self._hosts: dict[str, Host] = {}

    def host(self, name: str) -> Host:
        """Return the one host of a plugin."""
        found = self._hosts.get(name)
        if found is None:
            found = self._hosts[name] = Host(name, self, self._configs.get(name, {}))
        return found


class Host:
    """The host that one plugin sees; ``PluginHost`` says what each member is.

    Args:
        name: The plugin's name.
        behind: What it looks at.
        config: The plugin's own table.
    """

    def __init__(self, name: str, behind: Behind, config: Mapping[str, Any]) -> None:
        self.name = name
        self.config = config
        self._behind = behind

    @property
    def clock(self) -> Clock:
        """Return the runtime's clock."""
        return self._behind.clock

    @property
    def folder(self) -> Path:
        """Make and return the plugin's folder."""
        root = self._behind.root
        if root is None:
            raise Misuse("a runtime in memory has no folder for plugins")
        folder = root / "plugins" / capability_id(self.name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    @property
    def logger(self) -> logging.Logger:
        """Return the plugin's logger."""
        import logging

        return logging.getLogger(f"holon.plugin.{self.name}")

    def documents(self, collection: str, kind: Any = None) -> Documents[Any]:
        """Return a collection of the plugin's own."""
        from holon_core.plugins.documents import Documents

        store = self._open().store
        return Documents(store, self.clock, self.name, collection=collection, kind=kind)

    def workbench(self) -> Workbench:
        """Return the plugin's workbench."""
        make = self._open().make_workbench
        assert make is not None, "set before a runtime is open"
        return make(self.name)

    def service(self, wanted: Any) -> Any:
        """Return a service by its name or type."""
        services = self._open().services
        assert services is not None, "set before a runtime is open"
        return services.find(wanted)

    def bind(
        self,
        target: str,
        executor: Any,
        *,
        posture: Posture,
        self_limiting: bool = False,
        provides: Sequence[str] = (),
        effects: Iterable[Effect] = (),
    ) -> None:
        """Bind what runs an imported capability."""
        skills = self._open().skills
        assert skills is not None, "set before a runtime is open"
        skills.bindings.bind_for(
            self.name,
            target,
            executor,
            posture=posture,
            self_limiting=self_limiting,
            provides=provides,
            effects=effects,
        )

    def binding(self, tool_id: str) -> CapabilityBindingRecord | None:
        """Return how an imported capability is bound."""
        skills = self._open().skills
        assert skills is not None, "set before a runtime is open"
        return skills.binding_of(tool_id)

    def unbind(self, target: str) -> bool:
        """Take away an executor that this plugin bound."""
        skills = self._open().skills
        assert skills is not None, "set before a runtime is open"
        return skills.bindings.unbind(target, by=self.name)

    def offers(self, hook: str) -> tuple[Offer, ...]:
        """Ask all plugins a hook that this one specified."""
        behind = self._open()
        manager = behind.manager
        if manager is None or manager.specified_by(hook) != self.name:
            raise Misuse(f"{hook} is not a hook that {self.name} specified")
        return tuple(manager.offers(hook, behind.host))

    def register_source(
        self, source: SkillSourceDescriptor, definitions: Iterable[RuntimeToolDescriptor]
    ) -> Registered:
        """Register a source of the plugin's own."""
        return self._registering().register(self.name, source, definitions)

    def remove_source(self, source: str) -> Registered:
        """Remove a source that was registered."""
        return self._registering().remove(self.name, source)

    def _registering(self) -> Registering:
        registering = self._open().registering
        assert registering is not None, "set before a runtime with plugins is open"
        return registering

    def _open(self) -> Behind:
        if not self._behind.is_open:
            raise RuntimeNotOpen("this runtime is not open; wait for holon_runtime_opened")
        return self._behind
