"""What a provider limits in one request of strict tools, and which tools that leaves without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from holon_core.agents.projection import Rendered
    from holon_core.records.dialect import FunctionDialect


@frozen
class Cost:
    """What a strict schema takes of a request: properties that may be left out, and unions."""

    optional: int = 0
    unions: int = 0


FREE = Cost()


def cost_of(schema: Any) -> Cost:
    """Count what a shown schema takes of a request.

    Args:
        schema: As a provider is shown it: without references.
    """
    optional = unions = 0
    for part in _parts(schema):
        optional += len(part.get("properties", ())) - len(part.get("required", ()))
        unions += "anyOf" in part or isinstance(part.get("type"), list)
    return Cost(optional, unions)


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += part.get("properties", {}).values()
            waiting += part.get("anyOf", ())
            waiting.append(part.get("items"))


def loosened(dialect: FunctionDialect, rendered: Mapping[str, Rendered]) -> dict[str, str]:
    """Say which tools of one request are shown without strict mode, each with the reason.

    A tool that alone passes a limit is left without. Where the others pass it together, all that
    take part in it are, and where more are left than a request takes, all: which of them would
    stay strict depended on what else is shown, and would change with each tool that is added.

    Args:
        dialect: The provider.
        rendered: What is sent, in strict mode where that can express it.
    """
    left = {each: shown for each, shown in rendered.items() if shown.strict}
    out: dict[str, str] = {}
    for name, words, most in (
        ("optional", "properties that may be left out", dialect.max_strict_optional),
        ("unions", "values of several types", dialect.max_strict_unions),
    ):
        if most is None:
            continue
        spent = {each: getattr(shown, name) for each, shown in left.items()}
        fat = {each: number for each, number in spent.items() if number > most}
        for each, number in fat.items():
            out[each] = f"not strict: it has {number} {words}, and a request takes {most}"
            del left[each], spent[each]
        together = sum(spent.values())
        if together > most:
            for each in [each for each, number in spent.items() if number]:
                out[each] = (
                    f"not strict: the strict tools of this request have {together} {words}, and "
                    f"it takes {most}"
                )
                del left[each]
    most = dialect.max_strict_tools
    if most is not None and len(left) > most:
        text = f"not strict: {len(left)} tools of this request could be, and it takes {most}"
        out.update(dict.fromkeys(left, text))
    return out
