"""Large bodies, in the object store under names made of their tenant and their bytes' SHA-256.

The layout is that of NATS Object Store, so any client in any language reads them. A body is
uploaded once: of several concurrent uploads the first to complete stays, and the others delete
their chunks. If a body has lost chunks, the next `put` uploads it again.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

import msgspec
import nats.nuid

from weft.bodies.masking import MAX_CLEAN_BYTES
from weft.log.api import call, config_of
from weft.log.connection import Connection
from weft.log.message import Ack, Message
from weft.log.publishing import Publisher
from weft.log.reading import last_of, nanoseconds, read_matching, subjects
from weft.log.secure_delete import erase, erase_all
from weft.log.topology import BODIES_STREAM
from weft_schemas.errors import Conflict, Corrupt, InvalidInput, NotFound, Unavailable, WeftError
from weft_schemas.ids import body_name, is_digest
from weft_schemas.items import BodyRef
from weft_schemas.subjects import BODIES_BUCKET

THRESHOLD_BYTES = 256 * 1024
"""A larger body is stored here, a smaller one stays in its event."""
CHUNK_BYTES = 128 * 1024
"""As Object Store clients use by default."""
PAGE_BYTES = 256 * 1024
"""Read at a time: small events on the same connection wait for no more than this, about 1 ms."""

UNFINISHED_SECONDS = 3_600
"""After this, chunks without an entry are those of an upload that was cut off."""
OWNER = "weft.tenant"
"""Metadata of a body's entry: whose it is."""


class ObjectMeta(msgspec.Struct):
    """The object's entry, as Object Store writes it."""

    name: str
    bucket: str
    nuid: str
    size: int
    chunks: int = 0
    digest: str = ""
    mtime: str = ""
    deleted: bool = False
    options: dict[str, Any] = {}
    metadata: dict[str, str] = {}


class Bodies:
    """The bodies of one tenant. Holds no state but its publisher; share one between tasks."""

    def __init__(
        self, connection: Connection, publisher: Publisher, tenant: str, bucket: str = BODIES_BUCKET
    ) -> None:
        """Without a `tenant`, as for snapshots, objects are named by the digest itself."""
        self.bucket = bucket
        self.tenant = tenant
        self._stream = f"OBJ_{bucket}"
        self._connection = connection
        self._publisher = publisher

    async def put(self, body: bytes) -> BodyRef:
        """Store a body, unless it is stored already. Returns its reference."""
        sha256 = hashlib.sha256(body).hexdigest()
        return await self.put_open(io.BytesIO(body), sha256, len(body))

    async def put_file(self, path: Path | str, metadata: dict[str, str] | None = None) -> BodyRef:
        """Store a file without reading all of it into memory; a new entry keeps the `metadata`."""
        with await asyncio.to_thread(open, path, "rb") as file:
            digest = await asyncio.to_thread(hashlib.file_digest, file, "sha256")
            return await self.put_open(file, digest.hexdigest(), file.tell(), metadata)

    async def put_open(
        self, file: IO[bytes], sha256: str, size: int, metadata: dict[str, str] | None = None
    ) -> BodyRef:
        """Store an open file whose digest is known."""
        file.seek(0)
        name, reference = self._name(sha256), BodyRef(sha256, size)
        known, sequence = await self._meta(name)
        if known is not None and await self._is_whole(known):
            return reference
        nuid = self._mark() + nats.nuid.NUID().next().decode()
        acks = await self._upload(file, nuid)
        meta = ObjectMeta(
            name=name,
            bucket=self.bucket,
            nuid=nuid,
            size=size,
            chunks=len(acks),
            digest="SHA-256=" + base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode(),
            mtime=datetime.now(UTC).isoformat(),
            options={"max_chunk_size": CHUNK_BYTES},
            metadata=metadata or ({OWNER: self.tenant} if self.tenant else {}),
        )
        await self._claim(meta, sequence)
        if known is not None and not known.deleted:
            await self._erase_chunks(known.nuid)
        return reference

    async def _upload(self, file: IO[bytes], nuid: str) -> list[Ack]:
        subject, pieces = self._chunk_subject(nuid), iter(lambda: file.read(CHUNK_BYTES), b"")
        try:
            return await self._publisher.publish_many(
                Message(subject, piece, f"{nuid}.{number}") for number, piece in enumerate(pieces)
            )
        except BaseException:
            # No entry refers to these chunks, and none will. Some may still be on their way, or the
            # server has them and has not stored them yet: then the ack of one more comes last.
            if await self._connection.flushed():
                with suppress(WeftError):
                    await self._publisher.publish(subject, b"", f"{nuid}.end")
            await self._erase_chunks(nuid)
            raise

    async def entries(self) -> list[ObjectMeta]:
        """The entry of every object, in order of upload."""
        subjects = f"$O.{self.bucket}.M.>"
        found = read_matching(self._connection, subjects, stream=self._stream)
        metas = [msgspec.json.decode(record.payload, type=ObjectMeta) async for record in found]
        return [meta for meta in metas if not meta.deleted]

    async def exists(self, sha256: str) -> bool:
        """Whether a body is stored whole."""
        meta, _ = await self._meta(self._name(sha256))
        return meta is not None and await self._is_whole(meta)

    async def get(self, reference: BodyRef, limit: int | None = None) -> bytes:
        """A body, or its first `limit` bytes (then unchecked).

        Raises `NotFound` for one that is not there, `Corrupt` for one with another digest.
        """
        body = bytearray()
        async with aclosing(self.chunks(reference)) as chunks:
            async for chunk in chunks:
                body += chunk
                if limit is not None and len(body) >= limit:
                    break
        return bytes(memoryview(body)[:limit])

    async def write_into(self, reference: BodyRef, file: BinaryIO) -> None:
        """Write a body to an open file, whose content is invalid if it raises, as `get` does."""
        async for chunk in self.chunks(reference):
            await asyncio.to_thread(file.write, chunk)

    async def chunks(self, reference: BodyRef) -> AsyncGenerator[bytes, None]:
        """A body in pieces, checked against its digest at the end. Raises as `get` does."""
        meta, _ = await self._meta(self._name(reference.sha256))
        if meta is None or meta.deleted:
            raise NotFound(
                f"body {reference.sha256} is not in the object store; it was erased or never stored"
            )
        state = hashlib.sha256()
        subject = self._chunk_subject(meta.nuid)
        pieces = read_matching(
            self._connection, subject, stream=self._stream, page_bytes=PAGE_BYTES
        )
        async with aclosing(pieces) as records:
            async for record in records:
                # 0.1 ms or more each: in a thread, so that other tasks do not wait.
                await asyncio.to_thread(state.update, record.payload)
                yield record.payload
        if state.hexdigest() != reference.sha256:
            raise Corrupt(
                f"body {reference.sha256} has other bytes in the object store; publish it again"
            )

    async def delete(self, sha256: str) -> int:
        """Erase a body: every chunk and its entry are overwritten in the stream's files. Returns
        the number of messages, 0 if there was none."""
        return await self._delete(self._name(sha256))

    async def _delete(self, name: str) -> int:
        meta, sequence = await self._meta(name)
        if meta is None:
            return 0
        await erase(self._connection, self._stream, sequence)
        return 1 + await self._erase_chunks(meta.nuid)

    async def delete_all(self) -> tuple[int, int]:
        """Erase every body of the tenant, whether or not an event refers to it. Returns how many
        bodies and how many messages that were."""
        own = [meta for meta in await self.entries() if meta.metadata.get(OWNER) == self.tenant]
        messages = sum([await self._delete(meta.name) for meta in own])
        left = await self._own_uploads()
        return len(own), messages + sum([await self._erase_chunks(nuid) for nuid in left])

    async def erase_unfinished(self) -> int:
        """Erase chunks of the tenant that no entry names, if the last is `UNFINISHED_SECONDS` old:
        of uploads that were cut off, as by a kill. Returns how many."""
        own = await self._own_uploads()
        named = {meta.nuid for meta in await self.entries()} if own else set()
        erased = 0
        for nuid in own:
            if nuid not in named and await self._seconds_since(nuid) >= UNFINISHED_SECONDS:
                erased += await self._erase_chunks(nuid)
        return erased

    async def _own_uploads(self) -> list[str]:
        """The names under which chunks of the tenant lie, with an entry or without."""
        chunks = await subjects(self._connection, self._chunk_subject("*"), self._stream)
        names = (subject.rpartition(".")[2] for subject in chunks)
        return [nuid for nuid in names if nuid.startswith(self._mark())]

    async def _seconds_since(self, nuid: str) -> float:
        """Since its last chunk was stored, by the server's clock: this machine's may be ahead, and
        chunks that are on their way would be erased."""
        last = await last_of(self._connection, self._chunk_subject(nuid), self._stream)
        now = (await call(self._connection, f"STREAM.INFO.{self._stream}"))["ts"]
        return (nanoseconds(now) - last.published_ns) / 1e9

    def _mark(self) -> str:
        """What the names of the tenant's chunks begin with."""
        return hashlib.sha256(self.tenant.encode()).hexdigest()[:12] if self.tenant else ""

    async def _erase_chunks(self, nuid: str) -> int:
        """Overwrite each chunk: a purge would leave the bytes in the stream's files."""
        subject = self._chunk_subject(nuid)
        chunks = read_matching(self._connection, subject, stream=self._stream)
        found = [record.sequence async for record in chunks]
        return await erase_all(self._connection, self._stream, found)

    async def _is_whole(self, meta: ObjectMeta) -> bool:
        """Whether all its chunks are there."""
        if meta.deleted:
            return False
        subject = self._chunk_subject(meta.nuid)
        filtered = {"subjects_filter": subject}
        info = await call(self._connection, f"STREAM.INFO.{self._stream}", filtered)
        return int((info["state"].get("subjects") or {}).get(subject, 0)) == meta.chunks

    async def _claim(self, meta: ObjectMeta, sequence: int) -> None:
        """Make this upload the object, unless another one was faster. If the outcome stays unknown,
        or the caller gives up, the chunks are kept: they may be the object's."""
        headers = {"Nats-Rollup": "sub", "Nats-Expected-Last-Subject-Sequence": str(sequence)}
        try:
            await self._publisher.publish(
                self._meta_subject(meta.name), msgspec.json.encode(meta), meta.nuid, headers
            )
        except Conflict:
            now, _ = await self._meta(meta.name)
            if now is None or now.nuid != meta.nuid:
                await self._erase_chunks(meta.nuid)

    def _name(self, sha256: str) -> str:
        if not is_digest(sha256):
            raise InvalidInput(f"body {sha256[:80]!r} is not a SHA-256 in hex")
        return body_name(self.tenant, sha256) if self.tenant else sha256

    async def _meta(self, name: str) -> tuple[ObjectMeta | None, int]:
        """The object's entry and its sequence, `(None, 0)` if there is none."""
        try:
            record = await last_of(self._connection, self._meta_subject(name), self._stream)
        except NotFound:
            return None, 0
        return msgspec.json.decode(record.payload, type=ObjectMeta), record.sequence

    def _chunk_subject(self, nuid: str) -> str:
        return f"$O.{self.bucket}.C.{nuid}"

    def _meta_subject(self, name: str) -> str:
        return f"$O.{self.bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


async def shown_body(connection: Connection, tenant: str, reference: BodyRef) -> bytes | None:
    """A body in the object store, of which an envelope records a clean text. None if it is gone,
    has other bytes, or is larger than any such body.

    Raises `Unavailable` if the object store does not answer, or is not there at all: whoever
    restores a log may restore it next.
    """
    bodies = Bodies(connection, Publisher(connection), tenant)  # nothing is published
    try:
        body = await bodies.get(reference, MAX_CLEAN_BYTES + 1)
    except NotFound:
        if await config_of(connection, BODIES_STREAM) is None:
            raise Unavailable(
                f"the log has no object store for body {reference.sha256}: restore "
                f"{BODIES_STREAM}, or make an empty one with `weft provision`"
            ) from None
        return None
    except (Corrupt, InvalidInput):
        return None
    except Unavailable as error:
        raise Unavailable(
            f"body {reference.sha256} could not be read from the object store: {error}"
        ) from None
    return body if len(body) <= MAX_CLEAN_BYTES else None
