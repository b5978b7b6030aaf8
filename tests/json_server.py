"""An HTTP server on the loopback that answers JSON with JSON, as a test tells it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

import msgspec


class JsonServer(ABC):
    """`with` a subclass that says what to reply; `url` is its address, ending in `/v1`."""

    def __init__(self) -> None:
        answer = self.reply_to

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
                status, reply = answer(self.path, body, dict(self.headers))
                content = msgspec.json.encode(reply)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    @abstractmethod
    def reply_to(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Status and body; called from the server's threads."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
