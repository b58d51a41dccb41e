"""The exact invocation of an imported capability, as data: for previews, and for hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from elegy_contracts.templates import Invocation, TemplateError, render
from holon_core.errors import Refused
from holon_core.records.failure import failure

if TYPE_CHECKING:
    from holon_core.records.skill import CapabilityBindingRecord


def invocation_of(
    binding: CapabilityBindingRecord, arguments: Mapping[str, Any]
) -> Invocation | None:
    """Put arguments into the template of a capability.

    Args:
        binding: How it is bound.
        arguments: Valid by its input schema.

    Returns:
        Program, argument vector and standard input; ``None`` where nothing says how it is
        invoked.

    Raises:
        TemplateError: A value would be read as an option, or cannot be an argument.
    """
    said = binding.implementation
    if not said:
        return None
    form = said.get("stdin_format")
    if form == "object":
        stdin = json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":")).encode()
        return Invocation(
            executable=said["executable"],
            arguments=tuple(said["arguments"]),
            stdin=stdin,
            used=frozenset(arguments),
        )
    return render(
        said["executable"],
        said["arguments"],
        arguments,
        stdin_format=form,
        dash_names=said.get("dash_names", ()),
    )


def preview_of(
    binding: CapabilityBindingRecord | None, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Show the invocation, or why there is none; nothing is started.

    Raises:
        Refused: ``arguments_invalid``: a value cannot be put into the template.
    """
    if binding is None:
        return {"refused": "the binding is gone; import the skill again"}
    try:
        made = invocation_of(binding, arguments)
    except TemplateError as error:
        first = error.findings[0]
        raise Refused(failure("arguments_invalid", first.message, path=first.path)) from None
    if made is None:
        return {"refused": "the definition does not say how it is invoked"}
    shown: dict[str, Any] = {
        "argv": [made.executable, *made.arguments],
        "stdin": None if made.stdin is None else made.stdin.decode(),
        "timeout_s": binding.implementation.get("timeout_s"),
    }
    return shown
