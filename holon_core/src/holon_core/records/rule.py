"""A policy rule as data: which calls it is about, and what it decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate

from attrs import Attribute, asdict, field, frozen
from attrs.converters import optional
from attrs.validators import instance_of

from holon_core.records.base import Record
from holon_core.records.words import Decision, Effect, Posture

Scalar = str | int | float | bool
WILDCARDS = frozenset("*?[")
_CLASS = re.compile(r"\[(?:!|(?!!))(\][^\]]*|[^\]]+)\]")


@frozen(kw_only=True, eq=False, repr=False)
class Condition(Record):
    """What one argument has to be; each part that is given must hold.

    An argument that is absent satisfies ``absent=True`` and nothing else. A value of another
    type satisfies nothing: ``max`` and ``min`` hold for numbers alone (both bounds included),
    ``matches`` (a glob) for text alone, and ``true`` never equals ``1``. ``one_of`` may hold
    ``None`` for a JSON null.
    """

    equals: Scalar | None = None
    one_of: tuple[Scalar | None, ...] | None = None
    matches: str | None = None
    max: float | None = None
    min: float | None = None
    absent: bool | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a condition that says nothing or contradicts itself."""
        given = [name for name, value in asdict(self).items() if value is not None]
        if not given:
            raise ValueError("a condition needs one of equals, one_of, matches, max, min, absent")
        if self.absent and len(given) > 1:
            raise ValueError("absent = true leaves nothing for other conditions to hold of")
        if self.one_of == ():
            raise ValueError("one_of is empty, so nothing satisfies it")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max, so nothing satisfies it")
        if self.matches is not None:
            glob(self.matches)


def _effects(words: Iterable[str]) -> tuple[Effect, ...]:
    return tuple(Effect(word) for word in words)


def _some_argument(
    rule: Rule, attribute: Attribute[Mapping[str, Condition] | None], value: object
) -> None:
    if value == {}:
        raise ValueError("arguments is empty; leave it out to match calls with any arguments")


@frozen(kw_only=True, eq=False, repr=False)
class Rule(Record):
    """One rule: it matches a call when every field that is given matches.

    ``id``, ``lane``, ``role``, ``profile``, ``plan_step``, ``principal`` and ``workspace`` are
    globs (``*``, ``?``, ``[abc]``, ``[!abc]``; ``*`` crosses ``/``; case matters); a caller
    without a role matches no ``role``, not even ``*``, and so on.

    ``effects`` and ``effects_used`` lean to the safe side. An ``ask`` or ``deny`` rule matches
    when any listed effect is among the tool's (``effects_used``: among those that the run was
    allowed before). An ``allow`` rule matches only when all of them are listed, so that
    allowing ``workspace_read`` never lets a tool through that also writes.

    ``arguments`` maps a top-level name, or a JSON pointer that begins with ``/``, to its
    condition; ``None`` matches calls with any arguments, and an empty mapping is refused. In an
    ``allow`` rule ``matches`` does not hold for text with a ``..`` path segment, which would
    lead out of the folder that the pattern seems to name.

    ``confined`` requires that what the rule matches runs confined: its program sees and reaches
    what the tool declares, and nothing else. Where that can't be enforced the call is refused.

    ``origin`` says where the rule was written, e.g. ``holon.toml:rules[2]``.
    """

    name: str = ""
    decision: Decision = field(converter=Decision)
    id: str = "*"
    lane: str | None = None
    effects: tuple[Effect, ...] | None = field(default=None, converter=optional(_effects))
    role: str | None = None
    profile: str | None = None
    plan_step: str | None = None
    principal: str | None = None
    workspace: str | None = None
    posture: Posture | None = field(default=None, converter=optional(Posture))
    effects_used: tuple[Effect, ...] | None = field(default=None, converter=optional(_effects))
    arguments: Mapping[str, Condition] | None = field(default=None, validator=_some_argument)
    reason: str = ""
    confined: bool = field(default=False, validator=instance_of(bool))
    origin: str = ""

    @property
    def exact(self) -> bool:
        """Whether ``id`` names one tool, without any wildcard."""
        return WILDCARDS.isdisjoint(self.id)


def glob(pattern: str) -> Callable[[str], bool]:
    """Compile a glob.

    Args:
        pattern: ``*``, ``?``, ``[abc]`` and ``[!abc]`` as in ``fnmatch``; case matters.

    Returns:
        A function that tells whether a whole text matches, in time linear in its length.

    Raises:
        ValueError: The pattern cannot be compiled.
    """
    if WILDCARDS.isdisjoint(pattern):
        return pattern.__eq__
    if "[" in _CLASS.sub("", pattern):
        # As it stands it would match the bracket itself, which in a rule that denies opens a door.
        raise ValueError("not a usable glob: a [ is never closed; [[] matches the character")
    # Pythons differ on a range that runs backwards: an error, or a class of nothing.
    for chars in _CLASS.findall(pattern):
        if any(low > high for low, high in re.findall("(.)-(.)", chars, re.DOTALL)):
            raise ValueError(f"not a usable glob: the range [{chars}] runs backwards")
    try:
        match = re.compile(translate(pattern)).match
    except re.error as error:
        raise ValueError(f"not a usable glob: {error}") from None
    return lambda text: match(text) is not None


def argument_path(key: str) -> tuple[str, ...]:
    """Split the key of an argument condition into the steps to its argument.

    Args:
        key: A top-level name, or a JSON pointer (RFC 6901) that begins with ``/``.

    Raises:
        ValueError: The key is empty or not a JSON pointer.
    """
    if not key:
        raise ValueError("an argument needs a name or a JSON pointer")
    if not key.startswith("/"):
        return (key,)
    if re.search(r"~(?![01])", key):
        raise ValueError("in a JSON pointer ~ is written ~0, and / inside a name ~1")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in key[1:].split("/"))
