"""Secret references: who resolves them, what is said when nobody can, and opaque values."""

import copy
import html
import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import pytest

from holon_core.errors import StructuredFailureKind
from holon_core.guard.secrets import SecretResolver, builtin_providers
from holon_core.records.failure import StructuredFailure
from holon_core.records.secret import SecretProvider, SecretValue
from holon_core.records.words import Severity
from support import label

VALUE = "s3cr3t/Value+1="


class Vault:
    """A provider of somebody else's, which answers what a test tells it."""

    def __init__(self, scheme: object = "vault", answer: object = VALUE) -> None:
        self.scheme = scheme
        self.answer = answer

    def resolve(self, rest: str) -> str | None:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[return-value]

    def available(self, rest: str) -> bool:
        return self.resolve(rest) is not None


class AdvisingVault(Vault):
    def __init__(self, advice: object) -> None:
        super().__init__(answer=None)
        self.said = advice

    def advice(self, rest: str) -> object:
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said


class MemoryKeyring(keyring.backend.KeyringBackend):
    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return VALUE if (service, username) == ("shop/eu", "api") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


@pytest.fixture
def memory_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    yield
    keyring.set_keyring(before)


def resolver(*more: object, folder: Path | None = None, **bindings: str) -> SecretResolver:
    return SecretResolver([*builtin_providers(folder), *more], bindings)  # type: ignore[list-item]


def refused(answer: SecretValue | StructuredFailure | None) -> StructuredFailure:
    assert isinstance(answer, StructuredFailure)
    assert answer.code == "secret_unresolved"
    assert answer.kind is StructuredFailureKind.SECRET_UNRESOLVED
    assert VALUE not in repr(answer)
    return answer


def revealed(answer: SecretValue | StructuredFailure) -> str:
    assert isinstance(answer, SecretValue)
    return answer.reveal()


def test_a_variable_of_the_environment_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """``env:NAME`` is looked up when it is asked for."""
    monkeypatch.setenv("STRIPE_KEY", VALUE)

    assert resolver().check("env:STRIPE_KEY") is None
    assert revealed(resolver().fetch("env:STRIPE_KEY")) == VALUE


@pytest.mark.parametrize("value", [None, ""], ids=["unset", "empty"])
def test_a_missing_variable_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Unset and empty are the same: nothing is there to use."""
    monkeypatch.delenv("STRIPE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("STRIPE_KEY", value)

    for answer in (resolver().check("env:STRIPE_KEY"), resolver().fetch("env:STRIPE_KEY")):
        assert refused(answer).message == "set the environment variable STRIPE_KEY"
        assert refused(answer).details == {"provider": "env"}


def test_a_value_in_place_of_a_variables_name_is_not_repeated() -> None:
    """Somebody writes the secret itself behind ``env:``."""
    assert "NAME" in refused(resolver().fetch(f"env:{VALUE}")).message


@pytest.mark.parametrize("ref", [VALUE, "", "env:", ":x", "ENV:X", "env:a\nb", f"other:{VALUE}"])
def test_a_reference_that_nobody_knows_is_refused_and_not_repeated(ref: str) -> None:
    """A malformed reference may be a value that was put there by mistake."""
    for answer in (resolver().check(ref), resolver().fetch(ref)):
        message = refused(answer).message
        assert "scheme" in message
        assert ref[4:] not in message or not ref[4:]


def test_an_unknown_scheme_is_answered_with_the_known_ones() -> None:
    """Whoever mistyped it sees what there is."""
    assert "env, file, keyring" in refused(resolver().check("envv:X")).message


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"value", "value"),
        (b"value\n", "value"),
        (b"value\r\n", "value"),
        (b"value\n\n", "value\n"),
        (b"value\r", "value\r"),
        ("wärt".encode(), "wärt"),
        (b"x" * 65_536, "x" * 65_536),
    ],
    ids=["bare", "lf", "crlf", "only-one", "lone-cr", "utf8", "largest"],
)
def test_a_file_is_read_without_the_line_end_at_its_end(
    tmp_path: Path, content: bytes, value: str
) -> None:
    """Editors end a file with a line end that is not part of the secret."""
    (tmp_path / "key").write_bytes(content)

    for ref in ("file:key", f"file:{tmp_path}/key"):
        made = resolver(folder=tmp_path)
        assert made.check(ref) is None
        assert revealed(made.fetch(ref)) == value


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        Path.mkdir,
        make_pipe,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"x" * 65_537),
    ],
    ids=["absent", "folder", "pipe", "empty", "too-large"],
)
def test_what_is_no_usable_file_is_refused_with_its_place(tmp_path: Path, make: object) -> None:
    """Only a regular file of 1 byte to 64 KiB is read, and nothing waits for a pipe."""
    path = tmp_path / "key"
    make(path)  # type: ignore[operator]

    for answer in (
        resolver(folder=tmp_path).check("file:key"),
        resolver(folder=tmp_path).fetch("file:key"),
    ):
        assert str(path) in refused(answer).message


def test_a_file_that_is_no_utf8_is_refused_by_the_kind_of_fault(tmp_path: Path) -> None:
    """The text of the exception would hold the bytes."""
    (tmp_path / "key").write_bytes(b"s3cr3t\xff")

    answer = refused(resolver(folder=tmp_path).fetch("file:key"))

    assert "UnicodeDecodeError" in answer.message
    assert "s3cr3t" not in repr(answer)


@pytest.mark.parametrize("ref", ["file:key", "file:../key"])
def test_a_relative_name_stays_in_the_secrets_folder(tmp_path: Path, ref: str) -> None:
    """Without a storage root there is no such folder, and no name leads out of it."""
    (tmp_path / "key").write_text("value")
    folder = tmp_path / "secrets" if ".." in ref else None

    for answer in (resolver(folder=folder).check(ref), resolver(folder=folder).fetch(ref)):
        assert "absolute path" in refused(answer).message


def test_a_file_that_everybody_can_read_gets_a_warning(tmp_path: Path) -> None:
    """It is used all the same: the operator's machine is the operator's."""
    path = tmp_path / "key"
    path.write_text("value")
    made = resolver(folder=tmp_path)
    path.chmod(0o600)
    assert made.warnings("file:key") == ()

    path.chmod(0o644)

    (finding,) = made.warnings("file:key")
    assert finding.severity is Severity.WARNING
    assert "chmod 600" in finding.message
    assert revealed(made.fetch("file:key")) == "value"


def test_there_is_nothing_to_warn_of_where_nothing_is(tmp_path: Path) -> None:
    """Warnings speak of values that are there."""
    made = resolver(folder=tmp_path)

    for ref in ("file:absent", "file:../x", "env:X", "nonsense"):
        assert made.warnings(ref) == ()


@pytest.mark.usefixtures("memory_keyring")
def test_the_keyring_is_asked_for_service_and_user() -> None:
    """The user is what stands behind the last slash."""
    assert resolver().check("keyring:shop/eu/api") is None
    assert revealed(resolver().fetch("keyring:shop/eu/api")) == VALUE
    assert "keyring set shop/eu other" in refused(resolver().fetch("keyring:shop/eu/other")).message
    for ref in ("keyring:alone", "keyring:/user", "keyring:service/"):
        assert "keyring:service/user" in refused(resolver().check(ref)).message


def test_without_the_keyring_library_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core works without it."""
    monkeypatch.setitem(sys.modules, "keyring", None)

    answer = refused(resolver().check("keyring:shop/api"))

    assert "install holon-core[keyring]" in answer.message
    assert answer.details["exception"] == "ModuleNotFoundError"


def test_a_bound_name_stands_for_its_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """``holon.toml`` names secrets once for all tools."""
    monkeypatch.setenv("STRIPE_KEY", VALUE)
    made = resolver(stripe="env:STRIPE_KEY", loop="secret:loop", bad="no reference")

    assert made.check("secret:stripe") is None
    assert revealed(made.fetch("secret:stripe")) == VALUE
    assert "[secrets]" in refused(made.fetch("secret:other")).message
    refused(made.fetch("secret:loop"))
    refused(made.check("secret:bad"))


@pytest.mark.parametrize(
    "error",
    [ValueError(VALUE), SystemExit(VALUE), GeneratorExit(), MemoryError()],
    ids=lambda e: type(e).__name__,
)
def test_whatever_a_provider_raises_only_its_type_is_told(error: BaseException) -> None:
    """The text of an exception may hold the value."""
    made = resolver(Vault(answer=error))

    for answer in (made.check("vault:x"), made.fetch("vault:x")):
        failure = refused(answer)
        assert failure.message == f"the provider vault raised {type(error).__name__}"
        assert failure.details == {"provider": "vault", "exception": type(error).__name__}


def test_an_interrupt_by_the_keyboard_passes() -> None:
    """Who presses Ctrl-C means the program, not the secret."""
    made = resolver(Vault(answer=KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        made.check("vault:x")
    with pytest.raises(KeyboardInterrupt):
        made.fetch("vault:x")
    failing = AdvisingVault(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        resolver(failing).fetch("vault:x")


@pytest.mark.parametrize("answer", [None, "", b"bytes", 7, True], ids=label)
def test_what_is_no_text_is_no_value(answer: object) -> None:
    """A provider answers with text or with nothing."""
    failure = refused(resolver(Vault(answer=answer)).fetch("vault:x"))

    assert failure.message == "the provider vault has no value for this reference"


@pytest.mark.parametrize("answer", ["abc", "\udcff" * 8], ids=["short", "no-text"])
def test_a_value_that_cannot_be_redacted_is_not_handed_out(answer: str) -> None:
    """What can't be kept out of evidence is not used at all."""
    failure = refused(resolver(Vault(answer=answer)).fetch("vault:x"))

    assert "evidence" in failure.message
    assert answer not in repr(failure)


def test_a_provider_may_say_how_to_set_the_value() -> None:
    """It knows its own place best."""
    assert refused(resolver(AdvisingVault("ask Ada")).fetch("vault:x")).message == "ask Ada"


@pytest.mark.parametrize("advice", [None, 7, ValueError(VALUE), SystemExit()], ids=label)
def test_useless_advice_is_left_away(advice: object) -> None:
    """A provider that fails to advise fails no further."""
    failure = refused(resolver(AdvisingVault(advice)).fetch("vault:x"))

    assert failure.message == "the provider vault has no value for this reference"


@pytest.mark.parametrize(
    "scheme", ["env", "secret", "keyring", "Vault", "", None, "a:b"], ids=label
)
def test_a_provider_with_a_taken_or_odd_scheme_is_left_out(
    monkeypatch: pytest.MonkeyPatch, scheme: object
) -> None:
    """The core's schemes never lose to a stranger."""
    monkeypatch.setenv("STRIPE_KEY", "the real value")
    made = resolver(Vault(scheme))

    (finding,) = made.findings
    assert finding.code == "plugin_broken"
    assert "Vault" in finding.message
    assert revealed(made.fetch("env:STRIPE_KEY")) == "the real value"


def test_of_two_strangers_with_one_scheme_neither_counts() -> None:
    """Which of them was meant can't be told."""
    made = resolver(Vault(), Vault(answer="another value"))

    assert len(made.findings) == 2
    assert "no provider" in refused(made.fetch("vault:x")).message


def test_the_providers_of_the_core_fit_the_protocol() -> None:
    """Whoever writes one can copy them."""
    assert all(isinstance(each, SecretProvider) for each in (*builtin_providers(None), Vault()))


def test_no_text_made_of_a_value_shows_it() -> None:
    """AB-EVIDENCE-001: repr, str, format, containers and HTML."""
    value = SecretValue("env:<KEY>", VALUE)

    for text in (
        repr(value),
        str(value),
        f"{value}",
        f"{value:>40}",
        f"{value!a}",
        "%s" % value,  # noqa: UP031
        repr([value]),
        repr({"k": value}),
        value._repr_html_(),
        str(dir(value)),
    ):
        assert VALUE not in text
    assert repr(value) == "<SecretValue env:<KEY>>"
    assert value._repr_html_() == html.escape(repr(value))
    assert value.reveal() == VALUE


def test_a_value_goes_into_no_file_and_no_other_process() -> None:
    """It can be neither pickled nor written as JSON."""
    value = SecretValue("env:KEY", VALUE)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(value, protocol)
    with pytest.raises(TypeError, match="not JSON"):
        json.dumps(value)
    with pytest.raises(TypeError, match="no state"):
        value.__getstate__()
    assert not hasattr(value, "__dict__")


def test_a_copy_of_a_value_is_the_value() -> None:
    """Copying makes no second place where it lies."""
    value = SecretValue("env:KEY", VALUE)

    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value
