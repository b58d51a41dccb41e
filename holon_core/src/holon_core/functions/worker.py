"""The other side of an isolated function: the program that a fresh interpreter runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

FAILED_EXIT = 97
MAX_MESSAGE_CHARS = 2_000
_MAIN = "__holon_main__"
# The search path has to be in place before anything else of Holon can be imported.
BOOTSTRAP = (
    "import json, sys; r = json.loads(sys.stdin.buffer.read()); sys.path[:] = r['path']; "
    "from holon_core.functions.worker import main; main(r)"
)


def main(request: dict[str, Any]) -> None:
    """Run one call and exit: 0 with the output object on stdout, or 97 with what went wrong.

    What the function prints, and what its libraries and children print, goes to stderr.

    Args:
        request: What ``IsolatedExecutor`` sends: where the function is, its arguments and
            secrets by parameter, and the options that shape both.
    """
    answer = _take_stdout()
    code = 0
    try:
        # Written in full only here: an output that cannot be written is the function's failure.
        text = json.dumps(_output(request), ensure_ascii=False, separators=(",", ":"))
    except BaseException as error:
        text, code = json.dumps(_failure(error)), FAILED_EXIT
    with os.fdopen(answer, "wb") as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))
    sys.exit(code)


def _take_stdout() -> int:
    """Keep standard output for the answer; whoever else writes there writes to stderr."""
    sys.stdout.flush()
    answer = os.dup(1)
    os.dup2(2, 1)
    return answer


def _output(request: dict[str, Any]) -> Any:
    from holon_core.functions.decorator import ToolOptions
    from holon_core.functions.signature import describe

    fn = _function(request)
    options = ToolOptions(
        secrets=request["secret_references"],
        input_schema=request["input_schema"],
        output_schema=request["output_schema"],
    )
    shape = describe(fn, options)
    kwargs = {**shape.bind(request["arguments"]), **request["secrets"]}
    return shape.result(_called(fn, kwargs, is_async=request["is_async"]))


def _called(fn: Callable[..., Any], kwargs: dict[str, Any], *, is_async: bool) -> Any:
    if not is_async:
        return fn(**kwargs)
    import asyncio

    async def awaited() -> Any:
        return await fn(**kwargs)

    return asyncio.run(awaited())


def _function(request: dict[str, Any]) -> Callable[..., Any]:
    from importlib import import_module

    file = request["file"]
    module = _from_file(file) if file else import_module(request["module"])
    fn: Callable[..., Any] | None = resolved(module, request["name"])
    if fn is None:
        raise ImportError(f"{request['module'] or file} has no {request['name']} any more")
    return fn


def _from_file(file: str) -> Any:
    """Load the host's script under another name than ``__main__``, so that it starts nothing."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_loader

    # The loader is named, since a script need not end in .py.
    loader = SourceFileLoader(_MAIN, file)
    spec = spec_from_loader(_MAIN, loader)
    assert spec is not None
    module = sys.modules[_MAIN] = module_from_spec(spec)
    loader.exec_module(module)
    return module


def resolved(module: Any, name: str) -> Any:
    """Return what a qualified name stands for in a module, None where it stands for nothing."""
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _failure(error: BaseException) -> dict[str, str]:
    from holon_core.functions.codec import ArgumentRefused

    name, text = type(error).__name__, str(error)
    message = f"{name}: {text}" if text else name
    if isinstance(error, ArgumentRefused):
        return {"code": "arguments_invalid", "message": text[:MAX_MESSAGE_CHARS], "exception": name}
    return {"code": "tool_raised", "message": message[:MAX_MESSAGE_CHARS], "exception": name}
