"""How often a caller may ask, and how many streams it may hold open: token buckets over a given
clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weft.http.problems import RequestRefused

BURST_SECONDS = 2.0
"""The unused allowance of so many seconds may be used at once."""
STREAMS = 100
"""Open streams per caller."""


class CallerLimits:
    """The buckets and streams of every caller, by name."""

    def __init__(self, now: Callable[[], float], streams: int = STREAMS) -> None:
        self._now = now
        self._most = streams
        self._level: dict[str, tuple[float, float]] = {}
        """Name → requests left, and the time of that."""
        self._open: Counter[str] = Counter()

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
        """While a caller holds a stream open. Raises `RequestRefused`."""
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
