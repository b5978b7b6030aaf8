"""`Idempotency-Key`: the same request again gets the first answer, in one process and for a while.

Publishing needs none of it: an item's id says what it is. The key spares a second compile its
audit record, and a client the doubt about what it sends under one key.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from weft.http.problems import Refused
from weft_schemas.errors import Unavailable

MOST_ANSWERS = 10_000
MOST_BYTES = 64 * 1024 * 1024
"""Of answers that are kept; the oldest go."""
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
    """The answers given under keys."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()
        self._bytes = 0

    async def once(self, key: tuple[str, ...], body: bytes, work: Work) -> tuple[bytes, bool]:
        """What `work` gives, or gave, under a key; and whether it is an earlier answer.

        Who asks while the first is in work waits for it. A failure is not kept. Raises `Refused`
        where another body came under the key before.
        """
        self._forget()
        print_of = hashlib.sha256(body).digest()
        kept = self._kept.get(key)
        if kept is not None:
            if kept.fingerprint != print_of:
                raise Refused(
                    422,
                    "idempotency_key",
                    "another request came under this Idempotency-Key; make a new key for each",
                )
            return await asyncio.shield(kept.answer), True
        kept = self._kept[key] = _Kept(print_of, self._now(), asyncio.Future())
        # Nobody else may wait for it; then its failure is told to who asked first alone.
        kept.answer.add_done_callback(lambda done: done.exception())
        try:
            answer = await work()
        except BaseException as error:
            del self._kept[key]
            told = error if isinstance(error, Exception) else Unavailable(_BROKEN_OFF)
            kept.answer.set_exception(told)
            raise
        kept.answer.set_result(answer)
        kept.size = len(answer)
        self._bytes += kept.size
        return answer, False

    def _forget(self) -> None:
        """Let go what is too old or too much, but what is in work."""
        for key, kept in tuple(self._kept.items()):
            old = self._now() - kept.since > KEPT_SECONDS
            much = len(self._kept) > MOST_ANSWERS or self._bytes > MOST_BYTES
            if not (old or much):
                return
            if kept.answer.done():
                self._bytes -= kept.size
                del self._kept[key]


def checked_key(value: str) -> str:
    """A key as it may be sent. Raises `Refused`."""
    if not value.isascii() or not value.isprintable() or len(value) > MOST_CHARACTERS:
        raise Refused(
            400,
            "idempotency_key",
            f"an Idempotency-Key has at most {MOST_CHARACTERS} printable ASCII characters",
        )
    return value
