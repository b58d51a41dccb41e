"""Secrets by reference: who resolves one, whether it can be, and fetching it at execution."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.finding import Finding
from holon_core.records.secret import SecretProvider, SecretValue
from holon_core.records.words import Severity
from holon_core.visible import escape_controls

if TYPE_CHECKING:
    from holon_core.records.tool import SecretSlot

MAX_FILE_BYTES = 64 * 1024
MAX_ADVICE = 500
RESERVED = frozenset({"env", "file", "keyring", "secret"})

# Compiled when first used, as most runtimes have no secrets.
_SCHEME = r"[a-z][a-z0-9_-]{0,63}"
_REFERENCE = rf"({_SCHEME}):([^\x00-\x1f\x7f]{{1,1024}})"
_FORM = "a reference is written scheme:rest, e.g. env:NAME"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


class EnvironmentSecrets:
    """``env:NAME``: a variable of this process; an empty one counts as not set."""

    scheme = "env"

    def resolve(self, rest: str) -> str | None:
        """Return the variable's value."""
        return os.environ.get(rest) or None

    def available(self, rest: str) -> bool:
        """Tell whether the variable is set."""
        return bool(os.environ.get(rest))

    def advice(self, rest: str) -> str:
        """Say how to set it; what can't be a variable's name may be a value, and isn't shown."""
        if re.fullmatch(_VARIABLE, rest):
            return f"set the environment variable {rest}"
        return "name an environment variable: env:NAME"


class FileSecrets:
    """``file:/path``, or ``file:name`` in the folder ``secrets`` of the storage root.

    A regular file of UTF-8 text up to 64 KiB; one line end at its end is not part of the value.

    Args:
        folder: Where names are looked up; ``None`` where there is no storage root.
    """

    scheme = "file"

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def resolve(self, rest: str) -> str | None:
        """Return the file's text without the line end at its end."""
        path = self._path(rest)
        if path is None:
            return None
        # Not blocking: the path may name a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            return None
        text = data.decode()
        return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text

    def available(self, rest: str) -> bool:
        """Tell whether a readable regular file of acceptable size is there."""
        path = self._path(rest)
        if path is None or not path.is_file():
            return False
        return 0 < path.stat().st_size <= MAX_FILE_BYTES and os.access(path, os.R_OK)

    def advice(self, rest: str) -> str:
        """Say where to put the value."""
        path = self._path(rest)
        if path is None:
            return "name an absolute path, or a file in the storage root's folder secrets"
        return f"put the value, up to {MAX_FILE_BYTES} bytes of UTF-8, into the file {path}"

    def findings(self, rest: str) -> tuple[Finding, ...]:
        """Warn of a file that every user of the machine can read."""
        path = self._path(rest)
        if path is None or not path.is_file() or not path.stat().st_mode & stat.S_IROTH:
            return ()
        text = f"every user can read the secret in {path}; chmod 600 it"
        return (Finding(code="config_invalid", message=text, severity=Severity.WARNING),)

    def _path(self, rest: str) -> Path | None:
        path = Path(rest)
        if path.is_absolute():
            return path
        return None if self._folder is None or ".." in path.parts else self._folder / path


class KeyringSecrets:
    """``keyring:service/user``: the system's keyring, by the extra ``keyring``."""

    scheme = "keyring"

    def resolve(self, rest: str) -> str | None:
        """Return the password that the keyring has for a service and a user."""
        import keyring

        service, _, user = rest.rpartition("/")
        return keyring.get_password(service, user) or None if service and user else None

    def available(self, rest: str) -> bool:
        """Tell whether the keyring has it; there is no way to ask that without fetching."""
        return self.resolve(rest) is not None

    def advice(self, rest: str) -> str:
        """Say how to store it."""
        try:
            import keyring  # noqa: F401
        except ImportError:
            return "install holon-core[keyring]"
        service, _, user = rest.rpartition("/")
        if not service or not user:
            return "name a service and a user: keyring:service/user"
        return f"store it with: keyring set {service} {user}"


def reference_problem(ref: str) -> str | None:
    """Say what is wrong with how a reference is written.

    It is never repeated: what stands there by mistake may be the secret itself.
    """
    return None if re.fullmatch(_REFERENCE, ref) else _FORM


def of_slot(problem: StructuredFailure, slot: SecretSlot) -> StructuredFailure:
    """Name the slot whose reference has no value."""
    details = {**problem.details, "slot": slot.name}
    return evolve(problem, message=f"the secret {slot.name}: {problem.message}", details=details)


def builtin_providers(folder: Path | None) -> tuple[SecretProvider, ...]:
    """Return the providers of the core.

    Args:
        folder: ``secrets`` in the storage root; ``None`` where there is no root.
    """
    return (EnvironmentSecrets(), FileSecrets(folder), KeyringSecrets())


class SecretResolver:
    """Resolves references ``scheme:rest``; no text that it makes ever holds a value.

    Args:
        providers: The core's, then those of plugins. Of two with one scheme neither counts,
            except that the core's own never lose; ``findings`` says which were left out.
        bindings: Names of ``holon.toml``, ``[secrets]``, for references ``secret:name``; each
            names a reference of another scheme.
    """

    def __init__(
        self, providers: Sequence[SecretProvider], bindings: Mapping[str, str] | None = None
    ) -> None:
        self._bindings = dict(bindings or {})
        self._providers, self.findings = _by_scheme(providers)

    @property
    def references(self) -> tuple[str, ...]:
        """The references that ``holon.toml`` names."""
        return tuple(f"secret:{name}" for name in self._bindings)

    def check(self, ref: str) -> StructuredFailure | None:
        """Return ``secret_unresolved`` where a reference has no value, as far as can be told.

        No value is fetched, except where a provider can't tell otherwise (a keyring).
        """
        found = self._find(ref)
        if isinstance(found, StructuredFailure):
            return found
        provider, rest = found
        try:
            there = provider.available(rest)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _provider_failed(provider, rest, error)
        return None if there is True else _missing(provider, rest)

    def fetch(self, ref: str) -> SecretValue | StructuredFailure:
        """Fetch a value, at execution only.

        Returns:
            The value, or ``secret_unresolved``: a malformed reference, an unknown scheme, no
            value, a provider that fails, or a value too short to be kept out of evidence.
        """
        found = self._find(ref)
        if isinstance(found, StructuredFailure):
            return found
        provider, rest = found
        try:
            value = provider.resolve(rest)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _provider_failed(provider, rest, error)
        if type(value) is not str or not value:
            return _missing(provider, rest)
        from holon_core.guard.secret_forms import unusable

        reason = unusable(value)
        if reason is not None:
            return _unresolved(f"the value cannot be kept out of evidence: {reason}", provider)
        return SecretValue(ref, value)

    def warnings(self, ref: str) -> tuple[Finding, ...]:
        """Return what a provider has to say of how a reference's value is kept."""
        found = self._find(ref)
        if isinstance(found, StructuredFailure):
            return ()
        look = getattr(found[0], "findings", None)
        return () if look is None else tuple(look(found[1]))

    def _find(self, ref: str) -> tuple[SecretProvider, str] | StructuredFailure:
        parts = re.fullmatch(_REFERENCE, ref)
        if parts is not None and parts[1] == "secret":
            bound = self._bindings.get(parts[2])
            if bound is None:
                return _unresolved(f"bind {parts[2]!r} under [secrets] in holon.toml")
            parts = re.fullmatch(_REFERENCE, bound)
        # A malformed reference, or one of an unknown scheme, may be a value put there by
        # mistake: it is never repeated.
        if parts is None:
            return _unresolved(_FORM)
        provider = self._providers.get(parts[1])
        if provider is None:
            known = ", ".join(sorted(self._providers))
            return _unresolved(f"no provider for the scheme of this reference; there are: {known}")
        return provider, parts[2]


def _by_scheme(
    providers: Iterable[SecretProvider],
) -> tuple[dict[str, SecretProvider], tuple[Finding, ...]]:
    taken: dict[str, list[SecretProvider]] = {}
    findings = []
    for provider in providers:
        scheme = getattr(provider, "scheme", None)
        if not isinstance(scheme, str) or not re.fullmatch(_SCHEME, scheme):
            findings.append(_left_out(provider, "its scheme is not a plain lower-case word"))
        elif scheme in RESERVED and not isinstance(provider, _OWN):
            findings.append(_left_out(provider, f"the scheme {scheme} belongs to the core"))
        else:
            taken.setdefault(scheme, []).append(provider)
    for scheme, several in taken.items():
        if len(several) > 1:
            findings += [_left_out(each, f"several offer the scheme {scheme}") for each in several]
    single = {scheme: several[0] for scheme, several in taken.items() if len(several) == 1}
    return single, tuple(findings)


_OWN = (EnvironmentSecrets, FileSecrets, KeyringSecrets)


def _left_out(provider: object, reason: str) -> Finding:
    text = f"secret provider {type(provider).__name__} is left out: {reason}"
    return Finding(code="plugin_broken", message=text)


def _missing(provider: SecretProvider, rest: str) -> StructuredFailure:
    advice = _advice(provider, rest)
    text = advice or f"the provider {provider.scheme} has no value for this reference"
    return _unresolved(text, provider)


def _provider_failed(
    provider: SecretProvider, rest: str, error: BaseException
) -> StructuredFailure:
    # Of the exception only its type: its text may hold the value.
    name, advice = type(error).__name__, _advice(provider, rest)
    text = f"the provider {provider.scheme} raised {name}" + (f"; {advice}" if advice else "")
    return _unresolved(text, provider, exception=name)


def _advice(provider: SecretProvider, rest: str) -> str | None:
    advise = getattr(provider, "advice", None)
    if advise is None:
        return None
    try:
        text = advise(rest)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
    return escape_controls(str.__str__(text)[:MAX_ADVICE]) if isinstance(text, str) else None


def _unresolved(
    text: str, provider: SecretProvider | None = None, **details: str
) -> StructuredFailure:
    if provider is not None:
        details["provider"] = provider.scheme
    return failure("secret_unresolved", text, **details)
