"""Watches the messages that come over any transport: when the connection ends, and which errors the
server gave itself. The SDK's client reports a lost connection and a missing answer with codes that
servers use as well."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self

import anyio
import msgspec
from mcp import MCPError
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    JSONRPCError,
    JSONRPCResponse,
)

_SHARED_CODES = (CONNECTION_CLOSED, REQUEST_TIMEOUT)
_LOST_ANSWER = "SSE stream "
"""How the SDK's transport begins its message about an answer that never came."""
_UNKNOWN_SESSION = "Session terminated"
"""The SDK's transport's message if the server does not know the session any more."""

_NO_ANSWER = "Server returned an error response"
"""The SDK's transport's message if the server answered with only an HTTP status."""


class ServerErrorData(msgspec.Struct, frozen=True):
    """Added to the data of an error that the server itself gave."""

    data: Any


class WatchedTransport:
    """Wraps a transport for the SDK's client."""

    def __init__(self, transport: AbstractAsyncContextManager[TransportStreams]) -> None:
        self._transport = transport
        self.ended: asyncio.Event = getattr(transport, "lost", None) or asyncio.Event()
        """No more messages come, or none would be answered."""

    @property
    def fault(self) -> str:
        """What is wrong with the connection, if its transport knows."""
        return getattr(self._transport, "fault", "")

    async def __aenter__(self) -> TransportStreams:
        read, write = await self._transport.__aenter__()
        return _WatchedStream(read, self.ended), write

    async def __aexit__(self, *error: Any) -> bool | None:
        self.ended.set()
        return await self._transport.__aexit__(*error)


def server_error(error: MCPError) -> MCPError | None:
    """The error as the server gave it; None for one that the SDK made."""
    if error.code not in _SHARED_CODES:
        return error
    if isinstance(error.error.data, ServerErrorData):
        return MCPError(error.code, error.message, error.error.data.data)
    return None


def is_unknown_session(error: MCPError) -> bool:
    """Whether the server rejected the request because it does not know the session."""
    return error.code == INVALID_REQUEST and error.message == _UNKNOWN_SESSION


def is_http_status(error: MCPError) -> bool:
    """Whether the server answered with only an HTTP status."""
    return error.code == INTERNAL_ERROR and error.message == _NO_ANSWER


class _WatchedStream:
    """The stream that the SDK's client reads from."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            received: SessionMessage | Exception = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise
        message = received.message if isinstance(received, SessionMessage) else None
        if isinstance(message, JSONRPCResponse) and isinstance(received, SessionMessage):
            return SessionMessage(_opened(message), received.metadata)
        if not isinstance(message, JSONRPCError) or not isinstance(received, SessionMessage):
            return received
        if is_unknown_session(MCPError(message.error.code, message.error.message)):
            self._ended.set()
        return SessionMessage(_marked(message), received.metadata)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _opened(message: JSONRPCResponse) -> JSONRPCResponse:
    """A task of 2025-11-25 as a result that the SDK accepts; it does not know tasks here."""
    result = message.result
    if not isinstance(result.get("task"), dict) or "content" in result:
        return message
    return message.model_copy(update={"result": {**result, "content": []}})


def _marked(message: JSONRPCError) -> JSONRPCError:
    error = message.error
    if error.code not in _SHARED_CODES:
        return message
    if error.code == CONNECTION_CLOSED and error.message.startswith(_LOST_ANSWER):
        return message
    marked = error.model_copy(update={"data": ServerErrorData(error.data)})
    return message.model_copy(update={"error": marked})
