"""Registering plugins and walking their hooks: each call guarded, nothing let out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.records.finding import Finding
from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    import pluggy

    from holon_core.plugins.host import PluginHost

MAX_OFFERS = 100_000
# Where pluggy's marker leaves its options on a function.
MARK = "holon_impl"


@frozen(kw_only=True)
class Offer:
    """One thing that a plugin offered, and who did."""

    item: Any
    provenance: Provenance


@frozen(kw_only=True)
class Quarantined:
    """A plugin that is not active, and why."""

    name: str
    provenance: Provenance
    findings: tuple[Finding, ...]


class PluginManager:
    """The plugins of one runtime.

    pluggy keeps specifications and checks signatures. Its hook object is never called: one
    wrapper could replace every answer there, and the first exception would end the rest.
    """

    def __init__(self) -> None:
        import pluggy

        from holon_core.plugins import hookspecs
        from holon_core.plugins.markers import PROJECT

        self._pluggy = pluggy.PluginManager(PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self._provenance: dict[str, Provenance] = {}
        self.quarantined: list[Quarantined] = []

    def register_all(self, plugins: Sequence[tuple[object, str, Provenance]]) -> None:
        """Register plugins, after the hook specifications that they themselves bring."""
        for plugin, name, provenance in plugins:
            self._add_hookspecs(plugin, name, provenance)
        for plugin, name, provenance in plugins:
            self.register(plugin, name, provenance)

    def _add_hookspecs(self, plugin: object, name: str, provenance: Provenance) -> None:
        try:
            offer = getattr(plugin, "holon_hookspecs", None)
            marked = getattr(offer, MARK, None) is not None
            for module in offer() if offer is not None and marked else ():
                self._pluggy.add_hookspecs(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.report(name, provenance, f"holon_hookspecs raised {type(error).__name__}")

    def register(self, plugin: object, name: str, provenance: Provenance) -> bool:
        """Register a plugin object; one that cannot be is quarantined with the reason."""
        import pluggy

        try:
            self._pluggy.register(plugin, name)
            problem = self._problem(plugin)
        except (pluggy.PluginValidationError, ValueError) as error:
            problem = str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"{type(error).__name__} while it was registered"
        if problem is None:
            self._provenance[name] = provenance
            return True
        self.quarantine(name, provenance, problem)
        return False

    def quarantine(self, name: str, provenance: Provenance, problem: str) -> None:
        """Make a plugin inactive: none of its hooks is called, and its name is free again."""
        if self._pluggy.has_plugin(name):
            self._pluggy.unregister(name=name)
        self._provenance.pop(name, None)
        finding = Finding(code="plugin_broken", message=problem)
        self.quarantined.append(Quarantined(name=name, provenance=provenance, findings=(finding,)))

    def _problem(self, plugin: object) -> str | None:
        callers = self._pluggy.get_hookcallers(plugin) or []
        for caller in callers:
            if not caller.has_spec():
                mine = [i for i in caller.get_hookimpls() if i.plugin is plugin]
                if not all(impl.optionalhook for impl in mine):
                    return f"there is no hook {caller.name}"
            for impl in caller.get_hookimpls():
                ordered = impl.hookwrapper or impl.wrapper or impl.tryfirst or impl.trylast
                if impl.plugin is plugin and ordered:
                    return f"{caller.name}: wrapper, tryfirst and trylast are refused"
        if not callers:
            return "it implements no hook (is @holon_core.hookimpl missing?)"
        return None

    def names(self) -> Sequence[tuple[str, Provenance]]:
        """Return active plugins, by distribution and then name."""
        return sorted(self._provenance.items(), key=lambda pair: (pair[1].distribution, pair[0]))

    def implementers(self, hook: str) -> list[str]:
        """Return names of active plugins that implement a hook, in order."""
        caller = getattr(self._pluggy.hook, hook)
        having = {impl.plugin_name for impl in caller.get_hookimpls()}
        return [name for name, _ in self.names() if name in having]

    def reviewers(self) -> list[Callable[..., Any]]:
        """Return the reviewers of registrations, in order; they are called under guard."""
        caller = self._pluggy.hook.holon_review_registration
        by_name = {impl.plugin_name: impl for impl in caller.get_hookimpls()}
        found = [by_name[name] for name in self.implementers("holon_review_registration")]
        return [_reviewer(impl) for impl in found]

    def offers(self, hook: str, host: Callable[[str], PluginHost]) -> list[Offer]:
        """Ask every plugin one hook; drain its answer here, under guard.

        Args:
            hook: A hook's name.
            host: Makes the host that a plugin of a name sees.

        A plugin that raises keeps its place and its other hooks; what it offered before stays,
        and the fault is reported.
        """
        caller = getattr(self._pluggy.hook, hook)
        by_name = {impl.plugin_name: impl for impl in caller.get_hookimpls()}
        found: list[Offer] = []
        for name, provenance in self.names():
            impl = by_name.get(name)
            if impl is not None:
                found += self._ask(impl, name, provenance, host)
        return found

    def _ask(
        self,
        impl: pluggy.HookImpl,
        name: str,
        provenance: Provenance,
        host: Callable[[str], PluginHost],
    ) -> list[Offer]:
        offers: list[Offer] = []
        given = [host(name)][: len(impl.argnames)]
        try:
            answer: Any = impl.function(*given)
            items: Iterable[Any] = () if answer is None else answer
            # One by one: what was offered before a generator raised stays offered.
            for item in islice(items, MAX_OFFERS):
                offers.append(Offer(item=item, provenance=provenance))  # noqa: PERF401
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.report(name, provenance, f"{impl.function.__name__} raised {type(error).__name__}")
        return offers

    def report(self, name: str, provenance: Provenance, problem: str) -> None:
        """Note a fault of a plugin that stays active."""
        finding = Finding(code="plugin_broken", message=problem)
        self.quarantined.append(Quarantined(name=name, provenance=provenance, findings=(finding,)))


def _reviewer(impl: pluggy.HookImpl) -> Callable[..., Any]:
    names = impl.argnames

    def review(candidate: object, previous: object) -> Any:
        given = {"candidate": candidate, "previous": previous}
        return impl.function(*[given[name] for name in names])

    return review
