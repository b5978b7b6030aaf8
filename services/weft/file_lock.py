"""A lock on a file, between processes: the operating system releases it when its holder dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path


class FileLock:
    """The file is created if it is missing, and is never removed."""

    def __init__(self, path: Path, shared: bool = False) -> None:
        self._path = path
        self._kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        self.descriptor: int | None = None
        """While the lock is held. A child process that inherits it holds the lock, too."""

    def acquire(self, wait: bool = False) -> bool:
        """Take the lock, now or after waiting. Returns whether it is held."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, self._kind | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor
        return True

    async def acquired(self, poll_seconds: float) -> None:
        """Take the lock without blocking the event loop, trying again every `poll_seconds`."""
        while not self.acquire():
            await asyncio.sleep(poll_seconds)

    def release(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
