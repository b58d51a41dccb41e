"""The fields of a class: attrs, dataclass, ``NamedTuple`` or ``TypedDict``, all alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

from attrs import NOTHING, frozen

from holon_core.functions.codec import Unsupported
from holon_core.functions.docstrings import Docstring, parse_docstring
from holon_core.records.base import Record


@frozen(kw_only=True, eq=False, repr=False)
class FieldSpec(Record):
    """One field: its key in JSON, its attribute in Python, and what is known of it."""

    key: str
    attribute: str
    hint: Any
    default: Any  # NOTHING where there is none; attrs would read it as no default here
    required: bool
    given: bool = True
    description: str | None = None


def is_typed_dict(cls: Any) -> bool:
    """Tell a ``TypedDict`` of whichever module from other classes."""
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_field_defaults")


def _hints(cls: type) -> dict[str, Any]:
    try:
        # Its own name, so that a class inside a function can name itself.
        return get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except Exception as error:
        raise Unsupported(f"a type in {cls.__name__} cannot be resolved: {error}") from error


def _described(metadata: Mapping[Any, Any]) -> str | None:
    text = metadata.get("description")
    return text if isinstance(text, str) else None


def _attrs_fields(cls: Any) -> Iterator[FieldSpec]:
    hints = _hints(cls)
    for each in cls.__attrs_attrs__:
        hint = hints.get(each.name, Any if each.type is None else each.type)
        factory = each.default is not NOTHING and hasattr(each.default, "takes_self")
        yield FieldSpec(
            key=(each.alias or each.name.lstrip("_")) if each.init else each.name,
            attribute=each.name,
            hint=hint,
            default=NOTHING if factory else each.default,
            required=each.default is NOTHING,
            given=each.init,
            description=_described(each.metadata),
        )


def _dataclass_fields(cls: Any) -> Iterator[FieldSpec]:
    from dataclasses import MISSING, fields

    hints = _hints(cls)
    declared = {each.name: each for each in fields(cls)}
    for name, each in cls.__dataclass_fields__.items():
        if name not in declared and each._field_type.name == "_FIELD_INITVAR":
            raise Unsupported(f"{cls.__name__} takes {name} as an InitVar, which it does not keep")
    for name, each in declared.items():
        yield FieldSpec(
            key=name,
            attribute=name,
            hint=hints[name],
            default=NOTHING if each.default is MISSING else each.default,
            required=each.default is MISSING and each.default_factory is MISSING,
            given=each.init,
            description=_described(each.metadata),
        )


def _named_tuple_fields(cls: Any) -> Iterator[FieldSpec]:
    hints = _hints(cls)
    for name in cls._fields:
        yield FieldSpec(
            key=name,
            attribute=name,
            hint=hints.get(name, Any),
            default=cls._field_defaults.get(name, NOTHING),
            required=name not in cls._field_defaults,
        )


def _marker(hint: Any) -> str | None:
    # By name: typing_extensions has its own ones on Python 3.10.
    origin = getattr(hint, "__origin__", None)
    return getattr(origin, "_name", None) if hasattr(hint, "__args__") else None


def _unmarked(hint: Any, required: bool) -> tuple[Any, bool]:
    marker = _marker(hint)
    if marker not in ("Required", "NotRequired", "ReadOnly"):
        return hint, required
    inner = hint.__args__[0]
    return _unmarked(inner, required if marker == "ReadOnly" else marker == "Required")


def _typed_dict_fields(cls: Any) -> Iterator[FieldSpec]:
    for name, marked in _hints(cls).items():
        # The marker first: with postponed annotations the class has not seen it.
        hint, required = _unmarked(marked, name in cls.__required_keys__)
        yield FieldSpec(key=name, attribute=name, hint=hint, default=NOTHING, required=required)


def _reader(cls: type) -> Callable[[Any], Iterator[FieldSpec]] | None:
    if is_typed_dict(cls):
        return _typed_dict_fields
    if "__attrs_attrs__" in vars(cls):
        return _attrs_fields
    if hasattr(cls, "__dataclass_fields__"):
        return _dataclass_fields
    return _named_tuple_fields if _is_named_tuple(cls) else None


def read_fields(cls: type) -> tuple[FieldSpec, ...] | None:
    """List a class's fields, or None where it is no class made of fields.

    Raises:
        Unsupported: A type cannot be resolved, or the class cannot be made from its fields.
    """
    reader = _reader(cls)
    return None if reader is None else tuple(reader(cls))


def class_docstring(cls: type) -> Docstring:
    """Read a class's own docstring; what ``dataclass`` and ``NamedTuple`` write is none."""
    text = vars(cls).get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        return Docstring()
    return parse_docstring(text)
