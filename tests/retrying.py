"""Asking as a patient user does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from weft_schemas.errors import Unavailable

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds until a test counts what it waits for as missing."""


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask, and again where the answer is that it is not available now: between two leaders of a
    cluster, or while the machine has too much else to do."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await ask()
            except Unavailable:
                await asyncio.sleep(0.1)
