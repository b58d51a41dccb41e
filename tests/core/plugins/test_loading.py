"""Loading installed plugins: what is looked at, what is refused before any of its code runs."""

from __future__ import annotations

import importlib
import sys
from itertools import permutations
from pathlib import Path
from types import ModuleType

import pytest

import holon_core as holon
from holon_core.plugins.loader import core_version, find_installed
from sample_lanes import CORE, FITS, Lane, Site, ids, lane_code, plugin, problems


def names(rt: holon.Runtime) -> dict[str, bool]:
    return {each.name: each.active for each in rt.plugins.list()}


def test_an_installed_lane_brings_its_tools(site: Site, open_runtime) -> None:
    """A distribution with the entry point is a lane without any further setting."""
    site.add("acme-one")

    rt = open_runtime()

    assert ids(rt) == ["acme-one/say"]
    tool = rt.tools.read("acme-one/say")
    assert (tool.provenance.distribution, tool.provenance.version) == ("acme-one", "1.0")
    result = rt.session(principal="p").call("acme-one/say")
    assert result.output == {"tool": "acme-one/say"}
    (state,) = rt.plugins.list()
    assert (state.distribution, state.version, state.active) == ("acme-one", "1.0", True)
    assert rt.plugins.loading == "all"


def test_plugins_are_sorted_by_distribution_then_name(site: Site, open_runtime) -> None:
    """The order of installation and of folders means nothing."""
    site.add("zeta", points={"a": "zeta"})
    module = site.add("beta", points={"y": "beta", "x": "beta:other"})
    code = (site.folder / f"{module}.py").read_text(encoding="utf-8")
    other = "\n\nclass Other:\n    @holon.hookimpl\n    def holon_services(self, host):\n"
    other += "        return ()\n\nother = Other()\n"
    (site.folder / f"{module}.py").write_text(code + other, encoding="utf-8")

    listed = open_runtime().plugins.list()

    assert [(each.distribution, each.name) for each in listed] == [
        ("beta", "x"),
        ("beta", "y"),
        ("zeta", "a"),
    ]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("raise RuntimeError('the first line\\nthe second')", "RuntimeError: the first line"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "Odd: x"),
        ("import nosuch.module", "ModuleNotFoundError"),
        ("class Mute(Exception):\n    def __str__(self): raise SystemExit\nraise Mute", "Mute"),
        ("raise ValueError('\\x1b[31mred')", "ValueError: \\x1b[31mred"),
        ("def", "SyntaxError"),
    ],
    ids=["error", "exit", "base", "import", "mute", "controls", "syntax"],
)
def test_an_import_that_fails_quarantines_the_plugin(
    site: Site, open_runtime, raised: str, said: str
) -> None:
    """Whatever a module raises, it is one line in the list and the others work."""
    site.add("acme-bad", raised)
    site.add("acme-good")

    rt = open_runtime()

    assert names(rt) == {"acme-bad": False, "acme-good": True}
    told = problems(rt, "acme-bad")
    assert f"raised {said}" in told
    assert "\n" not in told
    assert "\x1b" not in told
    assert ids(rt) == ["acme-good/say"]


def test_an_interrupt_by_the_user_ends_the_opening(site: Site, open_runtime) -> None:
    """KeyboardInterrupt is the one thing that passes."""
    site.add("acme-bad", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        open_runtime()


@pytest.mark.parametrize(
    ("requires", "said"),
    [
        (("holon-core>=2",), f"it needs holon-core>=2, and this is {CORE}"),
        (("Holon_Core (<0.1)",), "it needs Holon_Core (<0.1)"),
        (("holon-core>0.1",), "it needs holon-core>0.1"),
        (("holon-core>=0.0.1,<=0.0.9",), "it needs"),
        (("holon-core!=0.1.*",), "it needs"),
        (("holon-core>=0.1", "holon-core>=3"), "it needs holon-core>=3"),
        (("holon-core>=2; python_version > '3'",), "it needs"),
        (("holon-core ~ what",), "it needs"),
        (("attrs",), "it declares no requirement on holon-core"),
        ((), "it declares no requirement on holon-core"),
        (("holon-core>=0.1; extra == 'x'",), "it declares no requirement on holon-core"),
    ],
)
def test_what_needs_another_core_is_refused_before_its_import(
    site: Site, open_runtime, requires: tuple[str, ...], said: str
) -> None:
    """The metadata is enough to refuse; no line of the code has run."""
    module = site.add("acme-other", requires=requires)

    rt = open_runtime()

    assert said in problems(rt, "acme-other")
    assert module not in sys.modules


@pytest.mark.parametrize(
    "requirement",
    [
        FITS,
        "holon-core",
        "holon-core>=0.1,<1",
        "holon.core >= 0.1.0",
        "holon-core (>=0.1)",
        "holon-core==0.1.*",
        "holon-core[otel]>=0.1",
        "holon-core>=0.1; python_version >= '3'",
        "holon-core~=0.1.0",
    ],
)
def test_a_requirement_that_this_core_meets_loads(
    site: Site, open_runtime, requirement: str
) -> None:
    """Plain and uncommon forms of one requirement are understood alike."""
    site.add("acme-fits", requires=("attrs>=23", requirement))

    assert names(open_runtime()) == {"acme-fits": True}


def test_without_metadata_of_the_core_nothing_fits(site: Site, monkeypatch) -> None:
    """A core of unknown version takes no plugin for fitting, and says why."""
    site.add("acme-one")
    for file in (site.folder / f"holon_core-{CORE}.dist-info").iterdir():
        file.unlink()
    (site.folder / f"holon_core-{CORE}.dist-info").rmdir()
    monkeypatch.setattr(sys, "path", [str(site.folder)])

    (found,) = find_installed(None)

    assert core_version() is None
    assert "whose own version is unknown" in found.problem


def test_two_strangers_of_one_name_are_both_refused(site: Site, open_runtime) -> None:
    """Neither order nor folder decides; both are named, and neither is imported."""
    one = site.add("acme-one", points={"mcp": "acme_one"})
    two = site.add("beta-two", points={"mcp": "beta_two"})

    rt = open_runtime()

    told = [(each.distribution, each.problems) for each in rt.plugins.list()]
    assert told == [
        ("acme-one", ("the name is also claimed by beta-two",)),
        ("beta-two", ("the name is also claimed by acme-one",)),
    ]
    assert not {one, two} & set(sys.modules)


def test_this_projects_own_never_loses_its_name(site: Site, open_runtime) -> None:
    """A stranger under the name of a first-party plugin is refused alone."""
    site.add("holon-mcp", points={"mcp": "sample_holon_mcp"})
    site.add("acme-mcp", points={"mcp": "acme_mcp"})

    states = {each.distribution: each.active for each in open_runtime().plugins.list()}

    assert states == {"acme-mcp": False, "holon-mcp": True}


def test_a_stranger_under_the_name_of_a_given_plugin_is_refused(site: Site, open_runtime) -> None:
    """What the host gives itself keeps its name."""
    module = site.add("notes", points={"notes": "notes"})

    rt = open_runtime(Lane("notes", "add"))

    assert ids(rt) == ["notes/add"]
    assert problems(rt, "notes") == "the name is also claimed by the host"
    assert module not in sys.modules


@pytest.mark.parametrize("own_name", ["", "notes"], ids=["its-module's-name", "its-entry-point's"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_module_that_is_installed_and_given_is_one_plugin(
    site: Site, open_runtime, monkeypatch, own_name: str, times: int
) -> None:
    """Under the name of its entry point, with its distribution, however often it is given."""
    name = site.add("acme-notes", points={"notes": "acme_notes"})
    monkeypatch.syspath_prepend(str(site.folder))
    module = importlib.import_module(name)
    if own_name:
        monkeypatch.setattr(module, "name", own_name, raising=False)

    rt = open_runtime(*[module] * times)

    assert names(rt) == {"notes": True}
    assert problems(rt, "notes") == ""
    assert rt.session(principal="p").call("acme-notes/say").status is holon.Status.COMPLETED


def test_a_given_module_that_breaks_stops_the_opening_also_where_it_is_installed(
    site: Site, open_runtime, monkeypatch
) -> None:
    """What a program asks for by itself may be a guard: it is never left out in silence."""
    name = site.add("acme-notes", points={"notes": "acme_notes"})
    monkeypatch.syspath_prepend(str(site.folder))
    module = importlib.import_module(name)
    broken = holon.hookimpl(lambda: ())
    monkeypatch.setattr(module, "holon_no_such_hook", broken, raising=False)

    with pytest.raises(holon.Rejected, match="holon_no_such_hook"):
        open_runtime(module)


def test_no_stranger_takes_a_given_lane_of_this_project(site: Site, open_runtime) -> None:
    """An entry point of another distribution that names our module is refused, not ours."""
    import holon_builtin_workspace.plugin as lane

    site.add("acme-notes", points={"workspace": lane.__name__})

    rt = open_runtime(lane)

    owners = {each.distribution: each.active for each in rt.plugins.list()}
    assert owners == {"acme-notes": False, "holon-builtin-workspace": True}


def test_one_distribution_with_a_name_twice_has_neither(site: Site, open_runtime) -> None:
    """Two entry points of one name in one distribution are both refused."""
    site.add("acme-one")
    site.metadata("acme-one", entry_points="[holon]\nx = acme_one\nx = acme_one:other\n")

    rt = open_runtime()

    assert names(rt) == {"x": False}
    assert "claimed twice" in problems(rt, "x")


@pytest.mark.parametrize("name", ["../up", "a b", "-x", "", "x" * 101])
def test_a_name_that_is_no_name_is_refused(site: Site, open_runtime, name: str) -> None:
    """A plugin's name is a folder's name too, so it has to be an ordinary one."""
    module = site.add("acme-one", points={name: "acme_one"})

    rt = open_runtime()

    (state,) = rt.plugins.list()
    assert not state.active
    assert "is no name for a plugin" in state.problems[0]
    assert module not in sys.modules


@pytest.mark.parametrize("value", ["", "a b", "acme_one:", "acme_one:nosuch", "os; 1"])
def test_an_entry_point_that_names_nothing_is_quarantined(
    site: Site, open_runtime, value: str
) -> None:
    """A malformed or dangling value is a fault of that plugin alone."""
    site.add("acme-one", points={"one": value})

    rt = open_runtime()

    assert names(rt) == {"one": False}
    assert "raised" in problems(rt, "one")


def test_an_entry_point_may_name_an_attribute(site: Site, open_runtime) -> None:
    """module:attribute, with extras and blanks as installers write them, is understood."""
    code = "from sample_lanes import Lane\nclass Box:\n    lane = Lane('acme-one', 'say')\n"
    site.add("acme-one", code, points={"acme-one": "acme_one : Box.lane [x]"})

    assert ids(open_runtime()) == ["acme-one/say"]


def test_only_allowed_distributions_load(site: Site, open_runtime, monkeypatch) -> None:
    """HOLON_PLUGINS and holon.toml limit what is imported, and the list says so."""
    one, two = site.add("acme-one"), site.add("acme-two")
    monkeypatch.setenv("HOLON_PLUGINS", "Acme_Two")

    rt = open_runtime()

    assert names(rt) == {"acme-two": True}
    assert one not in sys.modules
    assert two in sys.modules
    assert rt.plugins.loading == "acme-two alone (env HOLON_PLUGINS)"


def test_holon_toml_limits_loading(site: Site, open_runtime, tmp_path: Path) -> None:
    """The operator's file says which distributions may load."""
    site.add("acme-one")
    site.add("acme-two")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "holon.toml").write_text('plugins = ["acme-one"]\n', encoding="utf-8")

    rt = open_runtime()

    assert names(rt) == {"acme-one": True}
    assert rt.plugins.loading == "acme-one alone (holon.toml:1)"


def test_first_party_stands_for_this_projects_own(site: Site, open_runtime) -> None:
    """One word turns all strangers off and leaves the built-in lanes."""
    site.add("holon-mcp", points={"mcp": "sample_holon_mcp"})
    module = site.add("acme-one")

    rt = open_runtime(config={"plugins": ["first-party"]})

    assert names(rt) == {"mcp": True}
    assert module not in sys.modules


def test_without_discovery_no_metadata_is_read(site: Site, open_runtime) -> None:
    """discover=False looks at nothing that is installed, and says so."""
    module = site.add("acme-one")

    rt = open_runtime(discover=False)

    assert rt.plugins.list() == ()
    assert rt.plugins.loading == "off (discover=False)"
    assert module not in sys.modules


@pytest.mark.parametrize(
    "entry_points",
    [b"[holon]\nacme-bad\n", b"\xff\xfe[holon]\n", b"[holon]\n= x\n"],
    ids=["no value", "not UTF-8", "no name"],
)
def test_unreadable_metadata_is_a_fault_of_its_distribution(
    site: Site, open_runtime, entry_points: bytes
) -> None:
    """One damaged file does not keep the others from loading."""
    info = site.metadata("acme-bad")
    (info / "entry_points.txt").write_bytes(entry_points)
    site.add("acme-good")

    rt = open_runtime()

    states = {each.distribution: each.active for each in rt.plugins.list()}
    assert states == {"acme-bad": False, "acme-good": True}


def test_metadata_without_a_name_is_reported(site: Site, open_runtime) -> None:
    """A distribution that does not say who it is is refused by its folder's name."""
    info = site.metadata("acme-bad", entry_points="[holon]\nx = acme_bad\n")
    (info / "METADATA").unlink()

    rt = open_runtime()

    assert "its metadata cannot be read" in problems(rt, "acme-bad")


def test_other_groups_and_comments_are_no_plugins(site: Site, open_runtime) -> None:
    """Only what stands under the group itself counts."""
    site.add("acme-one")
    text = "[console_scripts]\nx = y:z\n\n[holon]\n# comment\n; another\nacme-one = acme_one\n"
    text += "[z]\na=b\n"
    site.metadata("acme-one", entry_points=text)
    site.metadata("acme-none", entry_points="[console_scripts]\nholon = y:z\n")

    assert names(open_runtime()) == {"acme-one": True}


def test_the_first_of_a_name_on_the_path_counts(
    site: Site, open_runtime, tmp_path: Path, monkeypatch
) -> None:
    """As for imports: a second copy further down the path is not there."""
    later = Site(tmp_path / "later")
    monkeypatch.setattr(sys, "path", [*sys.path, str(later.folder)])
    site.add("acme-one", version="2.0")
    later.add("acme-one", version="1.0")
    later.add("acme-two", version="1.0")
    site.metadata("acme-two", "3.0")

    (state,) = open_runtime().plugins.list()

    assert (state.name, state.version) == ("acme-one", "2.0")


def test_what_a_build_left_beside_its_sources_hides_no_installed_one(
    site: Site, open_runtime, tmp_path: Path, monkeypatch
) -> None:
    """A lane that is installed in place and built there once is one plugin, and a sound one."""
    site.add("acme-one", version="2.0")
    left = tmp_path / "src" / "acme_one.egg-info"
    left.mkdir(parents=True)
    (left / "PKG-INFO").write_text("Name: acme-one\nVersion: 1.0\n", encoding="utf-8")
    (left / "entry_points.txt").write_text("[holon]\nold = acme_old\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(left.parent), *sys.path])

    (state,) = open_runtime().plugins.list()

    assert (state.name, state.version, state.problems) == ("acme-one", "2.0", ())


def test_an_older_way_of_installing_in_place_is_read_too(
    site: Site, open_runtime, tmp_path: Path, monkeypatch
) -> None:
    """It leaves nothing but the folder of the build; its requirements are a file of their own."""
    site.add("acme-one", points={})
    (info,) = site.folder.glob("acme_one-*.dist-info")
    left = site.folder / "acme_one.egg-info"
    info.rename(left)
    (left / "METADATA").unlink()
    (left / "PKG-INFO").write_text("Name: acme-one\nVersion: 1.0\n", encoding="utf-8")
    (left / "requires.txt").write_text(f"{FITS}\n", encoding="utf-8")
    (left / "entry_points.txt").write_text("[holon]\none = acme_one\n", encoding="utf-8")
    importlib.invalidate_caches()

    (state,) = open_runtime().plugins.list()

    assert (state.distribution, state.active) == ("acme-one", True)


@pytest.mark.parametrize("order", list(permutations(["acme-a", "acme-b", "acme-c"]))[:4])
def test_the_outcome_does_not_depend_on_installation_order(
    site: Site, open_runtime, order: tuple[str, ...]
) -> None:
    """The same set gives the same list, whoever came first."""
    for name in order:
        points = {"same": name.replace("-", "_")} if name != "acme-c" else None
        site.add(name, points=points)

    listed = open_runtime().plugins.list()

    assert [(each.distribution, each.active) for each in listed] == [
        ("acme-a", False),
        ("acme-b", False),
        ("acme-c", True),
    ]


def test_given_plugins_of_one_name_are_all_refused(open_runtime) -> None:
    """Which of them would count is nothing to guess, and without them a guard may be missing."""
    with pytest.raises(holon.Rejected, match="notes: several have this name"):
        open_runtime(Lane("notes"), Lane("other"), Lane("notes"), discover=False)


def test_a_given_plugin_without_a_name_is_called_by_its_class(open_runtime) -> None:
    """Its module's or class's name stands for it, in characters that a folder can have."""

    class Nameless:
        @holon.hookimpl
        def holon_services(self, host):
            return ()

    rt = open_runtime(Nameless(), discover=False)

    states = {each.name.rpartition(".")[2]: each.active for each in rt.plugins.list()}
    assert states == {"Nameless": True}


def test_a_given_plugin_whose_name_raises_is_rejected_by_its_class(open_runtime) -> None:
    """It is told apart from others, though it does not say its name."""

    class Shy:
        @property
        def name(self):
            raise ValueError

        @holon.hookimpl
        def holon_services(self, host):
            return ()

    with pytest.raises(holon.Rejected, match="Shy: registering it raised ValueError"):
        open_runtime(Shy(), discover=False)


def test_a_given_module_of_this_project_is_first_party(open_runtime) -> None:
    """A lane's own tests give its module, without installing it."""
    module = ModuleType("holon_mcp.plugin")
    exec(lane_code("holon-mcp"), vars(module))

    rt = open_runtime(module, discover=False)

    assert ids(rt) == ["holon-mcp/say"]
    assert rt.tools.read("holon-mcp/say").provenance.distribution == "holon-mcp"


def test_an_object_without_hooks_is_no_plugin(open_runtime) -> None:
    """What implements nothing is told so, since the marker is easily forgotten."""
    with pytest.raises(holon.Rejected, match="empty: it implements no hook"):
        open_runtime(plugin("empty"), discover=False)


def test_a_distribution_that_no_folder_holds_is_read_too(site: Site, open_runtime) -> None:
    """An importer may bring distributions of its own, by the standard interface."""
    from importlib.metadata import Distribution, DistributionFinder

    site.add("acme-one", points={})

    class Held(Distribution):
        def read_text(self, filename):
            head = f"Metadata-Version: 2.1\nName: Acme.One\nVersion: 7\nRequires-Dist: {FITS}\n\n"
            points = "[holon]\none = acme_one\n"
            return {"METADATA": head, "entry_points.txt": points}.get(filename)

        def locate_file(self, path):
            return path

    class Finder(DistributionFinder):
        def find_spec(self, name, path=None, target=None):
            return None

        def find_distributions(self, context=DistributionFinder.Context()):  # noqa: B008
            return [Held()] if context.name is None else []

    for file in (site.folder / "acme_one-1.0.dist-info").iterdir():
        file.unlink()
    (site.folder / "acme_one-1.0.dist-info").rmdir()
    sys.meta_path.append(Finder())
    try:
        (state,) = open_runtime().plugins.list()
    finally:
        sys.meta_path.pop()

    assert (state.distribution, state.version, state.active) == ("acme-one", "7", True)


def test_an_interrupt_while_metadata_is_read_passes(site: Site, monkeypatch) -> None:
    """The user's interrupt ends the opening."""
    from importlib.metadata import distributions

    def interrupting(self, filename):
        raise KeyboardInterrupt

    # Of several kinds where a library of the suite brings finders of its own.
    for kind in {type(each) for each in distributions()}:
        monkeypatch.setattr(kind, "read_text", interrupting)

    with pytest.raises(KeyboardInterrupt):
        find_installed(None)


@pytest.mark.parametrize("requirement", ["holon-core>=0.1,<2", "holon-core>=1.0rc1", "holon-core"])
def test_a_core_that_is_a_prerelease_is_compared_thoroughly(
    site: Site, monkeypatch, requirement: str
) -> None:
    """Not only plain releases have an order."""
    info = site.folder / f"holon_core-{CORE}.dist-info"
    (info / "METADATA").write_text("Name: holon-core\nVersion: 1.0rc2\n\n", encoding="utf-8")
    site.add("acme-one", requires=(requirement,))

    found = {each.provenance.distribution: each.problem for each in find_installed(None)}

    assert found["acme-one"] == ""


def test_the_core_may_bring_a_plugin_of_its_own(site: Site, open_runtime) -> None:
    """It need not require itself."""
    site.add("acme-code", points={})
    site.metadata("holon-core", CORE, requires=(), entry_points="[holon]\ncore = acme_code\n")

    assert names(open_runtime()) == {"core": True}
