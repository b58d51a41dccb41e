"""The decorator and the options that it leaves on a function."""

import functools
import subprocess
import sys

import attrs
import pytest

from holon_core.errors import Misuse
from holon_core.functions.decorator import ToolOptions, options_of, tool
from holon_core.records.words import ApprovalRequirement, Effect
from support import label


def test_a_decorated_function_stays_itself():
    """Without brackets the decorator returns the function, which can be called as before."""

    def double(number: int) -> int:
        return 2 * number

    assert tool(double) is double
    assert double(3) == 6
    assert options_of(double) == ToolOptions()


def test_every_option_arrives():
    """Each option of the decorator is a field of what the function carries."""

    @tool(
        name="refund",
        title="Refund",
        description="Give money back.",
        effects={"network_write", Effect.DESTRUCTIVE},
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        examples=["refund order o1"],
        version="2",
        approval="required",
        risk_hints=["moves money"],
        secrets={"token": "env:TOKEN"},
        timeout_s=2.5,
        max_output_bytes=1000,
        isolation="process",
        idempotent=True,
        id="refund-order",
    )
    def function(token: str) -> None: ...

    options = options_of(function)
    assert options == ToolOptions(
        name="refund",
        title="Refund",
        description="Give money back.",
        effects={Effect.NETWORK_WRITE, Effect.DESTRUCTIVE},
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        examples=("refund order o1",),
        version="2",
        approval=ApprovalRequirement.REQUIRED,
        risk_hints=("moves money",),
        secrets={"token": "env:TOKEN"},
        timeout_s=2.5,
        max_output_bytes=1000,
        isolation="process",
        idempotent=True,
        id="refund-order",
    )
    assert type(next(iter(options.effects))) is Effect


def test_effects_left_out_stay_unknown():
    """What nobody declared is not taken for harmless."""
    assert ToolOptions().effects == {Effect.UNKNOWN}


def test_a_single_effect_may_be_a_text():
    """One word is one effect, not a set of letters."""
    assert ToolOptions(effects="process").effects == {Effect.PROCESS}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"effects": {"network"}}, "unknown effect 'network'; allowed are none, workspace_read"),
        ({"effects": [1]}, "unknown effect 1"),
        ({"effects": ()}, 'no effects is written {"none"}'),
        ({"effects": {"none", "process"}}, '"none" stands alone'),
        ({"approval": "maybe"}, "unknown approval 'maybe'; allowed are none, required"),
        ({"risk_hints": "moves money"}, "risk_hints takes several texts"),
        ({"examples": "refund"}, "examples takes several texts"),
        ({"examples": [{"order": 1}]}, "examples takes several texts"),
        ({"name": " "}, "name has to be a text"),
        ({"version": 2}, "version has to be a text"),
        ({"input_schema": "object"}, "input_schema has to be a JSON Schema"),
        ({"output_schema": ["object"]}, "output_schema has to be a JSON Schema"),
        ({"timeout_s": 0}, "timeout_s has to be a number of seconds above 0"),
        ({"timeout_s": float("nan")}, "timeout_s has to be"),
        ({"timeout_s": float("inf")}, "timeout_s has to be"),
        ({"timeout_s": True}, "timeout_s has to be"),
        ({"timeout_s": "3"}, "timeout_s has to be"),
        ({"max_output_bytes": 0}, "max_output_bytes has to be a whole number"),
        ({"max_output_bytes": 1.5}, "max_output_bytes has to be a whole number"),
        ({"isolation": "thread"}, 'isolation is None or "process"'),
        ({"secrets": {"token": ""}}, "secrets maps names of parameters to references"),
        ({"secrets": {1: "env:TOKEN"}}, "secrets maps names of parameters to references"),
        ({"inline": True, "timeout_s": 1}, "inline excludes timeout_s and isolation"),
        ({"inline": True, "isolation": "process"}, "inline excludes timeout_s and isolation"),
    ],
    ids=label,
)
def test_an_option_that_cannot_work_is_misuse(options, text):
    """Unknown words, numbers out of bounds and contradictions are refused with what is allowed."""
    with pytest.raises(Misuse, match=text.replace("{", r"\{").replace("(", r"\(")):
        tool(**options)


def test_an_unknown_option_is_told_with_the_nearest_one():
    """A misspelt option is no option, and what was meant is told."""
    with pytest.raises(Misuse, match="no option effect; did you mean effects"):
        tool(effect={"none"})  # type: ignore[call-overload]
    with pytest.raises(Misuse, match=r"no option zzz$"):
        tool(zzz=1)  # type: ignore[call-overload]


def test_options_are_frozen():
    """What a function carries cannot be edited afterwards."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ToolOptions().version = "2"  # type: ignore[misc]


class Desk:
    @tool(name="plain")
    def plain(self) -> None: ...

    @tool(name="static")
    @staticmethod
    def static() -> None: ...

    @tool(name="class")
    @classmethod
    def of_class(cls) -> None: ...

    def bare(self) -> None: ...


class Caller:
    @tool(name="call")
    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (Desk().plain, "plain"),
        (Desk().static, "static"),
        (Desk.of_class, "class"),
        (Caller(), "call"),
        (functools.partial(Desk().plain), "plain"),
        (functools.partial(functools.partial(Caller())), "call"),
        (tool(name="itself")(functools.partial(Desk().bare)), "itself"),
    ],
    ids=["method", "static method", "class method", "object", "partial", "partials", "own"],
)
def test_options_are_found_on_every_kind_of_callable(fn, name):
    """Methods, callable objects and partials lead to the options of what they call."""
    options = options_of(fn)
    assert options is not None
    assert options.name == name


def test_an_unmarked_callable_has_no_options():
    """Whatever was never marked has none, and neither has what cannot be called."""
    assert options_of(Desk().bare) is None
    assert options_of(len) is None
    assert options_of(3) is None


@pytest.mark.parametrize("fn", [Desk().bare, Desk, len, 3], ids=["method", "class", "C", "number"])
def test_what_cannot_carry_options_is_misuse(fn):
    """A bound method would mark every instance, a C function cannot be marked at all."""
    with pytest.raises(Misuse, match="give them where it is registered"):
        tool(fn)
    assert options_of(Desk().bare) is None


def test_importing_the_decorator_loads_nothing_heavy():
    """The import leaves schema engines, event loop and the readers of signatures unloaded."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "import holon_core.functions.decorator\n"
        "print([name for name in ('asyncio', 'cattrs', 'jsonschema', 'jsonschema_rs', 'sqlite3',"
        " 'holon_core.functions.signature') if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
