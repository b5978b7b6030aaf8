"""Snapshots: a replica's read model with its checkpoint, stored as an object, so that a new replica
only folds what came after it. A snapshot can be used if it was taken of this log, and if this
release reads its tables."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from msgspec import structs

from weft.log import reading, stream_identity
from weft.log.bodies import Bodies, ObjectMeta
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import StreamState
from weft.log.stream_identity import StreamIdentity
from weft.log.topology import SNAPSHOTS_BUCKET, SNAPSHOTS_STREAM
from weft.readmodel.database import Database
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Generations, discard, reader_lock
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import get_meta, schema_version
from weft.snapshots.erasure_mark import last_erasure, missed_erasure
from weft.snapshots.trim_mark import keep_mark, trimmed_before, was_ever_trimmed
from weft_schemas.errors import Conflict, Corrupt, NotFound
from weft_schemas.items import BodyRef

RETAINED = 2
"""Snapshots of one release and encoding that are kept when a new one is taken: if the newest proves
unusable, the one before it still saves most of the log."""

TAKE_ONE = (
    "Take one with `weft snapshot` from the data folder of a replica that has them, or restore the "
    f"stream {SNAPSHOTS_STREAM} from a backup that was taken after the trimming"
)
NOTHING_LEFT = (
    "If nothing of all that is left, `weft rebuild --accept-loss` builds a read model of what the "
    "log still holds, and the log says from then on that the rest is lost"
)
ERASURE_SECONDS = 5.0
"""How long to wait for a read model to fold an erasure that came while a snapshot was stored."""
_POLL_SECONDS = 0.1


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

    @property
    def kind(self) -> tuple[str, str, str]:
        """Those of one kind can replace each other: of one log, release and encoding."""
        return self.identity.created, self.schema_version, self.encoding


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
        stored = [one for one in await self.snapshots() if one.name == reference.sha256]
        # An erasure may have deleted it already, which `take` finds out.
        return stored[0] if stored else structs.replace(made, name=reference.sha256)

    async def fetch(self, snapshot: Snapshot, path: Path) -> None:
        """Write a snapshot to a file. Raises `NotFound`, and `Corrupt` if it is damaged."""
        with path.open("wb") as file:
            await self.objects.write_into(snapshot.reference, file)

    async def delete(self, snapshot: Snapshot) -> None:
        """Delete it completely."""
        await self.objects.delete(snapshot.name)


async def take(connection: Connection, data_dir: Path) -> Snapshot:
    """Take a snapshot of the replica in a data folder, while it serves, and delete those that are
    `superseded`. Raises `NotFound` if the folder holds no read model, `Corrupt` if that is not of
    this log, and `Conflict` if it has not folded an erasure."""
    if not (data_dir / "replica").is_dir():
        raise _no_read_model(data_dir)
    while True:
        made = await _stored(connection, data_dir)
        async with Bucket(connection) as bucket:
            # An erasure that has looked for snapshots before this one was stored missed it.
            erased = await last_erasure(connection)
            if erased <= made.sequence:
                await keep_mark(connection)
                are_last = await was_ever_trimmed(connection)
                for old in superseded(await bucket.snapshots(), made, erased, are_last):
                    await bucket.delete(old)
                await bucket.objects.erase_unfinished()
                return made
            await bucket.delete(made)
        await _until_folded(data_dir, erased)


async def _until_folded(data_dir: Path, erasure: int) -> None:
    """Wait until a read model has folded an erasure, so that the next snapshot is without it."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + ERASURE_SECONDS
    while (checkpoint := await _checkpoint(data_dir)) < erasure:
        if clock() > deadline:
            raise Conflict(
                f"the read model in {data_dir} stands at {checkpoint} and has not folded the "
                f"erasure at {erasure}: the snapshot was deleted again. Let its indexer catch up, "
                "then take it again"
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _checkpoint(data_dir: Path) -> int:
    """0 while there is no read model that is read."""
    current = Generations(data_dir).current()
    if current is None:
        return 0
    async with Database.reading(current) as db:
        return await db.run(lambda read: int(get_meta(read, "checkpoint") or 0))


async def _stored(connection: Connection, data_dir: Path) -> Snapshot:
    async with Bucket(connection) as bucket:
        await bucket.snapshots()  # raises now what storing it would raise at the end
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
        await stream_identity.check(connection, stored)
        async with Bucket(connection) as bucket:
            return await bucket.put(copy)
    finally:
        lock.release()
        discard(copy)


def superseded(
    found: list[Snapshot], made: Snapshot, erased: int, are_last: bool
) -> list[Snapshot]:
    """The snapshots, of these (newest first), that are not needed now that `made` is stored: those
    of a log that was made anew since; of every kind, all but the `RETAINED` newest; and of `made`'s
    kind, those from before the newest erasure. These may still hold erased content, if a process
    that stored one meanwhile was killed. With `are_last`, a log was trimmed, and its trimmed events
    are only in its snapshots: these stay, since that log may be restored from a backup."""
    kept: Counter[tuple[str, str, str]] = Counter()
    gone = []
    for one in found:
        is_needed = are_last or one.identity.created == made.identity.created
        is_clean = one.kind != made.kind or one.sequence >= erased
        if one.name == made.name or (is_needed and is_clean and kept[one.kind] < RETAINED):
            kept[one.kind] += 1
        else:
            gone.append(one)
    return gone


async def newest(connection: Connection, encoding: str) -> Snapshot | None:
    """The newest snapshot that a replica of this release can start from; None if there is none."""
    return next(iter(await fitting(connection, encoding)), None)


async def fitting(connection: Connection, encoding: str) -> list[Snapshot]:
    """The snapshots that a replica of this release can start from, newest first."""
    return [one for one, why in await judged(connection, encoding) if not why]


async def judged(connection: Connection, encoding: str) -> list[tuple[Snapshot, str]]:
    """Every snapshot, newest first, and why no replica of this release can start from it; empty if
    one can."""
    try:
        async with Bucket(connection) as bucket:
            found = await bucket.snapshots()
    except NotFound:
        return []
    now, before = await reading.state(connection), await trimmed_before(connection)
    return [(one, await _misfit(connection, one, now, encoding, before)) for one in found]


async def _misfit(
    connection: Connection, one: Snapshot, now: StreamState, encoding: str, before: int
) -> str:
    if one.schema_version != schema_version():
        return "is of a release with another read model"
    if one.encoding != encoding:
        return f"counts in {one.encoding}, not in {encoding}"
    if lacks := await _lacks(connection, one, now, before):
        return lacks
    missed = await missed_erasure(connection, one.sequence)
    return f"cannot be used: {missed}" if missed else ""


async def _lacks(connection: Connection, one: Snapshot, now: StreamState, before: int) -> str:
    """Why it does not hold what was trimmed of this log; empty if it does."""
    if one.sequence < before - 1:
        return f"ends at {one.sequence} and lacks what was trimmed"
    if one.sequence > now.last:
        return f"ends at {one.sequence}, and the log at {now.last}"
    try:
        await stream_identity.check(connection, one.identity)
    except Corrupt:
        return "is of another log"
    return ""


async def of_any_release(connection: Connection, before: int) -> list[Snapshot]:
    """The snapshots that hold what was trimmed from this log, newest first, including those that no
    replica of this release and encoding can start from."""
    try:
        async with Bucket(connection) as bucket:
            found = await bucket.snapshots()
    except NotFound:
        return []
    now = await reading.state(connection)
    return [one for one in found if not await _lacks(connection, one, now, before)]


async def holding_trimmed(connection: Connection, bucket: Bucket, before: int) -> Snapshot | None:
    """The newest snapshot that holds what was trimmed `before` an event and that this release
    reads, in any encoding: of this log, else of the one that it was restored from."""
    created = (await reading.state(connection)).created
    fitting = [
        one
        for one in await bucket.snapshots()
        if one.sequence >= before - 1 and one.schema_version == schema_version()
    ]
    own = [one for one in fitting if one.identity.created == created]
    return next(iter(own or fitting), None)


def ordered(entries: Iterable[ObjectMeta]) -> list[Snapshot]:
    """The snapshots among the bucket's entries, newest first."""
    found = []
    for entry in entries:
        if described := entry.metadata.get("weft.snapshot"):
            snapshot = msgspec.json.decode(described, type=Snapshot)
            place = {"name": entry.name, "size": entry.size, "taken": entry.mtime}
            found.append(structs.replace(snapshot, **place))
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
