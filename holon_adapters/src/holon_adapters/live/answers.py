"""From a response to the output of a call, or the failure that it is."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from holon_adapters.failures import CallFailed
from holon_adapters.openapi.parameters import form_of
from holon_core.errors import JsonRefused
from holon_core.guard.redaction import Redactor
from holon_core.wire.strict_json import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holon_adapters.live.exchange import Answer
    from holon_adapters.records import OperationPlan, ResponsePlan

SHOWN_BYTES = 2048
# RFC 9457, section 3.1; and what many APIs call the same.
_PROBLEM = ("type", "title", "status", "detail", "instance", "code", "message", "error")
MAX_MEMBER = 500


class Watch:
    """Knows the secrets of a call, in every shape in which one may come back."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._redactor = Redactor()
        for name, value in secrets.items():
            self._redactor.register(name, value)

    def holds(self, data: bytes) -> bool:
        """Tell whether data holds one of them."""
        return self._redactor.data(data) is not data

    def clean(self, text: str) -> str:
        """Take them out of a text."""
        return self._redactor.text(text)


def output_of(plan: OperationPlan, answer: Answer, watch: Watch) -> dict[str, Any]:
    """Make the output of a call.

    Raises:
        CallFailed: The API refused or failed, or answered against its document, or with a
            secret of this call.
    """
    if answer.status >= 400 or answer.status < 200 or answer.status >= 300:
        raise _failed(answer, watch)
    said = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    if watch.holds(answer.body) or watch.holds(said.encode("utf-8", "replace")):
        raise CallFailed("secret_echoed", status=answer.status)
    found = _documented(plan, answer.status)
    made: dict[str, Any] = {"status": answer.status}
    headers = {name: answer.headers[name] for name in found.headers if name in answer.headers}
    if found.headers:
        made["headers"] = headers
    silent = not found.forms and not found.status.isdigit()
    if plan.method != "HEAD" and (found.forms or (silent and answer.body)):
        made["body"] = _body(found, answer, silent=silent)
    return made


def _documented(plan: OperationPlan, status: int) -> ResponsePlan:
    for wanted in (str(status), "2XX"):
        for each in plan.responses:
            if each.status == wanted:
                return each
    raise CallFailed("http_status", f"the status {status} is not documented", status=status)


def _body(found: ResponsePlan, answer: Answer, *, silent: bool) -> Any:
    given = answer.headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    form = _form({"*/*": "json"} if silent else found.forms, kind) or ""
    if not form:
        known = ", ".join(sorted(found.forms))
        text = f"the content is {kind[:80] or 'of no type'}, and documented is {known}"
        raise CallFailed("content_type", text, status=answer.status)
    if form == "json":
        return _json(answer)
    if form == "text":
        return _text(answer.body, given)
    return b64encode(answer.body).decode()


def _form(forms: Mapping[str, str], kind: str) -> str | None:
    """Return how content of a type is taken: documented itself, or by a range that holds it."""
    group = kind.partition("/")[0]
    for wanted in (kind, f"{group}/*", "*/*"):
        if wanted in forms:
            if wanted == kind:
                return forms[wanted]
            # A range says nothing of the form.
            form = form_of(kind)
            return form if form in ("json", "text") else "binary"
    # Many servers call JSON of a finer type plain JSON, and the other way round.
    return "json" if form_of(kind) == "json" and kind and "json" in forms.values() else None


def _json(answer: Answer) -> Any:
    try:
        return parse(answer.body, max_bytes=max(1, len(answer.body)))
    except JsonRefused as refused:
        code = "output_empty" if refused.rule == "empty" else "output_not_json"
        text = f"the body is no sound JSON: {refused.message}"
        raise CallFailed(code, text, status=answer.status, path=refused.path) from None


def _text(body: bytes, content_type: str) -> str:
    charset = content_type.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    try:
        if charset in ("iso-8859-1", "latin-1", "latin1"):
            return body.decode("latin-1")
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CallFailed("output_not_utf8") from None


def _failed(answer: Answer, watch: Watch) -> CallFailed:
    """Make the failure of an error: its status, and what it says, bounded and without secrets."""
    status = answer.status
    if status < 400:
        return CallFailed("http_status", f"the status {status} is no answer", status=status)
    code = "http_client_error" if status < 500 else "http_server_error"
    details: dict[str, Any] = {"status": status, "tries": answer.tries}
    details.update(_problem(answer, watch))
    if "retry-after" in answer.headers:
        details["retry_after"] = watch.clean(answer.headers["retry-after"])[:100]
    said = details.get("problem", {})
    text = next((said[key] for key in ("detail", "message", "title", "error") if key in said), "")
    whole = f"the API answered {status}" + (f": {text}" if isinstance(text, str) and text else "")
    return CallFailed(code, whole, **details)


def _problem(answer: Answer, watch: Watch) -> dict[str, Any]:
    kind = answer.headers.get("content-type", "")
    shown = watch.clean(answer.body.decode("utf-8", "replace"))
    if form_of(kind) == "json":
        try:
            found = parse(shown.encode())
        except JsonRefused:
            found = None
        if isinstance(found, dict):
            members = {key: _bounded(found[key]) for key in _PROBLEM if key in found}
            if members:
                return {"problem": members}
    return {"body": shown[:SHOWN_BYTES], "body_bytes": len(answer.body)} if shown else {}


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_MEMBER]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    from holon_core.wire.canonical import canonical

    return canonical(value).decode()[:MAX_MEMBER]
