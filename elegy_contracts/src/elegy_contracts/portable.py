"""What belongs to one host and is never portable: seven kinds of things, found by their names.

Source: docs/elegy.md, "Crystallized capabilities".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from elegy_contracts.finding import Finding, pointer
from elegy_contracts.spelling import snake

# What a name means, however it is spelled; the first that fits names the kind.
HOST_ONLY: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "ids of workspaces, goals, runs and evidence",
        re.compile(r"(workspace|goal|run|evidence|session|call)_?(id|ref)s?|evidence_refs?"),
    ),
    (
        "approval records and review decisions",
        re.compile(r"approvals?(_(id|record|state|decision)s?)?|(review|user)_decisions?|reviews"),
    ),
    (
        "trust decisions and policy profiles",
        re.compile(r"trust(_(decision|level|state)s?)?|trusted(_by)?|policy_profiles?"),
    ),
    (
        "secret references and values",
        re.compile(
            r"secret_?(ref|value|binding)s?|secrets|password|api_?key|token|credentials?|private_key"
        ),
    ),
    (
        "the state of dependency probes",
        re.compile(
            r"(dependency_)?probes?(_(state|result|status)s?)?|resolved_path|installed_path"
        ),
    ),
    (
        "adapter sessions and bindings",
        re.compile(
            r"adapter_?(session|handle|binding)s?(_(id|state|handle)s?)?|bindings?(_state)?"
        ),
    ),
    (
        "fallback, circuit breaker and failure counters",
        re.compile(
            r"fallback(_(state|policy))?|circuit(_breaker)?(_state)?"
            r"|breaker(_state)?|(failure|success|error)_count(er)?s?"
        ),
    ),
)
_SECRET_VALUE = re.compile(
    r"^(env|file|keyring|secret|vault):(?://)?\S+$"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(sk|ghp|gho|xox[abp]|AKIA)[-_A-Za-z0-9]{16,}\b"
)
# Below these, names are of the tool's own data and not of the definition.
_FREE = frozenset({"inputSchema", "outputSchema", "schema", "input", "output", "content"})


def host_only(data: Any) -> Iterator[Finding]:
    """Find what of a definition belongs to one host.

    Args:
        data: The definition, in any spelling. Schemas and examples keep the names of their own;
            texts in them are looked at for secrets.
    """
    todo: list[tuple[Any, tuple[str | int, ...], bool]] = [(data, (), False)]
    while todo:
        value, path, free = todo.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                kind = "" if free else kind_of(name)
                if kind:
                    text = f"{name} belongs to {kind}, which stay with their host"
                    yield Finding(code="host_only", message=text, path=pointer(*path, name))
                else:
                    todo.append((inner, (*path, name), free or name in _FREE))
        elif isinstance(value, list):
            todo += [(inner, (*path, at), free) for at, inner in enumerate(value)]
        elif isinstance(value, str) and _SECRET_VALUE.search(value):
            text = "it looks like a secret or a reference to one, which stay with their host"
            yield Finding(code="host_only", message=text, path=pointer(*path))


def plain_url(url: str) -> str:
    """Return a URL without what may hold a secret: user, password, query, fragment.

    Empty where it is no absolute URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme and host else ""


def kind_of(name: str) -> str:
    """Return which kind of host-only things a name is of; empty where it is of none."""
    plain = snake(name.replace("-", "_"))
    return next((kind for kind, names in HOST_ONLY if names.fullmatch(plain)), "")
