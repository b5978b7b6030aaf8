"""A lock across processes, waited for without holding the event loop up."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def locked_file(path: Path, look_seconds: float) -> AsyncIterator[None]:
    """Hold the lock of a file, which is made where it is missing and never removed. It is tried
    every `look_seconds`; the system frees it when its holder ends."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(look_seconds)
        yield
    finally:
        os.close(file)
