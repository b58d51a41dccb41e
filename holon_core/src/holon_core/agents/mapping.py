"""The way back: from arguments in the form that a provider was shown to those of the tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Plan:
    """How values of one place are turned back, by what they are.

    ``drop`` names properties whose null stands for "left out". ``names`` gives the tool's own
    names of properties that were shown under another. What a plan does not speak of is unchanged.
    """

    drop: frozenset[str] = frozenset()
    names: Mapping[str, str] = field(factory=dict)
    properties: Mapping[str, Plan] = field(factory=dict)
    items: Plan | None = None

    def packed(self) -> Any:
        """Return it as plain values, which cost the collection of garbage nothing; see ``of``."""
        if self.trivial:
            return None
        properties = {name: plan.packed() for name, plan in self.properties.items()}
        items = None if self.items is None else self.items.packed()
        return sorted(self.drop), dict(self.names), properties, items

    @classmethod
    def of(cls, packed: Any) -> Plan:
        """Return the plan that ``packed`` made these values of."""
        if packed is None:
            return NOTHING
        drop, names, properties, items = packed
        return cls(
            drop=frozenset(drop),
            names=names,
            properties={name: cls.of(each) for name, each in properties.items()},
            items=None if items is None else cls.of(items),
        )

    @property
    def trivial(self) -> bool:
        """Whether it changes nothing."""
        return not (self.drop or self.names or self.properties or self.items)

    @property
    def drops(self) -> bool:
        """Whether a null anywhere stands for something left out."""
        inner = [*self.properties.values(), *([] if self.items is None else [self.items])]
        return bool(self.drop) or any(plan.drops for plan in inner)

    def back(self, value: Any) -> Any:
        """Turn a value back; one of another type than was shown is returned as it is."""
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list) and self.items is not None:
            return [self.items.back(each) for each in value]
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, held in value.items():
            if held is None and name in self.drop:
                continue
            plan = self.properties.get(name)
            own = self.names.get(name, name)
            # Where both names were sent, the one that was not shown stays unknown to the tool.
            own = name if own in made or (own != name and own in value) else own
            made[own] = held if plan is None else plan.back(held)
        return made

    def there(self, value: Any) -> Any:
        """Turn a value of the tool into the form that is shown; the inverse of ``back``."""
        if isinstance(value, dict):
            shown = {own: name for name, own in self.names.items()}
            made: dict[str, Any] = {}
            for own, held in value.items():
                name: str = shown.get(own) or own
                plan = self.properties.get(name)
                made[name] = held if plan is None else plan.there(held)
            left_out = sorted(self.drop - made.keys())
            return {**made, **dict.fromkeys(left_out)}
        if isinstance(value, list) and self.items is not None:
            return [self.items.there(each) for each in value]
        return value


NOTHING = Plan()


def union(plans: Iterable[Plan]) -> Plan:
    """Join plans of alternatives that give names alone, which no two give differently."""
    joined = NOTHING
    for plan in plans:
        if plan.trivial:
            continue
        inner = [each.items for each in (joined, plan) if each.items is not None]
        both = set(joined.properties) & set(plan.properties)
        joined = Plan(
            names={**joined.names, **plan.names},
            properties={
                **joined.properties,
                **plan.properties,
                **{name: union([joined.properties[name], plan.properties[name]]) for name in both},
            },
            items=union(inner) if inner else None,
        )
    return joined
