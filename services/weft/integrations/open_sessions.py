"""The sessions that an integration has open, by name. Each is made once, whichever thread asks
first, and forgotten when many others were asked for since."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_OPEN = 1_000
"""How many are kept; what is in use, or has something to send, is kept in addition."""


class OpenSessions(Generic[T]):
    """Any number of threads may use it at once."""

    def __init__(
        self, make: Callable[[str], T], is_needed: Callable[[T], bool], most: int = MAX_OPEN
    ) -> None:
        self._make = make
        self._is_needed = is_needed
        self._most = most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def of(self, name: str) -> T:
        """The one of this name, made now if there is none."""
        with self._lock:
            found = self._open.get(name)
            if found is None:
                found = self._open[name] = self._make(name)
                self._forget_oldest(name)
            self._open.move_to_end(name)
            return found

    def _forget_oldest(self, new: str) -> None:
        """Down to the limit again, also if more had to be kept for a while."""
        spare = len(self._open) - self._most
        if spare > 0:
            free = (n for n, one in self._open.items() if n != new and not self._is_needed(one))
            for name in list(islice(free, spare)):
                del self._open[name]
