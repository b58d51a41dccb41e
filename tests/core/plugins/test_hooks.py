"""Registering plugins and walking their hooks: what is refused, what is kept, what gets out."""

from __future__ import annotations

import pickle
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import holon_core as holon
from holon_core.plugins import hookspecs
from holon_core.plugins import manager as managing
from holon_core.plugins.faults import told
from holon_core.plugins.manager import Candidate, PluginManager
from holon_core.plugins.markers import RenamedArgument, RetiredHook, hookspec, renamed, retired
from holon_core.records.tool import Provenance
from sample_lanes import Lane, ids, plugin, problems


def candidate(made: Any) -> Candidate:
    return Candidate(plugin=made, name=made.name, provenance=Provenance(plugin=made.name))


def marked(**options: Any) -> Any:
    @holon.hookimpl(**options)
    def function(host):
        return ()

    return function


def module_of_specs() -> ModuleType:
    module = ModuleType("specs")

    def holon_greetings(host):
        raise AssertionError

    module.holon_greetings = hookspec(holon_greetings)  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize("option", ["hookwrapper", "wrapper", "tryfirst", "trylast"])
def test_what_could_replace_other_answers_is_refused(open_runtime, option: str) -> None:
    """One wrapper could answer for every policy, so none is taken."""

    class Wrapping:
        name = "wrapping"
        holon_policies = staticmethod(marked(**{option: True}))

    with pytest.raises(holon.Rejected, match="wrapper, tryfirst and trylast are refused"):
        open_runtime(Wrapping(), discover=False)


def test_a_misspelt_hook_of_a_given_plugin_is_rejected(open_runtime) -> None:
    """A hook that nobody specified is an error, and none of the plugin's others is called.

    What the program itself gives may be its guard: going on without it would fail open.
    """
    asked: list[str] = []

    class Misspelt(Lane):
        holon_policy = staticmethod(marked())

        @holon.hookimpl
        def holon_capability_lanes(self, host):
            asked.append("lanes")

    with pytest.raises(holon.Rejected, match="misspelt: there is no hook holon_policy"):
        open_runtime(Misspelt("misspelt", "say"), discover=False)

    assert asked == []


def test_a_hook_of_an_absent_package_is_fine_where_marked_optional(open_runtime) -> None:
    """Optionalhook lets a plugin serve a package that may be missing."""

    class Optional(Lane):
        holon_workflow_node_kinds = staticmethod(marked(optionalhook=True))

    rt = open_runtime(Optional("optional", "say"), discover=False)

    assert (problems(rt, "optional"), ids(rt)) == ("", ["optional/say"])


def test_a_wrong_signature_names_hook_and_argument(open_runtime) -> None:
    """An argument that the specification lacks is told in one line."""
    with pytest.raises(holon.Rejected) as rejected:
        open_runtime(plugin("wrong", capability_lanes=lambda host, nosuch: ()), discover=False)

    told = str(rejected.value)
    assert "'holon_capability_lanes'" in told
    assert "nosuch" in told
    assert "\n" not in told


def test_a_half_good_plugin_leaves_nothing_behind() -> None:
    """After a refusal none of its hooks is called and its name is free again."""
    manager = PluginManager()
    half = plugin("half", services=lambda: [("a", 1)], policies=lambda host, nosuch: ())

    assert not manager.register(candidate(half))
    assert manager.names() == []
    assert manager.offers("holon_services", lambda name: None) == []  # type: ignore[arg-type]

    assert manager.register(candidate(plugin("half", services=lambda: [("b", 2)])))
    offered = manager.offers("holon_services", lambda name: None)  # type: ignore[arg-type]
    assert [offer.item for offer in offered] == [("b", 2)]


def test_a_plugin_that_was_active_can_be_quarantined() -> None:
    """Its hooks are called no more, and its name is free."""
    manager = PluginManager()
    lane = Lane("lane")
    assert manager.register(candidate(lane))

    manager.quarantine("lane", Provenance(plugin="lane"), "it misbehaved")

    assert manager.implementers("holon_executors") == []
    assert manager.register(candidate(Lane("lane")))


def test_a_taken_name_does_not_push_its_holder_out() -> None:
    """Whoever has a name keeps it."""
    manager = PluginManager()
    assert manager.register(candidate(Lane("lane")))

    assert not manager.register(candidate(Lane("lane")))

    assert manager.implementers("holon_executors") == ["lane"]
    assert "taken" in manager.quarantined[0].findings[0].message


def test_one_object_under_two_names_is_registered_once(open_runtime) -> None:
    """The second name is reported, and the first goes on."""
    manager = PluginManager()
    lane = Lane("lane")
    assert manager.register(candidate(lane))

    second = Candidate(plugin=lane, name="other", provenance=Provenance(plugin="other"))
    assert not manager.register(second)

    assert manager.implementers("holon_executors") == ["lane"]


def test_one_hook_twice_in_a_plugin_is_refused(open_runtime) -> None:
    """Which of the two would count is nothing to guess."""

    class Twice(Lane):
        @holon.hookimpl(specname="holon_executors")
        def more(self, host):
            return ()

    with pytest.raises(holon.Rejected, match="twice: holon_executors is implemented twice"):
        open_runtime(Twice("twice"), discover=False)


def test_a_given_plugin_whose_attributes_raise_is_rejected(open_runtime) -> None:
    """Looking at a plugin runs its code, and nothing of it gets out."""

    class Thorny(Lane):
        @property
        def trap(self):
            raise SystemExit(2)

    with pytest.raises(holon.Rejected) as rejected:
        open_runtime(Thorny("thorny"), Lane("good", "say"), discover=False)

    told = [finding.message for finding in rejected.value.findings]
    assert told == ["thorny: registering it raised SystemExit: 2"]


def test_an_interrupt_while_registering_passes() -> None:
    """The user's interrupt is not a fault of the plugin."""

    class Interrupting:
        name = "x"

        @property
        def trap(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PluginManager().register(candidate(Interrupting()))


@pytest.mark.parametrize("error", [RuntimeError("why"), SystemExit("why"), GeneratorExit("why")])
def test_nothing_gets_out_of_a_hook(open_runtime, error: BaseException) -> None:
    """A hook that raises is reported with its reason; the plugin's other hooks are asked."""

    def raising(host):
        raise error

    class Raising(Lane):
        holon_services = staticmethod(holon.hookimpl(raising))

    rt = open_runtime(Raising("raising", "say"), discover=False)

    assert problems(rt, "raising") == f"holon_services raised {type(error).__name__}: why"
    assert ids(rt) == ["raising/say"]


def test_an_interrupt_in_a_hook_passes(open_runtime) -> None:
    """KeyboardInterrupt ends the opening."""

    def interrupting(host):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_runtime(plugin("x", services=interrupting), discover=False)


def test_a_generator_that_raises_keeps_what_came_before(open_runtime) -> None:
    """Offers are taken one by one, so a late fault does not take the early ones along."""

    def services(host):
        yield ("first", 1)
        raise ValueError("half-way")

    rt = open_runtime(plugin("half", services=services), discover=False)

    assert rt.service("first") == 1
    assert problems(rt, "half") == "holon_services raised ValueError: half-way"


def test_offers_are_bounded(open_runtime, monkeypatch) -> None:
    """An endless generator ends at the limit, and the rest is reported as left out."""
    monkeypatch.setattr(managing, "MAX_OFFERS", 3)

    def services(host):
        number = 0
        while True:
            number += 1
            yield (f"s{number}", number)

    rt = open_runtime(plugin("endless", services=services), discover=False)

    assert rt.service("s3") == 3
    assert "more than 3 offers" in problems(rt, "endless")
    with pytest.raises(holon.Refused):
        rt.service("s4")


def test_none_is_no_offer(open_runtime) -> None:
    """A hook that returns nothing offers nothing."""
    rt = open_runtime(plugin("quiet", services=lambda host: None), discover=False)

    assert problems(rt, "quiet") == ""


def test_a_plugin_brings_hooks_of_its_own(open_runtime) -> None:
    """Its specifications come first, others implement them, and it alone may ask."""
    hosts: list[Any] = []
    specs = module_of_specs()

    def keep(host):
        hosts.append(host)

    owner = plugin("owner", hookspecs=lambda: [specs], runtime_opened=keep)
    one = plugin("one", greetings=lambda host: [f"hello from {host.name}"])
    other = plugin("two", greetings=lambda: ["hi"], runtime_opened=keep)

    rt = open_runtime(one, other, owner, discover=False)

    assert [each.problems for each in rt.plugins.list()] == [(), (), ()]
    by_name = {host.name: host for host in hosts}
    offered = by_name["owner"].offers("holon_greetings")
    assert [(o.provenance.plugin, o.item) for o in offered] == [
        ("one", "hello from one"),
        ("two", "hi"),
    ]
    with pytest.raises(holon.Misuse):
        by_name["two"].offers("holon_greetings")
    with pytest.raises(holon.Misuse):
        by_name["owner"].offers("holon_policies")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: [ModuleType("empty")], "did not find any"),
        (lambda: [hookspecs], "already"),
        (lambda: 1 // 0, "ZeroDivisionError"),
    ],
    ids=["empty", "taken", "raises"],
)
def test_bad_specifications_are_reported(open_runtime, answer, said: str) -> None:
    """A module without specifications, or with one that exists, is a fault of its plugin."""
    rt = open_runtime(plugin("specs", hookspecs=answer), discover=False)

    assert "holon_hookspecs raised" in problems(rt, "specs")
    assert said in problems(rt, "specs")


def test_an_interrupt_in_specifications_passes(open_runtime) -> None:
    """As everywhere else."""

    def interrupting():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_runtime(plugin("x", hookspecs=interrupting), discover=False)


def test_an_unmarked_function_of_a_hooks_name_is_told(open_runtime) -> None:
    """Without the marker a function is no implementation, though its author thinks so."""
    object_ = SimpleNamespace(name="plain", holon_hookspecs=lambda: 1 // 0)

    class Forgotten(Lane):
        def holon_policies(self, host):
            raise AssertionError

    for made in (object_, Forgotten("plain")):
        with pytest.raises(holon.Rejected, match=r"plain: holon_\w+ is not marked"):
            open_runtime(made, discover=False)


def test_other_attributes_may_be_called_as_they_like(open_runtime) -> None:
    """Only functions with the name of a hook want the mark."""

    class Odd(Lane):
        holon_policies = None
        holon_helper = staticmethod(len)

    rt = open_runtime(Odd("odd", "say"), discover=False)

    assert (problems(rt, "odd"), ids(rt)) == ("", ["odd/say"])


def test_opened_and_closing_are_told_once_in_order(open_runtime) -> None:
    """Both are told at every plugin; a fault in one stops nobody."""
    told: list[str] = []

    def bad(host):
        told.append("bad")
        raise SystemExit

    one = plugin("a", runtime_opened=bad, runtime_closing=bad)
    two = plugin(
        "b",
        runtime_opened=lambda host: told.append("opened"),
        runtime_closing=lambda host: told.append("closing"),
    )
    rt = open_runtime(one, two, discover=False)
    assert told == ["bad", "opened"]
    assert "holon_runtime_opened raised SystemExit" in problems(rt, "a")

    rt.close()
    rt.close()

    assert told == ["bad", "opened", "bad", "closing"]


def test_a_runtime_that_never_opened_tells_no_closing(open_runtime) -> None:
    """A tool that is rejected ends the opening before plugins were told of it."""
    told: list[str] = []
    watching = plugin("w", runtime_closing=lambda host: told.append("closing"))

    def unusable(*args):
        """Take anything."""

    with pytest.raises(holon.Rejected):
        open_runtime(watching, discover=False, tools=[unusable])

    assert told == []


@pytest.mark.parametrize("name", [name for name in dir(hookspecs) if name.startswith("holon_")])
def test_a_specification_is_documented_and_never_called(name: str) -> None:
    """It says when it is called and what counts; calling it is a fault of the core."""
    specification = getattr(hookspecs, name)
    arguments = [None] * specification.__code__.co_argcount

    assert "Called" in specification.__doc__
    with pytest.raises(AssertionError):
        specification(*arguments)


def test_an_interrupt_while_an_error_is_told_passes() -> None:
    """Even then the user is heard."""

    class Interrupting(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        told(Interrupting())


def test_an_argument_under_its_old_name_gets_the_value_of_the_new_one() -> None:
    """Whoever asks by the old name is served and told; by the new one, nothing is said."""
    module = ModuleType("specs")

    def holon_greetings(guest, host):
        raise AssertionError

    names = renamed("holon_greetings", host="guest", gone_in="9.9")
    module.holon_greetings = hookspec(warn_on_impl_args=names)(holon_greetings)  # type: ignore[attr-defined]
    manager = PluginManager()
    bringing = plugin("bringing", hookspecs=lambda: [module])
    old = plugin("old", greetings=lambda host: [f"old {host}"])
    new = plugin("new", greetings=lambda guest: [f"new {guest}"])

    with pytest.warns(RenamedArgument, match="the argument host is called guest now"):
        manager.register_all([candidate(each) for each in (bringing, old, new)])

    offered = manager.offers("holon_greetings", lambda name: f"for {name}")  # type: ignore[arg-type, return-value]
    assert [offer.item for offer in offered] == ["new for new", "old for old"]
    assert [name for name, _, text in manager.deprecations() if "until 9.9" in text] == ["old"]


def test_a_hook_that_goes_away_is_asked_and_its_author_told() -> None:
    """Until then nothing changes but a warning, which names the hook and what to do instead."""
    module = ModuleType("specs")

    def holon_greetings(host):
        raise AssertionError

    gone = retired("holon_greetings", instead="offer a letter", gone_in="9.9")
    module.holon_greetings = hookspec(warn_on_impl=gone)(holon_greetings)  # type: ignore[attr-defined]
    manager = PluginManager()
    bringing = plugin("bringing", hookspecs=lambda: [module])
    old = plugin("old", greetings=lambda host: [f"old {host}"])

    with pytest.warns(RetiredHook, match="asked until 9.9; instead: offer a letter"):
        manager.register_all([candidate(each) for each in (bringing, old)])

    offered = manager.offers("holon_greetings", lambda name: f"for {name}")  # type: ignore[arg-type, return-value]
    assert [offer.item for offer in offered] == ["old for old"]
    assert [(name, text) for name, _, text in manager.deprecations()] == [("old", str(gone))]
    assert str(pickle.loads(pickle.dumps(gone))) == str(gone)


def test_a_renamed_argument_says_what_to_do() -> None:
    """The warning can be built, compared by its fields, and sent to another process."""
    warning = RenamedArgument("holon_services", "host", "plugin_host", "0.4")

    again = pickle.loads(pickle.dumps(warning))

    assert (again.old, again.new, str(again)) == ("host", "plugin_host", str(warning))
