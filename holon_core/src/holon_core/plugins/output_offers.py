"""What plugins offer to agents: classes of structured output, and dialects of function calling."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import evolve

from holon_core.plugins.faults import kind_of, told
from holon_core.plugins.offers import owner_of, single
from holon_core.records.dialect import FunctionDialect
from holon_core.records.finding import has_errors
from holon_core.structured_output.classes import admitted

if TYPE_CHECKING:
    from holon_core.plugins.manager import Offer
    from holon_core.plugins.offers import Offers
    from holon_core.records.output import OutputClass


class _NotOffered(Exception):
    """An offer that does not count; the text says why."""


def join_output_classes(offers: Offers) -> tuple[OutputClass, ...]:
    """Join the classes of all plugins by id; what does not count is reported."""
    return _joined(offers, offers.output_classes, what="output class", read=_output_class)


def join_dialects(offers: Offers) -> tuple[FunctionDialect, ...]:
    """Join the dialects of all plugins by id; what does not count is reported."""
    return _joined(offers, offers.dialects, what="dialect", read=_dialect)


def _joined(
    offers: Offers,
    offered: tuple[Offer, ...],
    *,
    what: str,
    read: Callable[[Any, str], Any],
) -> tuple[Any, ...]:
    manager = offers.manager
    if manager is None:
        return ()
    named = []
    for offer in offered:
        problem = ""
        try:
            made = read(offer.item, owner_of(offer.provenance))
            named.append((f"{what} {made.id}", evolve(offer, item=made)))
        except KeyboardInterrupt:
            raise
        except _NotOffered as refused:
            problem = str(refused)
        except BaseException as error:
            problem = f"it raised {told(error)} when it was read"
        if problem:
            text = f"it offered {kind_of(offer.item)} as a {what}: {problem}"
            manager.report(offer.provenance.plugin, offer.provenance, text)
    return tuple(each.item for each in single(manager, named).values())


def _output_class(item: Any, owner: str) -> OutputClass:
    made, findings = admitted(item)
    first = next((each for each in findings if has_errors([each])), None)
    if first is not None:
        raise _NotOffered(f"{first.message} at {first.path or '/'}")
    if not made.id.startswith(f"{owner}."):
        raise _NotOffered(f"its id does not begin with {owner}.")
    return made


def _dialect(item: Any, owner: str) -> FunctionDialect:
    if type(item) is not FunctionDialect:
        raise _NotOffered("FunctionDialect is wanted")
    if item.id != owner and not item.id.startswith((f"{owner}-", f"{owner}.")):
        raise _NotOffered(f"its id does not begin with {owner}")
    paths = (item.call_name, item.call_arguments, item.call_id)
    if not all(type(path) is tuple and all(type(s) is str for s in path) for path in paths):
        raise _NotOffered("call_name, call_arguments and call_id are tuples of names")
    if not item.call_name or not item.call_arguments:
        raise _NotOffered("a call has a name and arguments")
    if item.property_pattern is not None:
        re.compile(item.property_pattern)
    return item
