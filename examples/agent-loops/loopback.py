"""A model on loopback that speaks the HTTP shapes of two providers, made of their SDKs' types."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Where SDKs put the key.
KEYS = ("authorization", "x-api-key")
# What the model says, turn by turn: calls, or the text that ends it. It answers in prose first.
SCRIPT: list[Any] = [
    [("search_tools", {"query": "refund money order", "limit": 2})],
    [("find_order", {"order_id": "o1"}), ("refund", {"order_id": "o1", "cents": "5"})],
    [("refund", {"order_id": "o1", "cents": 500, "note": None})],
    "All is settled.",
    'Done:\n```json\n{"refunded_cents": 500, "reply": "Sorry! 5.00 are on their way."}\n```',
]


class OpenAI:
    """Speaks as the Responses API."""

    path = "/v1/responses"

    def turn(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        """Make a response of the SDK's own type."""
        from openai.types.responses import Response

        said = SCRIPT[number]
        output: list[dict[str, Any]] = []
        if isinstance(said, str):
            text = {"type": "output_text", "text": said, "annotations": []}
            message = {"type": "message", "id": f"m{number}", "role": "assistant"}
            output = [{**message, "status": "completed", "content": [text]}]
        else:
            for at, (name, arguments) in enumerate(said):
                call = {"type": "function_call", "call_id": f"call_{number}_{at}", "name": name}
                output.append({**call, "arguments": json.dumps(arguments)})
        made = Response.model_validate(
            {
                "id": f"resp_{number}",
                "created_at": 0,
                "model": request["model"],
                "object": "response",
                "output": output,
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": request["tools"],
            }
        )
        return made.model_dump(mode="json", exclude_none=True)


class Anthropic:
    """Speaks as the Messages API."""

    path = "/v1/messages"

    def turn(self, number: int, request: dict[str, Any]) -> dict[str, Any]:
        """Make a message of the SDK's own type."""
        from anthropic.types import Message

        said = SCRIPT[number]
        content: list[dict[str, Any]] = []
        if isinstance(said, str):
            content = [{"type": "text", "text": said}]
        else:
            for at, (name, arguments) in enumerate(said):
                use = {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name}
                content.append({**use, "input": arguments})
        made = Message.model_validate(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": request["model"],
                "content": content,
                "stop_reason": "end_turn" if isinstance(said, str) else "tool_use",
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        )
        return made.model_dump(mode="json", exclude_none=True)


@contextmanager
def serve(
    provider: Any, seen: list[tuple[dict[str, str], dict[str, Any]]] | None = None
) -> Iterator[str]:
    """Serve a provider on loopback; yield its address.

    Args:
        provider: Whose shapes it speaks.
        seen: Gets headers and body of each request.
    """
    turns = iter(range(len(SCRIPT)))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            request = json.loads(self.rfile.read(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.path != provider.path:
                self.send_error(404)
                return
            if not any(name in headers for name in KEYS):
                self.send_error(401)
                return
            if seen is not None:
                seen.append((headers, request))
            body = json.dumps(provider.turn(next(turns), request)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
