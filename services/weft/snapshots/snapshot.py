"""Snapshots: a replica's read model with its checkpoint, stored as an object, so that a new replica
only folds what came after it. A snapshot can be used if it was taken of this log, and if this
release reads its tables."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from weft.log import identity, reading
from weft.log.bodies import Bodies, Meta
from weft.log.connection import Connection
from weft.log.identity import StreamIdentity
from weft.log.publishing import Publisher
from weft.log.topology import SNAPSHOTS_BUCKET
from weft.readmodel.database import Database
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Generations, discard, reader_lock
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import get_meta, schema_version
from weft_schemas.errors import NotFound, Unavailable
from weft_schemas.items import BodyRef

RETAINED = 2
"""Snapshots that are kept when a new one is taken: if the newest proves unusable, the one before it
still saves most of the log."""


class Snapshot(msgspec.Struct, frozen=True):
    """One snapshot in the object store."""

    name: str
    """SHA-256 of the file, in hex; also the object's name."""
    size: int
    """Bytes."""
    sequence: int
    """Everything up to here is folded."""
    identity: StreamIdentity
    """When the log was created that it was taken of."""
    digest: str
    """Content digest of the read model."""
    schema_version: str
    encoding: str
    taken: str = ""
    """Time, RFC 3339."""

    @property
    def reference(self) -> BodyRef:
        return BodyRef(self.name, self.size)


class Bucket:
    """`async with Bucket(connection) as bucket:`"""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.objects: Bodies
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Bucket:
        self.publisher = await self._open.enter_async_context(Publisher(self.connection))
        self.objects = Bodies(self.connection, self.publisher, "", SNAPSHOTS_BUCKET)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def snapshots(self) -> list[Snapshot]:
        """All snapshots, newest first."""
        return ordered(await self.objects.entries())

    async def put(self, path: Path) -> Snapshot:
        """Store a read model's file; nobody may be writing it."""
        async with Database.reading(path) as db:
            made = await db.run(_described)
        described = msgspec.json.encode(made).decode()
        reference = await self.objects.put_file(path, {"weft.snapshot": described})
        return next(one for one in await self.snapshots() if one.name == reference.sha256)

    async def fetch(self, snapshot: Snapshot, path: Path) -> None:
        """Write a snapshot to a file. Raises `NotFound`, and `Corrupt` if it is damaged."""
        with path.open("wb") as file:
            await self.objects.write_into(snapshot.reference, file)

    async def delete(self, snapshot: Snapshot) -> None:
        """Delete it completely."""
        await self.objects.delete(snapshot.name)


async def take(connection: Connection, data_dir: Path) -> Snapshot:
    """Take a snapshot of the replica in a data folder, while it serves, and delete older ones than
    `RETAINED`. Raises `NotFound` if the folder holds no read model, and `Corrupt` if that is not of
    this log."""
    if not (data_dir / "replica").is_dir():
        raise _no_read_model(data_dir)
    generations = Generations(data_dir)
    copy = generations.new()
    # Named and locked like a generation: if this process dies, the indexer removes the file.
    lock = reader_lock(copy)
    lock.acquire()
    try:
        current = generations.current()
        if current is None:
            raise _no_read_model(data_dir)
        await _copy(current, copy)
        async with Database.reading(copy) as db:
            stored = await db.run(_identity)
        await identity.check(connection, stored)
        async with Bucket(connection) as bucket:
            made = await bucket.put(copy)
            for old in (await bucket.snapshots())[RETAINED:]:
                await bucket.delete(old)
        return made
    finally:
        lock.release()
        discard(copy)


async def newest(connection: Connection, encoding: str) -> Snapshot | None:
    """The newest snapshot from which a replica of this release can start, None if there is none."""
    now = await reading.state(connection)
    try:
        async with Bucket(connection) as bucket:
            found = await bucket.snapshots()
    except (NotFound, Unavailable):
        return None
    return next((one for one in found if fits(one, now.created, now.last, encoding)), None)


def fits(snapshot: Snapshot, created: str, last: int, encoding: str) -> bool:
    """Whether it is of the log that was created then and ends at `last`, and can be read."""
    return (
        snapshot.identity.created == created
        and snapshot.sequence <= last
        and snapshot.schema_version == schema_version()
        and snapshot.encoding == encoding
    )


def ordered(entries: Iterable[Meta]) -> list[Snapshot]:
    """The snapshots among the bucket's entries, newest first."""
    found = []
    for entry in entries:
        if described := entry.metadata.get("weft.snapshot"):
            snapshot = msgspec.json.decode(described, type=Snapshot)
            place = {"name": entry.name, "size": entry.size, "taken": entry.mtime}
            found.append(msgspec.structs.replace(snapshot, **place))
    return sorted(found, key=lambda one: (one.sequence, one.taken), reverse=True)


def _no_read_model(data_dir: Path) -> NotFound:
    return NotFound(f"{data_dir} has no read model; name the replica's folder with --data")


async def _copy(current: Path, copy: Path) -> None:
    await asyncio.to_thread(PageChecksums(current).check_if_touched)
    async with Database.reading(current) as db:
        await db.execute("VACUUM INTO ?", (str(copy),))


def _described(db: sqlite3.Connection) -> Snapshot:
    return Snapshot(
        name="",
        size=0,
        sequence=int(get_meta(db, "checkpoint") or 0),
        identity=_identity(db),
        digest=content_digest(db),
        schema_version=str(get_meta(db, "schema_version")),
        encoding=str(get_meta(db, "encoding")),
    )


def _identity(db: sqlite3.Connection) -> StreamIdentity:
    text = str(get_meta(db, "identity") or "")
    if not text:
        raise NotFound("the read model is empty: publish something first")
    return msgspec.json.decode(text, type=StreamIdentity)
