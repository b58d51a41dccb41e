"""A model's service on loopback, as a Responses-compatible API: it answers what it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackModel:
    """Answers in order, and keeps what it was asked; an answer that is a number is a status."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.tokens = (10, 5)
        # Done before each answer; a test makes it take its time.
        self.answering: Callable[[], object] = lambda: None
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                model.asked.append(json.loads(body))
                model.keys.append(self.headers["authorization"])
                model.answering()
                given = model.answers.pop(0) if model.answers else "{}"
                status = given if isinstance(given, int) else 200
                sent = json.dumps(model.response(given)).encode()
                # Whoever asked may have left by now.
                with suppress(ConnectionError):
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(sent)))
                    self.end_headers()
                    self.wfile.write(sent)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def response(self, text: Any) -> dict[str, Any]:
        """Make the body of an answer."""
        spent, given = self.tokens
        content = [{"type": "output_text", "text": str(text), "annotations": []}]
        message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
        return {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": "loopback-1",
            "output": [{**message, "content": content}],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": spent,
                "output_tokens": given,
                "total_tokens": spent + given,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }

    def config(self, **more: Any) -> dict[str, Any]:
        """Make the config of an AI step that asks it."""
        return {
            "mode": "live",
            "model": "loopback-1",
            "base_url": self.url,
            "api_key": "env:LOOPBACK_KEY",
            "prompt": "Answer.",
            **more,
        }

    def close(self) -> None:
        """End the service."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
