"""One question to a language model over the OpenAI-compatible HTTP interface, with the standard
library alone. Blocking: call it in a thread. Nothing uses a model unless configuration names one.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Protocol

import msgspec

from weft_schemas.errors import ConfigurationError, Unavailable

_MOST_REPLY_BYTES = 1 << 20
"""A reply longer than this is no answer to what weft asks for."""


class Completion(Protocol):
    """Answers `question` under `instruction`."""

    @property
    def model(self) -> str:
        """Its name, as recorded with what it made."""

    def complete(self, instruction: str, question: str, max_tokens: int) -> str: ...


class ChatEndpoint(msgspec.Struct, frozen=True):
    """A model behind `POST <url>/chat/completions`."""

    url: str
    """Base, such as `http://localhost:8000/v1`."""
    model: str
    key: str = ""
    """Sent as a bearer token where set."""
    timeout: float = 30.0
    """Seconds."""

    def complete(self, instruction: str, question: str, max_tokens: int) -> str:
        """The model's text, at temperature 0.

        Raises `Unavailable` where a later try may succeed (no connection, 429, 5xx), else
        `ConfigurationError` (another status, a reply that is no chat completion).
        """
        body = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": max_tokens,
            "messages": [
                {"role": "system", "content": instruction},
                {"role": "user", "content": question},
            ],
        }
        return _text_of(self._post(msgspec.json.encode(body)), self.url)

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            request = urllib.request.Request(
                f"{self.url.rstrip('/')}/chat/completions", data=body, headers=headers
            )
            with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                content: bytes = reply.read(_MOST_REPLY_BYTES)
                return content
        except urllib.error.HTTPError as error:
            error.close()
            raise _refusal(self.url, error.code) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(
                f"model endpoint {self.url} does not answer: {error}; try again"
            ) from None
        except ValueError as error:
            raise ConfigurationError(
                f"model endpoint {self.url!r} is no address: {error}; give http://host/v1"
            ) from None


class _Message(msgspec.Struct):
    content: str


class _Choice(msgspec.Struct):
    message: _Message


class _Reply(msgspec.Struct):
    choices: list[_Choice]


def _text_of(content: bytes, url: str) -> str:
    try:
        reply = msgspec.json.decode(content, type=_Reply)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(
            f"model endpoint {url} sent no chat completion: {error}; check the address"
        ) from None
    if not reply.choices:
        raise ConfigurationError(f"model endpoint {url} sent no choices; check the model's name")
    return reply.choices[0].message.content.strip()


def _refusal(url: str, status: int) -> Unavailable | ConfigurationError:
    if status == 429 or status >= 500:
        return Unavailable(f"model endpoint {url} answered {status}; try again later")
    return ConfigurationError(
        f"model endpoint {url} answered {status}; check its address, key and model name"
    )
