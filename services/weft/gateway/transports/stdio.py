"""A server as a child process, with limits: on a message's size and on what is kept of its stderr.
Nothing of it is left running. The SDK's own transport would read a line of any length into
memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.transports.lone_surrogates import without_lone_surrogates
from weft.gateway.transports.process_limits import limited_command

STOP_SECONDS = 2.0
"""For it to end on its own once its stdin is closed, and again after SIGTERM."""
_READ_BYTES = 1 << 20
_END_SECONDS = 0.5
"""For its process to end once its stdout is closed."""
_STDERR_LINES = 20
_STDERR_BYTES = 2_000
"""How much of what it wrote last stands in an error's text."""


class _InvalidMessage(Exception):
    """The server sent what is no message. `_receive` ends the connection, with this reason."""


class StdioServer:
    """`async with StdioServer(spec) as (read, write):`, a transport for the SDK's client."""

    def __init__(self, spec: ServerSpec, asked: Callable[[JSONRPCRequest], None]) -> None:
        """`asked` is called with each request of the server, before it is answered."""
        self._spec = spec
        self._asked = asked
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._said: deque[str] = deque(maxlen=_STDERR_LINES)
        self._stopping = False
        self.fault = ""
        """The connection's error, if there was one."""
        self.ended = asyncio.Event()
        """No more messages come."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def said(self) -> str:
        """The end of what it wrote on stderr."""
        return "\n".join(self._said)[-_STDERR_BYTES:]

    async def __aenter__(self) -> TransportStreams:
        spec = self._spec
        env = {**get_default_environment(), **spec.env}
        self._process = await asyncio.create_subprocess_exec(
            *limited_command(spec, env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=spec.cwd,
            start_new_session=True,
            limit=_READ_BYTES,
        )
        to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_client = anyio.create_memory_object_stream[SessionMessage](0)
        self._streams = (to_client, read, write, from_client)
        self._tasks = [
            asyncio.create_task(self._receive(to_client)),
            asyncio.create_task(self._send(from_client)),
            asyncio.create_task(self._hear()),
        ]
        return read, write

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._stop())

    async def _receive(self, to_client: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            async for line in _lines(self._process.stdout, self._spec.limits.message_bytes):
                if not line.lstrip().startswith(b"{"):
                    if line.strip():  # a stray print
                        self._said.append(line.decode("utf-8", "replace")[:_STDERR_BYTES])
                    continue
                message = _message(line)
                if isinstance(message, JSONRPCRequest):
                    self._asked(message)
                await to_client.send(SessionMessage(message))
        except _InvalidMessage as error:
            self.fault = str(error)
            self._kill(signal.SIGKILL)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        finally:
            await self._look_at_end()
            self.ended.set()
            to_client.close()

    async def _look_at_end(self) -> None:
        """Which signal ended it, if one did: that of a limit, or another."""
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            code = await asyncio.wait_for(self._process.wait(), _END_SECONDS)
            if code < 0 and not self.fault and not self._stopping:
                self.fault = f"it was ended by {_name_of(-code)}"

    async def _send(self, from_client: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        stdin = self._process.stdin
        try:
            async for sent in from_client:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode() + b"\n")
                await stdin.drain()
        except (OSError, anyio.ClosedResourceError):
            self.ended.set()

    async def _hear(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with contextlib.suppress(OSError):
            while chunk := await self._process.stderr.read(_READ_BYTES):
                for line in chunk[-_STDERR_BYTES:].decode("utf-8", "replace").splitlines():
                    self._said.append(line)

    async def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        self._stopping = True
        for stream in self._streams:
            stream.close()
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            await self._until_ended(process)
        finally:  # also if this is cancelled, since the program ends
            self._kill(signal.SIGKILL)  # and processes that it left behind
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            # A grandchild that keeps a pipe open would otherwise keep the transport open, which
            # then warns.
            process._transport.close()  # type: ignore[attr-defined]
            self.ended.set()

    async def _until_ended(self, process: asyncio.subprocess.Process) -> None:
        """Wait until it ends on its own, or after SIGTERM, each for some time."""
        for number in (None, signal.SIGTERM):
            if number is not None:
                self._kill(number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
                return

    def _kill(self, number: signal.Signals) -> None:
        """The process and all that it started."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _message(line: bytes) -> JSONRPCMessage:
    """Raises `_InvalidMessage`."""
    try:
        return jsonrpc_message_adapter.validate_json(without_lone_surrogates(line), by_name=False)
    except ValueError:
        raise _InvalidMessage("it sent what is no JSON-RPC message") from None


async def _lines(stream: asyncio.StreamReader, most: int) -> AsyncIterator[bytes]:
    """Raises `_InvalidMessage` for a line that is longer."""
    pieces: list[bytes] = []
    size = 0
    while chunk := await stream.read(_READ_BYTES):
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join((*pieces, line)) if pieces else line
            pieces, size = [], 0
        if rest:
            pieces.append(rest)
            size += len(rest)
        if size > most:
            raise _InvalidMessage(f"it sent a message of more than {most:,} bytes")


def _name_of(number: int) -> str:
    """Real-time signals have no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
