"""`Idempotency-Key`: a repeated request gets the first one's answer, within one process and for a
while. Publishing does not need it, since an item's id identifies it. The key saves a second
compile's audit record, and it ensures that one key is used for one body only. A key counts for one
token and one address: at another it is a new one."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from weft.http.problems import RequestRefused
from weft_schemas.errors import Unavailable

MAX_ANSWERS = 10_000
MAX_BYTES = 64 * 1024 * 1024
"""Bytes of kept answers; the oldest are dropped first."""
KEPT_SECONDS = 600.0
MAX_CHARACTERS = 256

_BROKEN_OFF = "the first request under this Idempotency-Key was broken off; send it again"

Work = Callable[[], Awaitable[bytes]]


class _Entry(msgspec.Struct):
    fingerprint: bytes
    since: float
    answer: asyncio.Future[bytes]
    size: int = 0


class Answers:
    """The answers by key."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._entries: OrderedDict[tuple[str, ...], _Entry] = OrderedDict()
        self._bytes = 0

    async def once(self, key: tuple[str, ...], body: bytes, work: Work) -> tuple[bytes, bool]:
        """The result of `work`, or of an earlier request with this key, and whether it is an
        earlier one. Requests that come while the first is running wait for it. A failure is not
        kept. Raises `RequestRefused` if the key came with another body before."""
        self._forget()
        fingerprint = hashlib.sha256(body).digest()
        entry = self._entries.get(key)
        if entry is not None:
            if entry.fingerprint != fingerprint:
                raise RequestRefused(
                    422,
                    "idempotency_key",
                    "another body came under this Idempotency-Key to this address; make a new key "
                    "for each request",
                )
            return await asyncio.shield(entry.answer), True
        entry = self._entries[key] = _Entry(fingerprint, self._now(), asyncio.Future())
        # Others need not wait for it; then only the first caller learns of its failure.
        entry.answer.add_done_callback(lambda done: done.exception())
        try:
            answer = await work()
        except BaseException as error:
            del self._entries[key]
            failure = error if isinstance(error, Exception) else Unavailable(_BROKEN_OFF)
            entry.answer.set_exception(failure)
            raise
        entry.answer.set_result(answer)
        entry.size = len(answer)
        self._bytes += entry.size
        return answer, False

    def _forget(self) -> None:
        """Drop answers that are too old, and the oldest if there are too many; but none that is
        still awaited."""
        for key, entry in tuple(self._entries.items()):
            old = self._now() - entry.since > KEPT_SECONDS
            much = len(self._entries) > MAX_ANSWERS or self._bytes > MAX_BYTES
            if not (old or much):
                return
            if entry.answer.done():
                self._bytes -= entry.size
                del self._entries[key]


def checked_key(value: str) -> str:
    """Check the key's form. Raises `RequestRefused`."""
    if not value.isascii() or not value.isprintable() or len(value) > MAX_CHARACTERS:
        raise RequestRefused(
            400,
            "idempotency_key",
            f"an Idempotency-Key has at most {MAX_CHARACTERS} printable ASCII characters",
        )
    return value
