"""Host functions in a process of their own, so that a time limit is enforced and not only told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from holon_core.functions.worker import BOOTSTRAP, FAILED_EXIT, resolved
from holon_core.guard.execute import failed
from holon_core.records.base import Record
from holon_core.records.failure import failure
from holon_core.records.finding import Finding
from holon_core.records.outcome import ExecutorOutcome, completed

if TYPE_CHECKING:
    from holon_core.functions.decorator import ToolOptions
    from holon_core.functions.signature import FunctionShape
    from holon_core.guard.sealed import SealedCall
    from holon_core.process import ProcessOutcome

_CODE = "signature_unsupported"


@frozen(kw_only=True, eq=False, repr=False)
class Place(Record):
    """Where a fresh interpreter finds a function: in a module by name, or by its file."""

    module: str | None = None
    file: str | None = None
    name: str


def _place(fn: Any) -> Place | str:
    """Find a function's place, or say why it has none."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return 'isolation="process" takes a plain function; this is an object that can be called'
    if getattr(fn, "__self__", None) is not None and not isinstance(fn.__self__, ModuleType):
        return 'isolation="process" takes no bound method: its object is not in the new process'
    if "<" in name:
        return f"{name} is made inside another function; define it at the top of a module"
    found = sys.modules.get(module)
    if found is None or resolved(found, name) is not fn:
        return f"{module}.{name} is not this function; register it under the name it is defined by"
    if module != "__main__":
        return Place(module=module, name=name)
    return _in_main(found, name)


def _in_main(main: ModuleType, name: str) -> Place | str:
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name != "__main__":
        return Place(module=spec.name, name=name)
    if file is not None and Path(file).is_file():
        return Place(file=str(Path(file).resolve()), name=name)
    return f"{name} is in no file; define it in a module that can be imported"


def isolation_findings(fn: Callable[..., Any], shape: FunctionShape) -> tuple[Finding, ...]:
    """Say what keeps a function from running in a process of its own.

    Args:
        fn: What is to be registered with ``isolation="process"``.
        shape: Its shape.

    Returns:
        Errors of code ``signature_unsupported``: a lambda, closure, method or other object that
        no new interpreter can find; a parameter that the host fills with a live object; an
        interpreter that cannot be started again.
    """
    found = [
        Finding(
            code=_CODE,
            message=f"{hint.__name__} cannot be passed to another process",
            path=f"/parameters/{name}",
        )
        for name, hint in shape.injected.items()
    ]
    place = _place(fn)
    if isinstance(place, str):
        found.append(Finding(code=_CODE, message=place))
    if getattr(sys, "frozen", False) or not Path(sys.executable or "").is_absolute():
        text = "this program has no Python interpreter that could be started again"
        found.append(Finding(code=_CODE, message=text))
    return tuple(found)


class IsolatedExecutor:
    """Runs a host function once per call in a fresh interpreter, through the bounded runner.

    The child imports the function's module anew, by the module search path of this process and
    nothing of its variables (``python -I``): what the module does when it is imported it does in
    the child too, so a script opens its runtime under ``if __name__ == "__main__":``. Arguments
    and secrets go through standard input, never through argument list or environment; the
    environment is the allow-listed part of this one, the working directory the workspace's root.
    Without a limit of its own the call has the runner's default, 30 s.

    Args:
        fn: A function for which ``isolation_findings`` finds no error.
        shape: Its shape.
        options: What its author stated.
    """

    def __init__(self, fn: Callable[..., Any], shape: FunctionShape, options: ToolOptions) -> None:
        place = _place(fn)
        assert isinstance(place, Place)
        self._place = place
        self._secrets = tuple(options.secrets)
        self._request = {
            "module": place.module,
            "file": place.file,
            "name": place.name,
            "secret_references": dict(options.secrets),
            "input_schema": options.input_schema and dict(options.input_schema),
            "output_schema": options.output_schema and dict(options.output_schema),
            "is_async": shape.is_async,
        }

    def execute(self, call: SealedCall, /) -> ExecutorOutcome:
        """Start the interpreter, hand over the call, and read the one object it prints."""
        from holon_core.tool_contract import read_output

        request = {
            **self._request,
            "path": [str(Path(entry).absolute()) for entry in sys.path],
            "arguments": call.arguments,
            "secrets": {name: call.secret(name) for name in self._secrets},
        }
        outcome = call.run_process(_argv(), stdin=json.dumps(request).encode())
        if outcome.exit_code == FAILED_EXIT:
            told = _told(outcome)
            if told is not None:
                return told
        read = read_output(outcome)
        if isinstance(read, dict):
            return completed(read)
        return failed(read, started=read.code != "spawn_failed")

    def preview(self, call: SealedCall, /) -> Mapping[str, Any]:
        """Show which function would be called with what, and by which command."""
        place = self._place
        return {
            "function": f"{place.module or place.file}:{place.name}",
            "arguments": call.arguments,
            "isolation": "process",
            "command": [*_argv()[:-1], "…"],
        }


def _argv() -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", BOOTSTRAP)


def _told(outcome: ProcessOutcome) -> ExecutorOutcome | None:
    """Read what the worker says of a function that did not return, if the worker said it."""
    try:
        told = json.loads(outcome.stdout.head)
        code, message, name = str(told["code"]), str(told["message"]), str(told["exception"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if code == "arguments_invalid":
        return failed(failure(code, message), started=False)
    return failed(failure("tool_raised", message, exception=name))
