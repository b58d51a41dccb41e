"""What Schemathesis and openapi-core say, in an environment of their own.

Neither can be installed beside the pins: Schemathesis wants an older jsonschema-rs, openapi-core
an older jsonschema-path.

``python tests/adapters/schemathesis_cases.py make DOCUMENT EXAMPLES`` writes cases as JSON lines,
``… judge DOCUMENT < REQUESTS`` writes, of each recorded request, what speaks against it.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

# Secrets are no arguments of a call, and a text alone has nothing to generate.
LEFT_OUT = ("read-me", "read-keyed", "read-staff", "read-basket", "read-label")
WORDS = {"true": True, "false": False}


def made(document: Mapping[str, Any], examples: int) -> Iterator[dict[str, Any]]:
    """Generate cases of every operation, as it should be and as it should not be called."""
    import schemathesis  # type: ignore[import-not-found]

    for found in schemathesis.openapi.from_dict(dict(document)).get_all_operations():
        operation = found.ok()
        name = operation.definition.raw["operationId"]
        if name in LEFT_OUT:
            continue
        for mode in schemathesis.GenerationMode:
            for each in _generated(document, operation.as_strategy(generation_mode=mode), examples):
                yield {"operation": name, "mode": mode.value, "arguments": each}


def _generated(document: Mapping[str, Any], strategy: Any, examples: int) -> list[dict[str, Any]]:
    from hypothesis import HealthCheck, Phase, given, settings

    cases: list[dict[str, Any]] = []

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def gather(case: Any) -> None:
        cases.append(_arguments(document, case))

    gather()
    return cases


def _arguments(document: Mapping[str, Any], case: Any) -> dict[str, Any]:
    """Return a case as the arguments of a call: parameters and the body in one object."""
    from schemathesis.core import NotSet  # type: ignore[import-not-found]

    operation = case.operation.definition.raw
    kinds = {each["name"]: each["schema"].get("type") for each in operation.get("parameters", ())}
    found: dict[str, Any] = {}
    for name, value in (case.path_parameters or {}).items():
        found[name] = unquote(value) if isinstance(value, str) else value
    for place in (case.query, dict(case.headers or {}), case.cookies):
        for name, value in (place or {}).items():
            # It writes words as they stand in a URL; arguments are JSON.
            is_word = kinds.get(name) == "boolean" and value in ("true", "false")
            found[name] = WORDS[value] if is_word else value
    if not isinstance(case.body, NotSet):
        found["body"] = _body(case)
    plain = json.loads(json.dumps(found, default=_bytes))
    return dict(plain)


def _body(case: Any) -> Any:
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("photo"), str):
        # The bytes of a file are base64 in arguments.
        return {**body, "photo": b64encode(body["photo"].encode()).decode()}
    return body


def _bytes(value: Any) -> Any:
    return {"$bytes": bytes(value).hex()} if isinstance(value, (bytes, bytearray)) else repr(value)


def judged(document: Mapping[str, Any], lines: Iterator[str]) -> Iterator[str]:
    """Say of recorded requests what openapi-core has against each; nothing where it is valid."""
    from openapi_core import OpenAPI  # type: ignore[import-not-found]
    from openapi_core.testing import MockRequest  # type: ignore[import-not-found]
    from werkzeug.datastructures import MultiDict  # type: ignore[import-not-found]

    told = _readable(document)
    api = OpenAPI.from_dict({**told, "servers": [{"url": "http://api.example"}]})
    for line in lines:
        seen = json.loads(line)
        headers = dict(seen["headers"])
        cookies = dict(pair.split("=", 1) for pair in headers.pop("cookie", "").split("; ") if pair)
        query = [pair.partition("=")[::2] for pair in seen["query"].split("&") if pair]
        pairs = [(unquote(key), unquote(value)) for key, value in query]
        request = MockRequest(
            "http://api.example",
            seen["method"].lower(),
            seen["path"],
            args=MultiDict(pairs),
            headers=headers,
            cookies=cookies,
            data=b64decode(seen["body"]) or None,
            content_type=headers.get("content-type", ""),
        )
        try:
            api.validate_request(request)
            yield ""
        except Exception as problem:
            yield f"{type(problem).__name__}: {problem}; {problem.__cause__}"


def _readable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Say a document's parameters in the way that openapi-core reads.

    It takes a choice of a list or ``null``, which has no form there, for one text, and an empty
    text for none although the schema lets it be empty.
    """
    made: dict[str, Any] = json.loads(json.dumps(document))
    for item in made["paths"].values():
        for operation in item.values():
            for each in operation.get("parameters", ()):
                choices = [c for c in each["schema"].get("anyOf", ()) if c != {"type": "null"}]
                if len(choices) == 1:
                    each["schema"] = choices[0]
                if each["in"] == "query":
                    each["allowEmptyValue"] = True
    return made


def main() -> None:
    """Write cases, or judge."""
    document = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    if sys.argv[1] == "make":
        for case in made(document, int(sys.argv[3])):
            print(json.dumps(case, sort_keys=True))
    else:
        for verdict in judged(document, iter(sys.stdin)):
            print(json.dumps(verdict))


if __name__ == "__main__":
    main()
