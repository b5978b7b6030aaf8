"""When a server counts as idle, so that it can be ended: it is handling no call and no task."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager


class Idleness:
    def __init__(self, most: float) -> None:
        """`most`: seconds after its last call until it is ended; 0 means never."""
        self._most = most
        self._calls = 0
        """Calls that are running."""
        self._last_used = 0.0
        self._tasks: dict[str, float] = {}
        """Tasks that it works on → until when each is kept."""

    def begin(self) -> None:
        """It has just been started."""
        self._last_used = _now()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around a call to it."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._last_used = _now()

    def keep_for(self, task: str, ttl_ms: int | None) -> None:
        """It works on a task, which it keeps for so many milliseconds, or for ever."""
        self._tasks[task] = math.inf if ttl_ms is None else _now() + ttl_ms / 1_000

    def keep_no_more(self, task: str) -> None:
        """The task has ended."""
        self._tasks.pop(task, None)

    def left(self) -> float | None:
        """Seconds until it is ended; None if it never is."""
        if not self._most:
            return None
        now = _now()
        self._tasks = {task: until for task, until in self._tasks.items() if until > now}
        if self._calls or self._tasks:
            return self._most
        return max(0.0, self._last_used + self._most - now)


def _now() -> float:
    return asyncio.get_running_loop().time()
