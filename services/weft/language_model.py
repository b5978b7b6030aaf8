"""Asks a language model one question over the OpenAI-compatible HTTP interface, using only the
standard library. Blocking: call it in a thread. No model is used unless the configuration names
one."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import urllib.error
import urllib.request
from typing import Any, Protocol

import msgspec

from weft.secrets.scanning import as_shown
from weft_schemas.errors import ConfigurationError, Unavailable

AT_ONCE = 4
"""How many questions one process asks models at a time; others wait for as long as an answer may
take."""
_ROOM = threading.BoundedSemaphore(AT_ONCE)
_MAX_REPLY_BYTES = 1 << 20
"""A longer reply cannot be an answer to a question of weft's."""


class Completion(Protocol):
    """Answers `question` under `instruction`."""

    @property
    def model(self) -> str:
        """Its name, as recorded with its results."""

    def complete(self, instruction: str, question: str, max_tokens: int) -> str: ...


class ChatEndpoint(msgspec.Struct, frozen=True):
    """A model behind `POST <url>/chat/completions`."""

    url: str
    """Base URL, such as `http://localhost:8000/v1`."""
    model: str
    key: str = ""
    """Sent as a bearer token if it is set."""
    timeout: float = 30.0
    """Seconds until the answer must be complete."""

    def __post_init__(self) -> None:
        if "@" in self.url.partition("://")[2].partition("/")[0]:
            raise ConfigurationError(
                "the address of a model endpoint holds a user's name or password, which would "
                "stand in errors and logs; give http://host/v1 and the key by itself"
            )

    def complete(self, instruction: str, question: str, max_tokens: int) -> str:
        """The model's text, at temperature 0; empty if it says nothing. Credentials in the question
        are masked, so that none is ever sent to an endpoint.

        Raises `Unavailable` if a later attempt may succeed (no connection, 429, 5xx), otherwise
        `ConfigurationError` (another status, or a reply that is not a chat completion).
        """
        body = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": max_tokens,
            "messages": [
                {"role": "system", "content": as_shown(instruction)},
                {"role": "user", "content": as_shown(question)},
            ],
        }
        return _text_of(self._post(msgspec.json.encode(body)), self.url)

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if not _ROOM.acquire(timeout=self.timeout):
            raise Unavailable(f"model endpoint {self.url} is asked {AT_ONCE} things; try again")
        try:
            request = urllib.request.Request(
                f"{self.url.rstrip('/')}/chat/completions", data=body, headers=headers
            )
            with _Deadline(self.timeout) as deadline:
                return deadline.answer(request)
        except urllib.error.HTTPError as error:
            error.close()
            raise _status_error(self.url, error.code) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(
                f"model endpoint {self.url} does not answer: {error}; try again"
            ) from None
        except ValueError as error:
            raise ConfigurationError(
                f"model endpoint {self.url!r} is no address: {error}; give http://host/v1"
            ) from None
        finally:
            _ROOM.release()


class _Deadline:
    """Ends a request that takes too long in all: a socket's timeout starts again with each byte,
    so a server that sends one now and then would be read for ever."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._end)
        self._over = False

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def answer(self, request: urllib.request.Request) -> bytes:
        """The reply's content. Raises `TimeoutError` and whatever urllib raises; a redirect is an
        error, since it would take the text and the key to another host."""
        opener = urllib.request.build_opener(_NoRedirects, *self._noting())
        try:
            with opener.open(request, timeout=self._seconds) as reply:
                content: bytes = reply.read(_MAX_REPLY_BYTES)
        except (OSError, http.client.HTTPException):
            if self._over:
                raise self._late() from None
            raise
        if self._over:
            raise self._late()
        return content

    def _late(self) -> TimeoutError:
        return TimeoutError(f"no whole answer in {self._seconds:g} s")

    def _end(self) -> None:
        self._over = True
        for one in self._sockets:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(one, socket.SHUT_RDWR)  # TLS's own would drop the reader's

    def _note(self, made: socket.socket) -> None:
        """A socket that `_end` shuts down. If it is too late for that, it is closed, and
        `TimeoutError` raised."""
        self._sockets.append(made)
        if self._over:
            made.close()
            raise self._late()

    def _noting(self) -> tuple[urllib.request.BaseHandler, ...]:
        """Handlers that note each socket before anything is read from it: an answer of a proxy, a
        TLS handshake and a reply may all come byte by byte."""
        note = self._note

        def create(*place: Any, **options: Any) -> socket.socket:
            made = socket.create_connection(*place, **options)
            note(made)
            return made

        class Secured(ssl.SSLSocket):
            """Takes the place of the socket that was noted."""

            def do_handshake(self, block: bool = False) -> None:
                note(self)
                super().do_handshake(block)

        class Plain(http.client.HTTPConnection):
            def connect(self) -> None:
                self._create_connection = create
                super().connect()

        class Encrypted(http.client.HTTPSConnection):
            def connect(self) -> None:
                self._create_connection = create
                super().connect()

        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        context.sslsocket_class = Secured

        class PlainHandler(urllib.request.HTTPHandler):
            def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Plain, req)

        class EncryptedHandler(urllib.request.HTTPSHandler):
            def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
                return self.do_open(Encrypted, req, context=context)

        return PlainHandler(), EncryptedHandler()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _Message(msgspec.Struct):
    content: str | None = None
    """None if the model refused, or called a tool."""


class _Choice(msgspec.Struct):
    message: _Message


class _Reply(msgspec.Struct):
    choices: list[_Choice]


def _text_of(content: bytes, url: str) -> str:
    try:
        reply = msgspec.json.decode(content, type=_Reply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"model endpoint {url} sent no chat completion: {error}; check the address"
        ) from None
    if not reply.choices:
        raise ConfigurationError(f"model endpoint {url} sent no choices; check the model's name")
    return (reply.choices[0].message.content or "").strip()


def _status_error(url: str, status: int) -> Unavailable | ConfigurationError:
    if 300 <= status < 400:
        return ConfigurationError(
            f"model endpoint {url} answered {status} and points elsewhere, where nothing is sent; "
            "configure the address that answers itself"
        )
    if status == 429 or status >= 500:
        return Unavailable(f"model endpoint {url} answered {status}; try again later")
    return ConfigurationError(
        f"model endpoint {url} answered {status}; check its address, key and model name"
    )
