"""Codecs of classes made of fields: closed JSON objects, recursive ones included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.functions.codec import ArgumentRefused, Codec, Unsupported, plain
from holon_core.functions.docstrings import Docstring
from holon_core.functions.fields import FieldSpec, class_docstring, is_typed_dict, read_fields
from holon_core.functions.objects import default_of, object_schema

if TYPE_CHECKING:
    from holon_core.functions.hints import Compiler


@frozen(kw_only=True, eq=False, repr=False)
class _Field:
    key: str
    attribute: str
    codec: Codec
    required: bool


class Form:
    """A class seen as a JSON object; its fields come later, since they may name it."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.is_mapping = is_typed_dict(cls)
        self.fields: dict[str, _Field] = {}
        self._required: frozenset[str] = frozenset()

    def complete(self, fields: list[_Field]) -> None:
        """Set the fields, after the types of all of them are compiled."""
        self.fields = {each.key: each for each in fields}
        self._required = frozenset(each.key for each in fields if each.required)

    def match(self, value: Any) -> bool:
        """Tell whether a JSON value has the class's shape."""
        if type(value) is not dict or not self._required <= value.keys():
            return False
        fields = self.fields
        return all(key in fields and fields[key].codec.match(value[key]) for key in value)

    def owns(self, value: Any) -> bool:
        """Tell whether a Python value is of the class."""
        if self.is_mapping:
            return isinstance(value, dict) and self._required <= value.keys() <= self.fields.keys()
        return isinstance(value, self.cls)

    def load(self, value: Any) -> Any:
        """Make the class from a JSON object."""
        if type(value) is not dict:
            raise ArgumentRefused(f"an object is needed for {self.cls.__name__}")
        return self._make({key: self._load_field(key, item) for key, item in value.items()})

    def _load_field(self, key: str, item: Any) -> Any:
        try:
            load = self.fields[key].codec.load
        except KeyError:
            raise ArgumentRefused(f"{self.cls.__name__} has no such field").under(key) from None
        try:
            return item if load is None else load(item)
        except ArgumentRefused as refused:
            raise refused.under(key) from refused.__cause__

    def _make(self, values: dict[str, Any]) -> Any:
        try:
            return self.cls(**values)
        except Exception as error:
            # The error's own text may hold the value; its type does not.
            kind = type(error).__name__
            raise ArgumentRefused(f"{self.cls.__name__} refuses the values ({kind})") from error

    def dump(self, value: Any) -> Any:
        """Convert a value of the class to JSON, by its declared fields alone."""
        if self.is_mapping:
            return self._dump_mapping(value)
        if not isinstance(value, self.cls):
            return plain(value)
        return {
            key: each.codec.to_json(getattr(value, each.attribute))
            for key, each in self.fields.items()
        }

    def _dump_mapping(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return plain(value)
        fields = self.fields
        return {
            key: (fields[key].codec.to_json if key in fields else plain)(item)
            for key, item in value.items()
        }


def _wanted(spec: FieldSpec, *, output: bool) -> bool:
    return spec.given or (output and not spec.attribute.startswith("_"))


def _field(compiler: Compiler, cls: type, spec: FieldSpec, document: Docstring) -> _Field:
    try:
        codec = compiler.codec(spec.hint)
    except Unsupported as error:
        raise Unsupported(f"field {spec.attribute} of {cls.__name__}: {error}") from error
    text = spec.description or document.parameters.get(spec.attribute)
    if text and (spec.description or "description" not in codec.schema):
        codec.schema["description"] = text
    output = compiler.output and not is_typed_dict(cls)
    if not compiler.output:
        codec.schema.update(default_of(codec, spec.default))
    return _Field(
        key=spec.key,
        attribute=spec.attribute,
        codec=codec,
        required=spec.required or output,
    )


def _body(form: Form, document: Docstring) -> dict[str, Any]:
    fields = form.fields.values()
    schema = object_schema(
        {each.key: each.codec.schema for each in fields},
        [each.key for each in fields if each.required],
    )
    return {"description": document.description, **schema} if document.description else schema


def class_codec(compiler: Compiler, cls: type) -> Codec | None:
    """Give the codec of a class made of fields, or None where it is another kind.

    Raises:
        Unsupported: One of its fields has a type that no schema describes.
    """
    form = compiler.forms.get(cls)
    if form is not None:
        return _codec(form, compiler.definitions.use(cls))
    specs = read_fields(cls)
    if specs is None:
        return None
    form = compiler.forms[cls] = Form(cls)
    node = compiler.definitions.use(cls)
    document = class_docstring(cls)
    wanted = [spec for spec in specs if _wanted(spec, output=compiler.output)]
    try:
        form.complete([_field(compiler, cls, spec, document) for spec in wanted])
    except Unsupported:
        del compiler.forms[cls]  # so that the next use of the class is refused as well
        raise
    compiler.definitions.define(cls, _body(form, document))
    return _codec(form, node)


def _codec(form: Form, node: dict[str, Any]) -> Codec:
    return Codec(
        schema=node,
        kinds=frozenset({dict}),
        match=form.match,
        owns=form.owns,
        load=form.load,
        dump=form.dump,
        is_object=True,
    )
