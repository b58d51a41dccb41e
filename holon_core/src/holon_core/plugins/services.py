"""Services that plugins offer to hosts and to one another, by name and by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holon_core.errors import Misuse, Refused
from holon_core.records.failure import failure

SERVICE_NAME = r"[a-z][a-z0-9_.-]{0,63}"


class Services:
    """The services of one runtime.

    Args:
        by_name: Each service under the name that it alone has.
    """

    def __init__(self, by_name: Mapping[str, Any]) -> None:
        self._by_name = dict(by_name)

    def find(self, wanted: str | type[Any]) -> Any:
        """Return a service.

        Args:
            wanted: Its name, or a type that exactly one service is an instance of.

        Raises:
            Refused: ``dependency_missing``: nobody offers it.
            Misuse: Several services are of the type.
        """
        if isinstance(wanted, str):
            if wanted in self._by_name:
                return self._by_name[wanted]
            what = wanted
        else:
            what = wanted.__name__
            fitting = [name for name, each in self._by_name.items() if isinstance(each, wanted)]
            if len(fitting) > 1:
                raise Misuse(f"several services are a {what}: {', '.join(sorted(fitting))}")
            if fitting:
                return self._by_name[fitting[0]]
        text = f"no plugin here offers the service {what}; install or enable the one that does"
        raise Refused(failure("dependency_missing", text, service=what))
