"""Registering plugins and walking their hooks: each call guarded, nothing let out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.plugins.faults import told
from holon_core.plugins.markers import RenamedArgument, RetiredHook
from holon_core.plugins.registration import Registration, options_of
from holon_core.records.base import Record
from holon_core.records.finding import Finding
from holon_core.records.tool import Provenance

if TYPE_CHECKING:
    import pluggy

    from holon_core.plugins.host import PluginHost

MAX_OFFERS = 100_000
_ORDERING = ("hookwrapper", "wrapper", "tryfirst", "trylast")


@frozen(kw_only=True, eq=False, repr=False)
class Offer(Record):
    """One thing that a plugin offered, and who did."""

    item: Any
    provenance: Provenance


@frozen(kw_only=True, eq=False, repr=False)
class Quarantined(Record):
    """A fault of a plugin: why it is not active, or what of it was refused."""

    name: str
    provenance: Provenance
    findings: tuple[Finding, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Candidate(Record):
    """A plugin object that is about to be registered."""

    plugin: Any
    name: str
    provenance: Provenance


class _Refused(Exception):
    """A plugin that is not registered; the text says why."""


class PluginManager:
    """The plugins of one runtime.

    pluggy keeps specifications and checks signatures. Its hook object is never called: one
    wrapper could replace every answer there, and the first exception would end the rest.
    """

    def __init__(self) -> None:
        from holon_core.plugins import hookspecs
        from holon_core.plugins.markers import PROJECT

        self._pluggy = Registration(PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self._provenance: dict[str, Provenance] = {}
        self._impls: dict[str, dict[str, pluggy.HookImpl]] = {}
        self._specified: dict[str, str] = {}
        self._deprecated: list[tuple[Candidate, str]] = []
        self.quarantined: list[Quarantined] = []
        # Hook and plugin of each fault, for what must not fail open.
        self.failed: set[tuple[str, str]] = set()

    def register_all(self, candidates: Sequence[Candidate]) -> None:
        """Register plugins, after the hook specifications that they themselves bring."""
        for each in candidates:
            self._add_hookspecs(each)
        for each in candidates:
            self.register(each)

    def _add_hookspecs(self, candidate: Candidate) -> None:
        try:
            if options_of(candidate.plugin, "holon_hookspecs") is None:
                return
            for module in islice(candidate.plugin.holon_hookspecs(), MAX_OFFERS):
                before = set(vars(self._pluggy.hook))
                self._pluggy.add_hookspecs(module)
                new = set(vars(self._pluggy.hook)) - before
                self._specified.update(dict.fromkeys(new, candidate.name))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.report(
                candidate.name, candidate.provenance, f"holon_hookspecs raised {told(error)}"
            )

    def register(self, candidate: Candidate) -> bool:
        """Register a plugin object; one that cannot be is quarantined with the reason."""
        name = candidate.name
        if name in self._provenance:
            # What has the name keeps it; the loader has refused strangers with one name before.
            self.report(name, candidate.provenance, "the name is taken by another plugin")
            return False
        problem = ""
        try:
            self._register(candidate)
        except KeyboardInterrupt:
            raise
        except _Refused as refused:
            problem = str(refused)
        except BaseException as error:
            problem = f"registering it raised {told(error)}"
        if problem:
            self.quarantine(name, candidate.provenance, problem)
            return False
        self._provenance[name] = candidate.provenance
        return True

    def _register(self, candidate: Candidate) -> None:
        import pluggy

        hooks = self._hooks(candidate.plugin)
        try:
            self._pluggy.register(candidate.plugin, candidate.name)
        except pluggy.PluginValidationError as error:
            raise _Refused(" ".join(str(error).split())) from None
        for hook in hooks:
            # Without tryfirst and trylast the newest is the last.
            impl = getattr(self._pluggy.hook, hook).get_hookimpls()[-1]
            self._impls.setdefault(hook, {})[candidate.name] = impl
            self._deprecated += [(candidate, text) for text in self._old(hook, impl)]

    def quarantine(self, name: str, provenance: Provenance, problem: str) -> None:
        """Make a plugin inactive: none of its hooks is called, and its name is free again."""
        if self._pluggy.has_plugin(name):
            self._pluggy.unregister(name=name)
        for impls in self._impls.values():
            impls.pop(name, None)
        self._provenance.pop(name, None)
        self.report(name, provenance, problem)

    def _hooks(self, plugin: object) -> set[str]:
        """Return the hooks that a plugin implements; pending and ordered ones are refused."""
        hooks: set[str] = set()
        for attribute in dir(plugin):
            options = options_of(plugin, attribute)
            if options is None:
                if self._is_unmarked(plugin, attribute):
                    raise _Refused(f"{attribute} is not marked with @holon_core.hookimpl")
                continue
            hook = options.get("specname") or attribute
            if any(options.get(option) for option in _ORDERING):
                raise _Refused(f"{hook}: wrapper, tryfirst and trylast are refused")
            if not options.get("optionalhook") and not self.knows(hook):
                raise _Refused(f"there is no hook {hook}")
            if hook in hooks:
                raise _Refused(f"{hook} is implemented twice")
            hooks.add(hook)
        if not hooks:
            raise _Refused("it implements no hook (is @holon_core.hookimpl missing?)")
        return hooks

    def _is_unmarked(self, plugin: object, attribute: str) -> bool:
        """Tell a function that has the name of a hook of the core and no mark."""
        core = attribute.startswith("holon_") and self.knows(attribute)
        named = core and self.specified_by(attribute) is None
        return named and callable(getattr(plugin, attribute))

    def knows(self, hook: str) -> bool:
        """Tell whether a hook is specified, here or by a plugin."""
        caller = getattr(self._pluggy.hook, hook, None)
        return caller is not None and caller.has_spec()

    def specified_by(self, hook: str) -> str | None:
        """Return the name of the plugin that brought a hook's specification."""
        return self._specified.get(hook)

    def names(self) -> Sequence[tuple[str, Provenance]]:
        """Return active plugins, by distribution and then name."""
        return sorted(self._provenance.items(), key=lambda pair: (pair[1].distribution, pair[0]))

    def deprecations(self) -> list[tuple[str, Provenance, str]]:
        """Return what active plugins do in an old way, each with what to do instead."""
        return [
            (each.name, each.provenance, text)
            for each, text in self._deprecated
            if self._provenance.get(each.name) == each.provenance
        ]

    def _old(self, hook: str, impl: pluggy.HookImpl) -> list[str]:
        """Say what of an implementation goes away: the hook itself, names of arguments."""
        spec = getattr(self._pluggy.hook, hook).spec
        whole = None if spec is None else spec.warn_on_impl
        renames = self._renames(hook)
        found = [str(whole)] if isinstance(whole, RetiredHook) else []
        return found + [str(renames[name]) for name in sorted(renames.keys() & {*impl.argnames})]

    def _renames(self, hook: str) -> dict[str, RenamedArgument]:
        """Return the old names of a hook's arguments that are still given."""
        spec = getattr(self._pluggy.hook, hook).spec
        warned = (spec.warn_on_impl_args or {}) if spec is not None else {}
        return {old: why for old, why in warned.items() if isinstance(why, RenamedArgument)}

    def _invoke(self, hook: str, impl: pluggy.HookImpl, *values: object) -> Any:
        """Call an implementation with those of a hook's values that it asks for, by name.

        ``values`` are in the order of the specification, which has old names at its end.
        """
        given = dict(zip(getattr(self._pluggy.hook, hook).spec.argnames, values, strict=False))
        given.update({old: given[why.new] for old, why in self._renames(hook).items()})
        return impl.function(*[given[name] for name in impl.argnames])

    def implementers(self, hook: str) -> list[str]:
        """Return names of active plugins that implement a hook, in order."""
        having = self._impls.get(hook, {})
        return [name for name, _ in self.names() if name in having]

    def reviewers(self) -> list[Callable[..., Any]]:
        """Return the reviewers of registrations, in order; they are called under guard."""
        hook = "holon_review_registration"
        return [
            partial(self._invoke, hook, self._impls[hook][name]) for name in self.implementers(hook)
        ]

    def offers(self, hook: str, host: Callable[[str], PluginHost]) -> list[Offer]:
        """Ask every plugin one hook; drain its answer here, under guard.

        Args:
            hook: A hook's name.
            host: Makes the host that a plugin of a name sees.

        A plugin that raises keeps its place and its other hooks; what it offered before stays,
        and the fault is reported.
        """
        found: list[Offer] = []
        for name in self.implementers(hook):
            self._ask(hook, name, host, found)
        return found

    def tell(self, hook: str, host: Callable[[str], PluginHost]) -> None:
        """Call a hook that answers nothing, at every plugin; what it raises is reported."""
        for name in self.implementers(hook):
            self._guarded(hook, name, lambda name=name: self._call(hook, name, host))  # type: ignore[misc]

    def _ask(
        self, hook: str, name: str, host: Callable[[str], PluginHost], found: list[Offer]
    ) -> None:
        provenance = self._provenance[name]

        def drain() -> None:
            answer = self._call(hook, name, host)
            items: Iterable[Any] = () if answer is None else answer
            # One by one: what was offered before a generator raised stays offered.
            for position, item in enumerate(islice(items, MAX_OFFERS + 1)):
                if position == MAX_OFFERS:
                    text = f"{hook}: more than {MAX_OFFERS} offers; the rest is left out"
                    self.report(name, provenance, text)
                    return
                found.append(Offer(item=item, provenance=provenance))

        self._guarded(hook, name, drain)

    def _call(self, hook: str, name: str, host: Callable[[str], PluginHost]) -> Any:
        return self._invoke(hook, self._impls[hook][name], host(name))

    def _guarded(self, hook: str, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.failed.add((hook, name))
            from holon_core import logs

            logs.raised(f"{hook} of {name}", told(error), logs.frames(error))
            self.report(name, self._provenance[name], f"{hook} raised {told(error)}")

    def report(self, name: str, provenance: Provenance, problem: str) -> None:
        """Note a fault of a plugin."""
        finding = Finding(code="plugin_broken", message=problem)
        self.quarantined.append(Quarantined(name=name, provenance=provenance, findings=(finding,)))
