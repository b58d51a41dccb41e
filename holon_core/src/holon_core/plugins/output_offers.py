"""The classes of structured output that plugins offer: which of them count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.plugins.faults import kind_of, told
from holon_core.plugins.offers import owner_of, single
from holon_core.records.finding import has_errors
from holon_core.structured_output.classes import admitted

if TYPE_CHECKING:
    from holon_core.plugins.offers import Offers
    from holon_core.records.output import OutputClass


def join_output_classes(offers: Offers) -> tuple[OutputClass, ...]:
    """Join the classes of all plugins by id; what does not count is reported.

    Args:
        offers: As they were gathered.
    """
    manager = offers.manager
    if manager is None:
        return ()
    named = []
    for offer in offers.output_classes:
        problem = ""
        try:
            made, findings = admitted(offer.item)
            first = next((each for each in findings if has_errors([each])), None)
            prefix = f"{owner_of(offer.provenance)}."
            if first is not None:
                problem = f"{first.message} at {first.path or '/'}"
            elif not made.id.startswith(prefix):
                problem = f"its id does not begin with {prefix}"
            else:
                named.append((f"output class {made.id}", evolve(offer, item=made)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"it raised {told(error)} when it was read"
        if problem:
            text = f"it offered {kind_of(offer.item)} as an output class: {problem}"
            manager.report(offer.provenance.plugin, offer.provenance, text)
    return tuple(each.item for each in single(manager, named).values())
