"""When a server has been idle for so long that it is ended: it works on no call and on no task."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager


class Idleness:
    def __init__(self, most: float) -> None:
        """`most` are the seconds after its last call until it is ended; 0 is never."""
        self._most = most
        self._calls = 0
        """On the way."""
        self._last_used = 0.0
        self._tasks: dict[str, float] = {}
        """That it works on, until when each is good."""

    def begin(self) -> None:
        """It was started now."""
        self._last_used = _now()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While it is called."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._last_used = _now()

    def keep_for(self, task: str, ttl_ms: int | None) -> None:
        """It works on a task, which is good for so many milliseconds, or for ever."""
        self._tasks[task] = math.inf if ttl_ms is None else _now() + ttl_ms / 1_000

    def keep_no_more(self, task: str) -> None:
        """The task has ended."""
        self._tasks.pop(task, None)

    def left(self) -> float | None:
        """Seconds until it is ended; None where it never is."""
        if not self._most:
            return None
        now = _now()
        self._tasks = {task: until for task, until in self._tasks.items() if until > now}
        if self._calls or self._tasks:
            return self._most
        return max(0.0, self._last_used + self._most - now)


def _now() -> float:
    return asyncio.get_running_loop().time()
