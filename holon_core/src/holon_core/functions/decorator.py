"""The decorator that marks a host function as a tool, and the options that it carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, overload

from attrs import evolve, field, fields, frozen

from holon_core.errors import Misuse
from holon_core.names import encodable, several
from holon_core.nearest import nearest
from holon_core.records.base import Record
from holon_core.records.tool import MAX_OUTPUT_BYTES, MAX_TIMEOUT_S
from holon_core.records.words import ApprovalRequirement, Effect

F = TypeVar("F")
MARK = "__holon_tool__"
UNDECLARED = frozenset({Effect.UNKNOWN})


def _effects(given: Iterable[str | Effect] | str | None) -> frozenset[Effect]:
    if given is None:
        return UNDECLARED
    words = [given] if isinstance(given, str) else list(several(given, "effects"))
    allowed = [effect.value for effect in Effect]
    unknown = sorted({repr(word) for word in words if word not in allowed})
    if unknown:
        raise Misuse(f"unknown effect {', '.join(unknown)}; allowed are {', '.join(allowed)}")
    effects = frozenset(Effect(word) for word in words)
    if not effects:
        raise Misuse('no effects is written {"none"}; leave effects out where they are not known')
    if Effect.NONE in effects and len(effects) > 1:
        raise Misuse('the effect "none" stands alone; leave it out, or all the others')
    return effects


def _approval(given: str) -> ApprovalRequirement:
    allowed = [word.value for word in ApprovalRequirement]
    if given not in allowed:
        raise Misuse(f"unknown approval {given!r}; allowed are {', '.join(allowed)}")
    return ApprovalRequirement(given)


def _texts(name: str, given: Iterable[str]) -> tuple[str, ...]:
    texts = () if isinstance(given, str) else tuple(several(given, name))
    if isinstance(given, str) or not all(isinstance(text, str) for text in texts):
        raise Misuse(f"{name} takes several texts; write a tuple or a list of them")
    return tuple(encodable(text, name) for text in texts)


def _examples(given: Iterable[str]) -> tuple[str, ...]:
    return _texts("examples", given)


def _keywords(given: Iterable[str]) -> tuple[str, ...]:
    return _texts("keywords", given)


def _risk_hints(given: Iterable[str]) -> tuple[str, ...]:
    return _texts("risk_hints", given)


def _references(given: Mapping[str, str] | None) -> Mapping[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise Misuse("secrets maps names of parameters to references, both texts")
    return dict(given or {})


def _optional_text(_: Any, attribute: Any, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise Misuse(f"{attribute.name} has to be a text that is not empty")
    if isinstance(value, str):
        encodable(value, attribute.name)


def _schema(_: Any, attribute: Any, value: object) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise Misuse(f"{attribute.name} has to be a JSON Schema, written as a mapping")


def _seconds(_: Any, attribute: Any, value: object) -> None:
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value <= MAX_TIMEOUT_S:  # type: ignore[operator]
        raise Misuse(
            f"{attribute.name} has to be a number of seconds above 0, at most {MAX_TIMEOUT_S}"
        )


def _size(_: Any, attribute: Any, value: object) -> None:
    if value is not None and (type(value) is not int or not 1 <= value <= MAX_OUTPUT_BYTES):
        raise Misuse(
            f"{attribute.name} has to be a whole number of bytes from 1 to {MAX_OUTPUT_BYTES}"
        )


def _version(_: Any, attribute: Any, value: object) -> None:
    if value is None:
        raise Misuse(f"{attribute.name} has to be a text that is not empty")
    _optional_text(None, attribute, value)


def _flag(_: Any, attribute: Any, value: object) -> None:
    if not isinstance(value, bool):
        raise Misuse(f"{attribute.name} is True or False")


def _isolation(_: Any, attribute: Any, value: object) -> None:
    if value not in (None, "process"):
        raise Misuse(f'{attribute.name} is None or "process"')


def _secrets(_: Any, attribute: Any, value: Mapping[object, object]) -> None:
    for name, reference in value.items():
        if not isinstance(name, str) or not isinstance(reference, str) or not reference:
            raise Misuse(f"{attribute.name} maps names of parameters to references, both texts")
        encodable(name, attribute.name)
        encodable(reference, attribute.name)


@frozen(kw_only=True, eq=False, repr=False)
class ToolOptions(Record):
    """What the author of a host function states about it; the signature states the rest.

    ``effects`` left out stay unknown, and unknown effects are never executed. ``secrets``
    maps parameters to secret references: the host fills them at execution, so that they
    are in no schema. ``timeout_s`` is wall-clock seconds; None is no limit. ``inline`` keeps
    a quick synchronous function on the loop's thread, which a limit or a process forbids.
    """

    name: str | None = field(default=None, validator=_optional_text)
    title: str | None = field(default=None, validator=_optional_text)
    description: str | None = field(default=None, validator=_optional_text)
    effects: frozenset[Effect] = field(default=None, converter=_effects)
    input_schema: Mapping[str, Any] | None = field(default=None, validator=_schema)
    output_schema: Mapping[str, Any] | None = field(default=None, validator=_schema)
    examples: tuple[str, ...] = field(default=(), converter=_examples)
    keywords: tuple[str, ...] = field(default=(), converter=_keywords)
    version: str = field(default="1", validator=_version)
    approval: ApprovalRequirement = field(default=ApprovalRequirement.NONE, converter=_approval)
    risk_hints: tuple[str, ...] = field(default=(), converter=_risk_hints)
    secrets: Mapping[str, str] = field(default=None, converter=_references, validator=_secrets)
    timeout_s: float | None = field(default=None, validator=_seconds)
    max_output_bytes: int | None = field(default=None, validator=_size)
    isolation: str | None = field(default=None, validator=_isolation)
    inline: bool = field(default=False, validator=_flag)
    idempotent: bool = field(default=False, validator=_flag)
    id: str | None = field(default=None, validator=_optional_text)

    def __attrs_post_init__(self) -> None:
        if self.inline and (self.isolation or self.timeout_s is not None):
            raise Misuse("inline excludes timeout_s and isolation: the loop's thread cannot wait")


def options_from(given: Mapping[str, Any], base: ToolOptions | None = None) -> ToolOptions:
    """Make options of keywords.

    Args:
        given: Fields of ``ToolOptions``.
        base: Options that they replace, where there are any.

    Raises:
        Misuse: There is no such option, or a value is refused.
    """
    names = [each.name for each in fields(ToolOptions)]
    for name in given:
        if name not in names:
            raise Misuse(f"there is no option {name}{nearest(name, names)}")
    return ToolOptions(**given) if base is None else evolve(base, **given)


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = ...,
    title: str | None = ...,
    description: str | None = ...,
    effects: Iterable[str | Effect] | str | None = ...,
    input_schema: Mapping[str, Any] | None = ...,
    output_schema: Mapping[str, Any] | None = ...,
    examples: Iterable[str] = ...,
    keywords: Iterable[str] = ...,
    version: str = ...,
    approval: str = ...,
    risk_hints: Iterable[str] = ...,
    secrets: Mapping[str, str] | None = ...,
    timeout_s: float | None = ...,
    max_output_bytes: int | None = ...,
    isolation: str | None = ...,
    inline: bool = ...,
    idempotent: bool = ...,
    id: str | None = ...,
) -> Callable[[F], F]: ...
def tool(fn: Any = None, /, **options: Any) -> Any:
    """Mark a function as a tool; it stays the same function and can still be called.

    Args:
        fn: The function, where the decorator is written without brackets.
        options: The fields of ``ToolOptions``.

    Returns:
        The function itself, or a decorator where only options were given.

    Raises:
        Misuse: A word is not in its list, a number is out of bounds, options contradict
            each other, or the object cannot carry options.
    """
    made = options_from(options)

    def mark(function: Any) -> Any:
        carrier = getattr(function, "__func__", function)
        if not callable(carrier) or isinstance(carrier, type) or carrier_is_bound(function):
            raise Misuse(f"{function!r} cannot carry options; give them where it is registered")
        try:
            setattr(carrier, MARK, made)
        except AttributeError:
            raise Misuse(
                f"{function!r} cannot carry options; give them where it is registered"
            ) from None
        return function

    return mark if fn is None else mark(fn)


def carrier_is_bound(function: Any) -> bool:
    """Tell a bound method, whose options would reach every other instance."""
    return getattr(function, "__self__", None) is not None and hasattr(function, "__func__")


def options_of(fn: Any) -> ToolOptions | None:
    """Find the options that a callable carries, through partials and methods.

    Returns:
        What ``tool`` left on it, or None where it was never marked.
    """
    while callable(fn):
        for carrier in (fn, type(fn).__call__):
            found = getattr(carrier, MARK, None)
            if isinstance(found, ToolOptions):
                return found
        fn = fn.func if isinstance(fn, partial) else None
    return None
