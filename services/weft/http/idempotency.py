"""`Idempotency-Key`: a repeated request gets the first one's answer, within one process and for a
while. Publishing does not need it, since an item's id identifies it. The key saves a second
compile's audit record, and it ensures that one key is used for one request only."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from weft.http.problems import RequestRefused
from weft_schemas.errors import Unavailable

MOST_ANSWERS = 10_000
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of kept answers; the oldest are dropped first."""
KEPT_SECONDS = 600.0
MOST_CHARACTERS = 256

_BROKEN_OFF = "the first request under this Idempotency-Key was broken off; send it again"

Work = Callable[[], Awaitable[bytes]]


class _Kept(msgspec.Struct):
    fingerprint: bytes
    since: float
    answer: asyncio.Future[bytes]
    size: int = 0


class Answers:
    """The answers by key."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()
        self._bytes = 0

    async def once(self, key: tuple[str, ...], body: bytes, work: Work) -> tuple[bytes, bool]:
        """The result of `work`, or of an earlier request with this key, and whether it is an
        earlier one. Requests that come while the first is running wait for it. A failure is not
        kept. Raises `RequestRefused` if the key came with another body before."""
        self._forget()
        print_of = hashlib.sha256(body).digest()
        kept = self._kept.get(key)
        if kept is not None:
            if kept.fingerprint != print_of:
                raise RequestRefused(
                    422,
                    "idempotency_key",
                    "another request came under this Idempotency-Key; make a new key for each",
                )
            return await asyncio.shield(kept.answer), True
        kept = self._kept[key] = _Kept(print_of, self._now(), asyncio.Future())
        # Others need not wait for it; then only the first caller learns of its failure.
        kept.answer.add_done_callback(lambda done: done.exception())
        try:
            answer = await work()
        except BaseException as error:
            del self._kept[key]
            failure = error if isinstance(error, Exception) else Unavailable(_BROKEN_OFF)
            kept.answer.set_exception(failure)
            raise
        kept.answer.set_result(answer)
        kept.size = len(answer)
        self._bytes += kept.size
        return answer, False

    def _forget(self) -> None:
        """Drop what is too old or too much, except what is still running."""
        for key, kept in tuple(self._kept.items()):
            old = self._now() - kept.since > KEPT_SECONDS
            much = len(self._kept) > MOST_ANSWERS or self._bytes > MOST_BYTES
            if not (old or much):
                return
            if kept.answer.done():
                self._bytes -= kept.size
                del self._kept[key]


def checked_key(value: str) -> str:
    """Check the key's form. Raises `RequestRefused`."""
    if not value.isascii() or not value.isprintable() or len(value) > MOST_CHARACTERS:
        raise RequestRefused(
            400,
            "idempotency_key",
            f"an Idempotency-Key has at most {MOST_CHARACTERS} printable ASCII characters",
        )
    return value
