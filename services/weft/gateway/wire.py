"""What comes from a server, whatever carries it: when it ends, and which errors are its own. The
SDK's client tells of a lost connection and of a missing answer with codes that servers use, too."""

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
_LOST = "SSE stream "
"""With this the SDK's transport begins what it says for a server whose answer never came."""
_FORGOTTEN = "Session terminated"
"""What the SDK's transport says of a server that does not know the session any more."""

_NO_ANSWER = "Server returned an error response"
"""What the SDK's transport says of a server that answered with an HTTP status alone."""


class Own(msgspec.Struct, frozen=True):
    """The data of an error that the server itself gave."""

    data: Any


class Wire:
    """A transport for the SDK's client, listened to."""

    def __init__(self, transport: AbstractAsyncContextManager[TransportStreams]) -> None:
        self._transport = transport
        self.ended: asyncio.Event = getattr(transport, "lost", None) or asyncio.Event()
        """Nothing comes any more, or nothing would be answered."""

    @property
    def fault(self) -> str:
        """What is wrong with the connection, where its transport knows."""
        return getattr(self._transport, "fault", "")

    async def __aenter__(self) -> TransportStreams:
        read, write = await self._transport.__aenter__()
        return _Heard(read, self.ended), write

    async def __aexit__(self, *error: Any) -> bool | None:
        self.ended.set()
        return await self._transport.__aexit__(*error)


def own_error(error: MCPError) -> MCPError | None:
    """The error as the server gave it; None for one that the SDK made in its place."""
    if error.code not in _SHARED_CODES:
        return error
    if isinstance(error.error.data, Own):
        return MCPError(error.code, error.message, error.error.data.data)
    return None


def is_forgotten(error: MCPError) -> bool:
    """Whether the server did not look at the request, since it does not know the session."""
    return error.code == INVALID_REQUEST and error.message == _FORGOTTEN


def is_status(error: MCPError) -> bool:
    """Whether the server answered with an HTTP status in the place of an answer."""
    return error.code == INTERNAL_ERROR and error.message == _NO_ANSWER


class _Heard:
    """The stream that the SDK's client reads from."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            held: SessionMessage | Exception = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise
        message = held.message if isinstance(held, SessionMessage) else None
        if isinstance(message, JSONRPCResponse) and isinstance(held, SessionMessage):
            return SessionMessage(_opened(message), held.metadata)
        if not isinstance(message, JSONRPCError) or not isinstance(held, SessionMessage):
            return held
        if is_forgotten(MCPError(message.error.code, message.error.message)):
            self._ended.set()
        return SessionMessage(_marked(message), held.metadata)

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
    """A task of 2025-11-25 as a result that the SDK lets through, which knows none."""
    result = message.result
    if not isinstance(result.get("task"), dict) or "content" in result:
        return message
    return message.model_copy(update={"result": {**result, "content": []}})


def _marked(message: JSONRPCError) -> JSONRPCError:
    error = message.error
    if error.code not in _SHARED_CODES:
        return message
    if error.code == CONNECTION_CLOSED and error.message.startswith(_LOST):
        return message
    return message.model_copy(update={"error": error.model_copy(update={"data": Own(error.data)})})
