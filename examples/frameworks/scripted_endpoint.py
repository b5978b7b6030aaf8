"""A provider's endpoint on the loopback that follows a script instead of asking a model."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


class ScriptedEndpoint:
    """`with …() as endpoint:`, served at `endpoint.url`. What is no answer to the script fails the
    request, and the block at its end."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        held = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    status, said = 200, held.answer(request)
                except AssertionError as error:
                    held.faults.append(str(error))
                    status, said = 400, held.failure(str(error))
                is_streamed = status == 200 and request.get("stream")
                body = (held.streamed(said) if is_streamed else json.dumps(said)).encode()
                self.send_response(status)
                kind = "text/event-stream" if is_streamed else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        assert not self.faults, self.faults

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the script says next. Raises `AssertionError` where the request is not the one that
        it expects."""
        raise NotImplementedError

    def failure(self, message: str) -> dict[str, Any]:
        """The provider's form of an error."""
        raise NotImplementedError

    def streamed(self, said: dict[str, Any]) -> str:
        """An answer as the provider's server-sent events."""
        raise NotImplementedError
