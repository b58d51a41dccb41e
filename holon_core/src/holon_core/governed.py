"""Methods of facets that are operations: called from Python, they go the way of the table."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from holon_core.records.caller import CallerContext

P = ParamSpec("P")
T = TypeVar("T")

# What a policy request and a rule's `lane` call every operation; no lane of tools has this name.
OPERATION_LANE = "operation"
# The operation that is being done here; its handler enters the method of the facet once.
_doing: ContextVar[str | None] = ContextVar("holon_operation", default=None)


class Through(Protocol):
    """The way that every operation goes: policy, approval, evidence, and then the work."""

    def __call__(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        /,
        *,
        by: str | CallerContext | None,
    ) -> T:
        """Do an operation for the host, in the name of ``by`` or for that caller."""
        ...


class Facet:
    """What an operation's method stands on; ``through`` is set when a runtime opens.

    ``asker`` is whoever asks all operations of a facet that is one caller's own.
    """

    through: Through | None = None
    asker: CallerContext | None = None

    def asked_for(self, method: str) -> bool:
        """Tell whether an operation is still to be asked about: nobody let it through yet."""
        return self.through is not None and _doing.get() != method

    def governed(
        self,
        method: str,
        params: Mapping[str, Any],
        work: Callable[[], T],
        /,
        *,
        by: str | CallerContext | None,
    ) -> T:
        """Do an operation whose method only the call tells, as ``operation`` does any other."""
        if self.through is not None and self.asked_for(method):
            return self.through(method, params, work, by=by)
        with doing(""):
            return work()


@contextmanager
def doing(method: str) -> Iterator[None]:
    """Say that an operation was let through, so that its own method is not asked again."""
    token = _doing.set(method)
    try:
        yield
    finally:
        _doing.reset(token)


def operation(
    method: str, *, given: Callable[..., Mapping[str, Any]] | None = None, **renamed: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark the method of a facet that does an operation.

    Args:
        method: The operation's ``noun/verb``.
        given: Makes the operation's parameters of the arguments, where names are not enough.
        renamed: Names of the operation's parameters by those of the method, where they differ.
            ``by``, ``caller`` and ``session`` are no parameters but who asks.
    """

    def mark(fn: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(fn)

        @wraps(fn)
        def entered(*args: P.args, **kwargs: P.kwargs) -> T:
            facet: Any = args[0]
            if not facet.asked_for(method):
                with doing(""):
                    return fn(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            named = dict(list(bound.arguments.items())[1:])
            by = _asker(named) or facet.asker
            named = {
                renamed.get(name, name): _plain(value)
                for name, value in named.items()
                if value is not signature.parameters[name].default
            }
            params = named if given is None else given(**named)

            def work() -> T:
                return fn(*args, **kwargs)

            answer: T = facet.through(method, params, work, by=by)
            return answer

        return entered

    return mark


def _asker(named: dict[str, Any]) -> Any:
    """Take who asks out of the arguments: a name, a caller, or the caller of a session."""
    said = named.pop("by", None), named.pop("caller", None), named.pop("session", None)
    session = said[2]  # Or the caller itself, where a method takes either.
    return said[0] or said[1] or getattr(session, "caller", session)


def _plain(value: Any) -> Any:
    """Return an argument as JSON says it, as far as it can."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value
