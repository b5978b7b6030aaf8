"""How often a caller may ask, how many streams it may hold open, and how many bytes of its requests
may be in work: token buckets over a given clock, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.http.problems import RequestRefused

RATE = 200.0
"""Requests per second and caller, unless set otherwise."""
MEGABYTE = 1_000_000
MAX_BODY_BYTES = 32 * MEGABYTE
"""Longest body of a request in bytes, unless set otherwise."""
BURST_SECONDS = 2.0
"""The unused allowance of up to this many seconds may be used at once."""
STREAMS = 100
"""Open streams per caller."""
OWN_BODIES, ALL_BODIES = 2, 4
"""How many bodies of the largest size one caller, and all callers together, may have in work. While
it is decoded and published, a body takes four to eight times its size, and a gzipped one of 30 KB
may hold 32 MB."""


class CallerLimits:
    """The buckets, streams and bodies of every caller, by name."""

    def __init__(self, now: Callable[[], float], largest_body: int, streams: int = STREAMS) -> None:
        self._now = now
        self._largest = largest_body
        self._most = streams
        self._level: dict[str, tuple[float, float]] = {}
        """Name → requests left, and the time of that."""
        self._open: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def take(self, name: str, rate: float) -> None:
        """Count one request of a caller that may make `rate` per second. Raises
        `RequestRefused`."""
        most, now = max(1.0, rate * BURST_SECONDS), self._now()
        left, then = self._level.get(name, (most, now))
        left = min(most, left + (now - then) * rate)
        if left < 1:
            self._level[name] = (left, now)
            wait = max(1, round((1 - left) / rate + 0.5))
            raise RequestRefused(
                429,
                "rate",
                f"{name} may make {rate:g} requests a second; wait {wait} s, or publish many items "
                "in one request",
                retry_after=str(wait),
            )
        self._level[name] = (left - 1, now)

    @contextmanager
    def stream(self, name: str) -> Iterator[None]:
        """Counts a caller's stream while it is open. Raises `RequestRefused`."""
        if self._open[name] >= self._most:
            raise RequestRefused(
                429,
                "streams",
                f"{name} holds {self._most} streams already; close some",
                retry_after="1",
            )
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1

    @contextmanager
    def body(self, name: str, size: int) -> Iterator[None]:
        """Counts a body of this unpacked size while it is in progress. Raises `RequestRefused`."""
        own, others = self._bytes[name], self._bytes.total()
        for who, held, bodies in (
            (name, own, OWN_BODIES),
            ("this process", others, ALL_BODIES),
        ):
            if held + size > bodies * self._largest:
                raise RequestRefused(
                    429,
                    "bodies",
                    f"{who} has requests of {held:,} bytes in work, and this one has {size:,}; "
                    f"the most is {bodies * self._largest:,}: wait for answers, or send less",
                    retry_after="1",
                )
        self._bytes[name] += size
        try:
            yield
        finally:
            self._bytes[name] -= size
