"""ArtifactStore: the raw bodies of items. One of up to `THRESHOLD_BYTES` is in its event, a larger
one in the object store, and the event refers to it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from weft.log.api import call
from weft.log.bodies import THRESHOLD_BYTES, Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read
from weft.log.topology import BODIES_STREAM
from weft_schemas.errors import Corrupt, Forbidden, InvalidInput
from weft_schemas.items import ContextItem

MAX_TEXT_BYTES = 1 << 20
"""Most of a trusted body that a worker reads as text: far more than any turn or plan has."""


class ArtifactStore:
    """Keeps and reads bodies. Share one between tasks."""

    def __init__(self, connection: Connection, publisher: Publisher) -> None:
        self._connection = connection
        self._publisher = publisher
        self._has_objects: bool | None = None

    async def keep(self, tenant: str, item: ContextItem) -> ContextItem:
        """The item to publish: a large text is stored first and replaced by a reference to it,
        unless the credential has no access to the object store."""
        body = item.text.encode()
        if len(body) <= THRESHOLD_BYTES or not await self._objects_are_here():
            return item
        return msgspec.structs.replace(item, text="", body=await self._of(tenant).put(body))

    async def check(self, tenant: str, item: ContextItem) -> None:
        """Raises `InvalidInput` if the item refers to a body that its tenant does not have, unless
        the credential has no access to the object store."""
        if item.body is None or not await self._objects_are_here():
            return
        if not await self._of(tenant).exists(item.body.sha256):
            raise InvalidInput(
                f"item {item.id!r}: $.body refers to {item.body.sha256}, and tenant {tenant!r} has "
                "no such body; give the text, it is stored on the way"
            )

    async def item(self, sequence: int, item_id: str) -> ContextItem:
        """The item of an artifact. Raises `NotFound` if erased, `Corrupt` if it is another."""
        event = (await read(self._connection, sequence)).event()
        if not isinstance(event, ContextItem) or event.id != item_id:
            raise Corrupt(
                f"event {sequence} is not item {item_id!r}, as the read model says; rebuild it"
            )
        return event

    async def text(self, tenant: str, item: ContextItem) -> str:
        """Its text, or the first `MAX_TEXT_BYTES` of its body. Raises `NotFound` without one."""
        if item.body is None:
            return item.text
        body = await self._of(tenant).get(item.body, MAX_TEXT_BYTES)
        return body.decode("utf-8", "replace")

    @asynccontextmanager
    async def body(self, tenant: str, item: ContextItem) -> AsyncIterator[str | Path]:
        """Its text, or a temporary file with its checked body, which may be larger than memory.

        Raises `NotFound` for a body that is not there (yet), `Corrupt` for one with other bytes.
        """
        if item.body is None:
            yield item.text
            return
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        try:
            path = Path(folder.name) / "body"
            with path.open("wb") as file:
                await self._of(tenant).write_into(item.body, file)
            yield path
        finally:
            # Freeing a large file takes milliseconds, for which small items would wait.
            await asyncio.to_thread(folder.cleanup)

    def _of(self, tenant: str) -> Bodies:
        return Bodies(self._connection, self._publisher, tenant)

    async def _objects_are_here(self) -> bool:
        if self._has_objects is None:
            try:
                await call(self._connection, f"STREAM.INFO.{BODIES_STREAM}")
                self._has_objects = True
            except Forbidden:
                self._has_objects = False
        return self._has_objects
