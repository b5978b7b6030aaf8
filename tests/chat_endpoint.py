"""An OpenAI-compatible server on the loopback that answers as it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from tests.json_server import JsonServer

Answer = Callable[[str, str], str | None]
"""What the model says to an instruction and a question; None if it refuses."""


class ChatServer(JsonServer):
    """`with ChatServer(answer) as server:`; keeps what it was asked, and may refuse at first."""

    def __init__(self, answer: Answer, refusals: int = 0) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []
        self._answer = answer
        self._refusals = refusals
        self._lock = Lock()

    def reply_to(self, path: str, asked: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(asked)
            self.authorization.append(headers.get("Authorization"))
            if self._refusals:
                self._refusals -= 1
                return 503, {}
        instruction, question = (message["content"] for message in asked["messages"])
        said = self._answer(instruction, question)
        return 200, {"choices": [{"message": {"content": said}}]}
