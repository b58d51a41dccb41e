"""From a type hint to its codec: the table of what a signature may contain."""

from __future__ import annotations

import types
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from holon_core.functions.choices import choice_codec, enum_codec
from holon_core.functions.codec import Codec, Unsupported
from holon_core.functions.containers import container_codec
from holon_core.functions.definitions import Definitions
from holon_core.functions.metadata import annotate
from holon_core.functions.models import is_model, model_codec
from holon_core.functions.scalars import any_codec, scalar_codec
from holon_core.functions.unions import union_codec

if TYPE_CHECKING:
    from holon_core.functions.classes import Form

_UNIONS = (Union, types.UnionType)


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)


class Compiler:
    """Compiles the hints of one schema; ``output`` tells results from parameters."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.definitions = Definitions()
        self.forms: dict[type, Form] = {}
        self.ignored: list[str] = []
        self._aliases: list[Any] = []

    def codec(self, hint: Any) -> Codec:
        """Give the codec of a type hint whose forward references are resolved.

        Raises:
            Unsupported: No JSON Schema describes the type.
        """
        if hint is Any:
            return any_codec()
        if hint is None:
            hint = type(None)
        origin = get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, get_args(hint))
        if isinstance(hint, type):
            return self._class(hint)
        return self._special(hint)

    def _generic(self, hint: Any, origin: Any, args: tuple[Any, ...]) -> Codec:
        if origin is Annotated:
            codec = self.codec(args[0])
            self.ignored += annotate(codec.schema, hint.__metadata__)
            return codec
        if origin in _UNIONS:
            return union_codec([self.codec(arg) for arg in args])
        if origin is Literal:
            return choice_codec(args, owner="the Literal")
        # A bare typing.List has an origin and no arguments, just like tuple[()].
        bare = not args and not hasattr(hint, "__args__")
        known = container_codec(self, origin, None if bare else args)
        if known is None:
            raise Unsupported(f"{_shown(hint)} has no JSON form here")
        return known

    def _class(self, cls: type) -> Codec:
        if issubclass(cls, Enum):
            return enum_codec(cls)
        if is_model(cls):
            return model_codec(self, cls)
        known = scalar_codec(cls) or container_codec(self, cls, None)
        if known is None:
            from holon_core.functions.classes import class_codec

            known = class_codec(self, cls)
        if known is None:
            raise Unsupported(
                f"{_shown(cls)} has no JSON form here; use an attrs class, a dataclass or a"
                " TypedDict"
            )
        return known

    def _special(self, hint: Any) -> Codec:
        inner = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
        if inner is not None:
            return self._alias(hint, inner)
        if isinstance(hint, TypeVar):
            raise Unsupported(f"the type variable {hint.__name__} stands for no type in particular")
        if isinstance(hint, (str, ForwardRef)):
            raise Unsupported(f"the forward reference {hint!r} is not resolved")
        if str(hint).endswith(".LiteralString"):
            return self.codec(str)
        raise Unsupported(f"{_shown(hint)} has no JSON form here")

    def _alias(self, alias: Any, inner: Any) -> Codec:
        if any(alias is each for each in self._aliases):
            raise Unsupported(f"{_shown(alias)} is an alias of itself; use a dataclass for it")
        self._aliases.append(alias)
        try:
            return self.codec(inner)
        finally:
            self._aliases.pop()
