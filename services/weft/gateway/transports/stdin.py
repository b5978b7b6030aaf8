"""Reads what a host writes on stdin, line by line, in a thread that the process does not wait for.
The SDK's own reader would delay SIGTERM and Ctrl-C until the host's next line."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from typing import Self

from weft.gateway.transports.lone_surrogates import without_lone_surrogates

_READ_BYTES = 1 << 16
_AHEAD = 64
"""Lines that are read ahead."""


class HostInput:
    """`stdio_server(stdin=HostInput())`"""

    def __init__(self) -> None:
        # A descriptor of its own, so that nothing else in this process or its children reads the
        # host's input.
        self._file = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="host-input", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        self._room.release()
        return without_lone_surrogates(line).decode("utf-8", "replace")

    def _read(self) -> None:
        rest = b""
        try:
            while chunk := os.read(self._file, _READ_BYTES):
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    self._give(rest + line)
                    rest = b""
                rest += last
        except OSError:
            pass
        if rest:
            self._give(rest)
        self._give(None)

    def _give(self, line: bytes | None) -> None:
        self._room.acquire()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
