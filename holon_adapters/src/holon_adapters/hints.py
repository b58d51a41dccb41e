"""Hints of packages: what one proposes to bind, held against what the operator says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holon_core.errors import Refused, Rejected
from holon_core.records.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holon_core.plugins.host import PluginHost

HINTED = frozenset({"adapter", "capability", "description", "operation", "package", "server"})
PACKAGES = "plugin_packages"


class Hints:
    """Looks hints up in the packages that propose them.

    Args:
        host: Of the lane; packages are a service of another one.
    """

    def __init__(self, host: PluginHost) -> None:
        self._host = host

    def proposal(self, hint: Mapping[str, Any], adapter: str | None) -> Mapping[str, Any]:
        """Return the one proposal that a hint means, whole.

        Args:
            hint: As ``plugin-package/read`` shows it, or as little of it as tells it from others;
                one without a package stands for itself.
            adapter: Which adapter the operator names.

        Raises:
            Rejected: It says what no hint may, or the package proposes no such binding, or
                several.
        """
        beyond = sorted(hint.keys() - HINTED)
        if beyond:
            text = (
                "a hint proposes adapter and server; secrets, addresses and limits are the host's"
            )
            raise Rejected("binding", [finding(text, f"/hint/{name}") for name in beyond])
        if "package" not in hint:
            return hint
        package = hint["package"]
        wanted = {key: value for key, value in hint.items() if key != "package"}
        if adapter is not None:
            wanted.setdefault("adapter", adapter)
        found = [each for each in self._of(package) if wanted.items() <= each.items()]
        if len(found) != 1:
            say = "several such bindings; say which" if found else "no such binding"
            text = f"the package {package!r:.120} proposes {say}"
            raise Rejected("binding", [finding(text, "/hint/package")])
        return {**found[0], "package": package}

    def _of(self, package: Any) -> list[Mapping[str, Any]]:
        try:
            stored = self._host.service(PACKAGES).read(package)
        except Refused as refusal:
            text = f"its proposals cannot be read: {refusal.failure.message}"
            raise Rejected("binding", [finding(text, "/hint/package")]) from None
        return [dict(each) for each in stored.manifest.get("adapter_bindings", ())]


def check(
    hint: Mapping[str, Any], given: Mapping[str, Any], *, bound_to: str | None = None
) -> None:
    """Hold a package's proposal against what the operator says, which alone counts.

    Where it proposes a server, the operator has to name the same one; which capability runs by
    it is said by a binding of its own.

    Args:
        hint: The proposal.
        given: The operator's words.
        bound_to: The base URL that the adapter has, where it is bound to a capability.

    Raises:
        Rejected: It is another one; with every place.
    """
    findings = list(_differing(hint, given, bound_to))
    if findings:
        raise Rejected("binding", findings)


def _differing(
    hint: Mapping[str, Any], given: Mapping[str, Any], bound_to: str | None
) -> Iterator[Finding]:
    if "adapter" in hint and given.get("name") not in (None, hint["adapter"]):
        yield finding("the hint is for another adapter", "/hint/adapter")
    forwards = "capability" in given or "operation" in given
    for name in ("capability", "operation") if forwards else ():
        if name in hint and hint[name] != given.get(name):
            text = f"the hint is for another {name}; name the one that is meant"
            yield finding(text, f"/hint/{name}")
    server = bound_to if forwards else given.get("server")
    if "server" in hint and server is not None and hint["server"].rstrip("/") != server.rstrip("/"):
        text = "the hint proposes another server; name the one that is meant"
        yield finding(text, "/hint/server")


def finding(message: str, path: str) -> Finding:
    """Say what is wrong with a binding."""
    return Finding(code="config_invalid", message=message, path=path)
