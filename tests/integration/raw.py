"""NATS by hand: whatever bytes an attacker's client sends, which no library would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Raw:
    """One connection; `publish` sends any bytes as subject, reply, headers and payload."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.errors: list[bytes] = []
        """What the server said against it."""

    def publish(
        self, subject: bytes, payload: bytes, headers: bytes = b"", reply: bytes = b""
    ) -> None:
        """`headers` is the whole block, with its first line."""
        space = b" " if reply else b""
        if headers:
            sizes = b"%d %d" % (len(headers), len(headers) + len(payload))
            line = b"HPUB %b %b%b%b\r\n" % (subject, reply, space, sizes)
        else:
            line = b"PUB %b %b%b%d\r\n" % (subject, reply, space, len(payload))
        self._writer.write(line + headers + payload + b"\r\n")

    async def answered(self) -> bool:
        """Wait until the server has read all that was sent; False where it hung up."""
        try:
            self._writer.write(b"PING\r\n")
            await self._writer.drain()
            while line := await self._reader.readline():
                if line.startswith(b"PONG"):
                    return True
                if line.startswith(b"-ERR"):
                    self.errors.append(line)
        except OSError:
            pass
        return False


@asynccontextmanager
async def raw(url: str, user: str = "", password: str = "") -> AsyncIterator[Raw]:
    """A connection to the server at `url`."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        await reader.readline()
        hello = {"verbose": False, "pedantic": False, "headers": True, "user": user}
        writer.write(b"CONNECT %b\r\n" % json.dumps({**hello, "pass": password}).encode())
        client = Raw(reader, writer)
        assert await client.answered()
        yield client
    finally:
        writer.close()


async def publish_each(url: str, messages: list[tuple[bytes, bytes, bytes]]) -> int:
    """Publish (subject, headers, payload) each; one that makes the server hang up costs only
    itself. Returns how many it took."""
    taken = 0
    waiting = list(messages)
    while waiting:
        async with raw(url) as client:
            while waiting:
                subject, headers, payload = waiting.pop()
                client.publish(subject, payload, headers)
                if not await client.answered():
                    break
                taken += 1
    return taken
