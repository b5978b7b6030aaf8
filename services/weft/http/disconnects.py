"""Ends work when its caller goes away, as a browser does whose user leaves: nobody would read the
answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from weft_schemas.errors import Unavailable

T = TypeVar("T")
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
"""ASGI's, after the body was received."""


async def while_connected(work: Awaitable[T], receive: Receive) -> T:
    """The result of the work. Raises `Unavailable`, for nobody, if the caller goes away."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Unavailable("the caller closed its connection before the answer; send it again")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
