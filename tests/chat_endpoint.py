"""An OpenAI-compatible server on the loopback that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

import msgspec

Answer = Callable[[str, str], str]
"""What the model says to an instruction and a question."""


class ChatServer:
    """`with ChatServer(answer) as server:`; keeps what it was asked, and may refuse at first."""

    def __init__(self, answer: Answer, refusals: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []
        self._answer = answer
        self._refusals = refusals
        self._lock = Lock()
        held = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, reply = held._reply(msgspec.json.decode(body), self.headers)
                content = msgspec.json.encode(reply)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _reply(self, asked: dict[str, Any], headers: Any) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(asked)
            self.authorization.append(headers["Authorization"])
            if self._refusals:
                self._refusals -= 1
                return 503, {}
        instruction, question = (message["content"] for message in asked["messages"])
        said = self._answer(instruction, question)
        return 200, {"choices": [{"message": {"content": said}}]}
