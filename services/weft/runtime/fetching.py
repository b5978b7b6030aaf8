"""An item's whole body for a worker: its own text, or what the object store holds for it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from weft.log.bodies import Bodies
from weft_schemas.items import ContextItem

MOST_TEXT_BYTES = 1 << 20
"""Of a trusted body that a worker reads as text: far more than any turn or plan holds."""


async def text_of(item: ContextItem, bodies: Bodies) -> str:
    """Its text, or the first `MOST_TEXT_BYTES` of its body. Raises `NotFound` for a body that is
    not there (yet)."""
    if item.body is None:
        return item.text
    return (await bodies.get(item.body, MOST_TEXT_BYTES)).decode("utf-8", "replace")


@asynccontextmanager
async def body_of(item: ContextItem, bodies: Bodies) -> AsyncIterator[str | Path]:
    """Its text, or a temporary file with its checked body, which may be larger than memory."""
    if item.body is None:
        yield item.text
        return
    folder = tempfile.TemporaryDirectory(prefix="weft-")
    try:
        path = Path(folder.name) / "body"
        with path.open("wb") as file:
            await bodies.write_into(item.body, file)
        yield path
    finally:
        # Freeing a large file takes milliseconds, for which small items would wait.
        await asyncio.to_thread(folder.cleanup)
