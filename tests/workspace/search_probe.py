"""Searches a workspace in a process of its own, to be traced. Started by ``test_properties``."""

from __future__ import annotations

import sys
from pathlib import Path

from holon_builtin_workspace.descriptors import tools
from holon_builtin_workspace.lane import SOURCE
from holon_core.catalogue.catalogue import Entry
from holon_core.functions.host import DEFINITION_DOMAIN
from holon_core.runtime import Runtime
from holon_core.wire.canonical import digest

if __name__ == "__main__":
    with Runtime.open(sys.argv[1], discover=False) as runtime:
        for tool, executor in tools():
            whole = tool.with_digest(digest(tool.definition(), domain=DEFINITION_DOMAIN))
            runtime._guard.catalogue.put(Entry(whole, executor, self_limiting=True))
        session = runtime.session(principal="ann", workspace=Path(sys.argv[2]))
        for path in (".", "sub", "link", "sub/up"):
            arguments = {"pattern": "needle", "path": path}
            result = session.call(f"{SOURCE}/workspace-grep", arguments)
            if result.failure:
                print(result.failure.code)
            else:
                print(*(f"{match['path']}:{match['line']}" for match in result.output["matches"]))
