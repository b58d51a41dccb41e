"""The commands of ./dev. Standard library only; the environment is made by `setup`."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "holon.stamp"
CONSTRAINTS = ROOT / "constraints.txt"
ROOMS_AT_100 = ("guard", "wire", "store")
# The sources themselves; some tests measure a changed copy, too.
CORE = "holon_core/src/holon_core"
CORE_FLOOR = 95

QUIET_PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}


def say(text: str) -> None:
    """Print one progress line at once, in step with the output of child processes."""
    print(f"dev: {text}", flush=True)


def run(command: Sequence[str | Path], **variables: str) -> int:
    """Run a command in the repository and return its exit code."""
    environment = {**os.environ, **QUIET_PIP, **variables}
    return subprocess.run(
        [str(part) for part in command], cwd=ROOT, env=environment, check=False
    ).returncode


def tool(name: str, *arguments: str | Path, **variables: str) -> int:
    """Run an installed Python module of the environment."""
    return run([PYTHON, "-m", name, *arguments], **variables)


def members() -> list[Path]:
    """Return the folders of the distributions here."""
    return sorted(path.parent for path in ROOT.glob("*/pyproject.toml"))


def stamp() -> str:
    """Return a digest over everything that decides what the environment holds."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in (CONSTRAINTS, *(folder / "pyproject.toml" for folder in members())):
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def locked() -> Iterator[None]:
    """Let one set-up at a time touch the environment."""
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def setup() -> int:
    """Make .venv, unless it is already what the inputs ask for."""
    with locked():
        wanted = stamp()
        if PYTHON.exists() and STAMP.is_file() and STAMP.read_text() == wanted:
            return 0
        code = make_environment()
        if code:
            say("set-up failed; the lines above say why")
            return code
        STAMP.write_text(wanted)
        say("the environment is ready")
        return 0


def make_environment() -> int:
    """Create .venv where it is missing or broken, and install the pins and the members."""
    if not PYTHON.exists():
        version = ".".join(str(part) for part in sys.version_info[:3])
        say(f"making .venv with Python {version}")
        try:
            venv.create(VENV, with_pip=True, clear=True, symlinks=True)
        except subprocess.CalledProcessError as error:
            shutil.rmtree(VENV, ignore_errors=True)
            say(f"pip could not be put into .venv ({error}); is python3-venv whole?")
            return 1
    STAMP.unlink(missing_ok=True)
    say("installing the pinned requirements (a minute or two the first time)")
    pip = ("install", "--quiet", "--no-input")
    code = tool("pip", *pip, "--requirement", CONSTRAINTS)
    if code:
        return code
    folders = members()
    say("installing " + ", ".join(folder.name for folder in folders) + " in place")
    # Without isolation: the build backend is pinned and installed, so nothing more is fetched.
    editable = [part for folder in folders for part in ("--editable", str(folder))]
    return tool("pip", *pip, "--no-deps", "--no-build-isolation", *editable) or tool(
        "pip", "--quiet", "check"
    )


def demo(arguments: list[str]) -> int:
    """Run the main job on this repository."""
    return setup() or run([VENV / "bin" / "holon", "demo", *arguments])


def test(arguments: list[str]) -> int:
    """Run the suite, or what the arguments of pytest select."""
    whole = ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "worksteal"]
    return setup() or tool("pytest", *(arguments or whole))


def check(_: list[str]) -> int:
    """Run every check, also after one has failed, and name those that did."""
    if setup():
        return 1
    steps: list[tuple[str, Callable[[], int]]] = [
        ("format", lambda: tool("ruff", "format", "--check", ".")),
        ("lint", lambda: tool("ruff", "check", ".")),
        ("types", lambda: tool("mypy")),
        ("import contracts", lambda: run([VENV / "bin" / "lint-imports", "--no-logo"])),
        ("docs", lambda: docs(["--check"])),
        ("distributions", compare_distributions),
    ]
    failed = []
    for name, step in steps:
        say(f"check: {name}")
        if step():
            failed.append(name)
    say("check failed: " + ", ".join(failed) if failed else "check passed")
    return 1 if failed else 0


def docs(arguments: list[str]) -> int:
    """Write what the manual holds of the code (or compare it), and build it; a warning fails."""
    if setup():
        return 1
    out = ROOT / "docs" / "_build"
    sphinx = ("-qW", "--keep-going", "-b", "html", "-d", out / "doctrees")
    written = run([PYTHON, "tools/docs.py", *arguments])
    return written | tool("sphinx", *sphinx, "docs", out / "html")


def compare_distributions() -> int:
    """Compare the generated files with the table."""
    return run([PYTHON, "tools/distributions.py", "compare"])


def distributions(_: list[str]) -> int:
    """Write the generated files from the table."""
    return setup() or run([PYTHON, "tools/distributions.py", "write"])


def new_distribution(arguments: list[str]) -> int:
    """Add a row to the table and make the distribution's folder."""
    return setup() or run([PYTHON, "tools/distributions.py", "add", *arguments]) or setup()


def fuzz(arguments: list[str]) -> int:
    """Try values made from the Elegy schemas; 10,000, or as many as the argument says."""
    return setup() or run([PYTHON, "tests/elegy/fuzzing.py", *arguments])


def memory_storm(arguments: list[str]) -> int:
    """Let many processes use one memory at once."""
    return setup() or run([PYTHON, "tests/memory/storm.py", *arguments])


def crash(arguments: list[str]) -> int:
    """Kill processes in the middle of guarded calls, for long."""
    return setup() or run([PYTHON, "tests/core/crash/campaign.py", *arguments])


def crash_workflows(arguments: list[str]) -> int:
    """Kill processes in the middle of a workflow; 300 times, or as often as the argument says."""
    return setup() or run([PYTHON, "tests/workflows/campaign.py", *arguments])


def many_runners(arguments: list[str]) -> int:
    """Let 8 processes serve 200 runs of one store, or as many as the arguments say."""
    return setup() or run([PYTHON, "tests/workflows/runners.py", *arguments])


def bench(arguments: list[str]) -> int:
    """Run one benchmark, or every one."""
    scripts = {path.stem: path for path in sorted((ROOT / "benchmarks").glob("[!_]*.py"))}
    name, rest = (arguments[0], arguments[1:]) if arguments else (None, [])
    if name is not None and name not in scripts:
        say(f"no benchmark {name}; there are: {', '.join(scripts) or 'none'}")
        return 2
    if setup():
        return 1
    codes = [run([PYTHON, scripts[key], *rest]) for key in ([name] if name else scripts)]
    return max(codes, default=0)


def coverage(arguments: list[str]) -> int:
    """Measure branch coverage and hold the floors."""
    if setup():
        return 1
    tool("coverage", "erase")
    failed = tool("coverage", "run", "-m", "pytest", *arguments)
    tool("coverage", "combine", "--quiet")
    for room in ROOMS_AT_100:
        say(f"coverage of {room}/ (floor 100 %)")
        failed |= tool("coverage", "report", f"--include={CORE}/{room}/*", "--fail-under=100")
    say(f"coverage of holon_core (floor {CORE_FLOOR} %)")
    failed |= tool("coverage", "report", f"--include={CORE}/*", f"--fail-under={CORE_FLOOR}")
    return 1 if failed else 0


def wheels(_: list[str]) -> int:
    """Build the wheel of every distribution into dist/."""
    if setup():
        return 1
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    build = ("--wheel", "--no-isolation", "--outdir", ROOT / "dist")
    return max(tool("build", *build, folder) for folder in members())


COMMANDS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "setup": (lambda _: setup(), "make .venv with the pins and the members in place"),
    "demo": (demo, "run `holon demo` on this repository; further arguments go to it"),
    "test": (test, "run the whole suite, or pytest with the given arguments"),
    "check": (check, "format, lint, types, import contracts, docs, distributions"),
    "crash": (crash, "run the long crash campaign"),
    "crash-workflows": (crash_workflows, "run the long crash campaign of workflows"),
    "many-runners": (many_runners, "let eight processes serve 200 runs of one store"),
    "memory-storm": (memory_storm, "let twenty processes use one memory for half a minute"),
    "fuzz": (fuzz, "run the long fuzzing campaign on Elegy contracts"),
    "bench": (bench, "run one benchmark by NAME, or all"),
    "coverage": (coverage, "run the suite with branch coverage and hold its floors"),
    "docs": (docs, "write the generated parts of the manual, build it into docs/_build/html"),
    "distributions": (distributions, "write each pyproject.toml from tools/distributions.toml"),
    "new-distribution": (new_distribution, "add a lane: NAME and, if wished, --description TEXT"),
    "wheels": (wheels, "build all wheels into dist/"),
}


def main(arguments: list[str]) -> int:
    """Run one command; print the list of them when none is named."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if name not in COMMANDS:
        width = max(map(len, COMMANDS))
        print("usage: ./dev COMMAND [ARGUMENTS]\n")
        print("\n".join(f"  {key:{width}}  {text}" for key, (_, text) in COMMANDS.items()))
        return 0 if name in {"--help", "-h", "help"} else 2
    try:
        return COMMANDS[name][0](rest)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
