"""The toolchain: found once per build by absolute path, told by version, watched for change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core import StructuredFailure, failure, resolve_program
from holon_core.records.base import Record

if TYPE_CHECKING:
    from holon_core import SealedCall
    from holon_rust_tools.settings import Settings

# From here on cargo reads its registry by the sparse protocol: a fetch asks for a few files, and
# not for the whole index, whose host may be none that is reachable.
MINIMUM = (1, 70, 0)
INSTALL = "install cargo and rustc 1.70 or newer (apt-get install cargo, or cargo-web on Debian 12)"
_VERSION = re.compile(r"cargo (\d+)\.(\d+)\.(\d+)")
# What rustup, where it is what PATH names, needs to know to find the host's toolchain.
_RUSTUP = ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
_ASK_S = 20.0


@frozen(kw_only=True, eq=False, repr=False)
class Toolchain(Record):
    """The toolchain of a build.

    ``watched`` are the files by which a change of it is noticed, ``fingerprint`` what they were.
    """

    cargo: str
    rustc: str
    cargo_version: str
    rustc_version: str
    watched: tuple[str, ...]
    fingerprint: str


def found_cargo(settings: Settings) -> str | None:
    """Return where cargo is; starts nothing."""
    return resolve_program(settings.cargo or "cargo")


def missing_cargo() -> StructuredFailure:
    """Say that there is no cargo."""
    return failure("dependency_missing", f"no cargo is on this machine; {INSTALL}")


def fingerprint(paths: Iterable[str]) -> str:
    """Digest what the system says of files: a file that is replaced or gone changes it."""
    said = []
    for path in paths:
        try:
            seen = Path(path).stat()
            said.append((path, seen.st_size, seen.st_mtime_ns, seen.st_ino))
        except OSError:
            said.append((path, -1, 0, 0))
    return sha256(repr(said).encode()).hexdigest()


def is_current(recorded: Mapping[str, Any], cargo: str) -> bool:
    """Tell whether a recorded toolchain is still the one that would be used."""
    watched = recorded.get("watched", ())
    return cargo in watched and fingerprint(watched) == recorded.get("fingerprint")


def find(call: SealedCall, settings: Settings) -> Toolchain | StructuredFailure:
    """Find the toolchain, by absolute paths below one root.

    Returns:
        It; or ``dependency_missing``, which says what to install.
    """
    cargo = found_cargo(settings)
    if cargo is None:
        return missing_cargo()
    beside = Path(cargo).with_name("rustc" + Path(cargo).suffix)
    rustc = resolve_program(str(beside)) or resolve_program("rustc")
    if rustc is None:
        return failure("dependency_missing", f"no rustc is beside {cargo}; {INSTALL}")
    root = _said(call, (rustc, "--print", "sysroot")).strip()
    real_cargo = _in(root, "cargo") or cargo
    real_rustc = _in(root, "rustc") or rustc
    version = _said(call, (real_cargo, "--version")).strip()
    match = _VERSION.match(version)
    if match is None:
        return failure("dependency_missing", f"{cargo} does not tell its version; {INSTALL}")
    if tuple(map(int, match.groups())) < MINIMUM:
        return failure("dependency_missing", f"{version} is too old; {INSTALL}")
    watched = (cargo, rustc, real_cargo, real_rustc, *_rustup_settings())
    watched = tuple(dict.fromkeys(watched))
    return Toolchain(
        cargo=real_cargo,
        rustc=real_rustc,
        cargo_version=version,
        rustc_version=_said(call, (real_rustc, "--version")).strip(),
        watched=watched,
        fingerprint=fingerprint(watched),
    )


def _said(call: SealedCall, argv: tuple[str, ...]) -> str:
    env = {name: os.environ[name] for name in _RUSTUP if name in os.environ}
    outcome = call.run_process(
        argv, cwd=anchor(), env=env, timeout_s=_ASK_S, max_stdout_bytes=65_536
    )
    return outcome.stdout.head.decode("utf-8", "replace") if outcome.exit_code == 0 else ""


def _in(root: str, name: str) -> str | None:
    return resolve_program(str(Path(root, "bin", name))) if Path(root).is_absolute() else None


def _rustup_settings() -> tuple[str, ...]:
    home = os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")
    file = Path(home) / "settings.toml"
    return (str(file),) if file.is_file() else ()


def anchor() -> Path:
    """Return the folder above which there is none, and so no configuration either."""
    return Path(Path.cwd().anchor)


def build_env(toolchain: Toolchain, *, home: Path, target: Path) -> dict[str, str]:
    """Return the environment of cargo: nothing of the host's but how to reach the registry.

    Args:
        toolchain: By absolute paths.
        home: The isolated ``CARGO_HOME``.
        target: Where it writes.
    """
    folders = [str(Path(toolchain.cargo).parent)]
    linker = resolve_program("cc") or resolve_program("gcc")
    if linker is not None:
        folders.append(str(Path(linker).parent))
    folders += ["/usr/bin", "/bin"]
    passed = {name: os.environ[name] for name in _REACHES if name in os.environ}
    return {
        **passed,
        "PATH": os.pathsep.join(dict.fromkeys(folders)),
        "HOME": str(home),
        "CARGO_HOME": str(home),
        "CARGO_TARGET_DIR": str(target),
        "CARGO_INCREMENTAL": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_NET_RETRY": "2",
        "CARGO_NET_GIT_FETCH_WITH_CLI": "false",
        "RUSTC": toolchain.rustc,
        "RUSTC_WRAPPER": "",
        "RUSTC_WORKSPACE_WRAPPER": "",
        # Of crates of the catalogue cargo caps it; of the tool's own nothing undoes it.
        "RUSTFLAGS": "-F unsafe_code",
        "TZ": "UTC",
        "LANG": "C",
    }


_REACHES = (
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HTTP_CAINFO",
)
