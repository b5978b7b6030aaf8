"""Large bodies: stored once, whole or not at all, readable by any Object Store client."""

import asyncio
import hashlib
import io
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_of
from weft.log.secure_delete import erase
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import InvalidInput, NotFound, Unavailable
from weft_schemas.ids import body_name
from weft_schemas.items import BodyRef


@pytest_asyncio.fixture
async def bodies(log: Connection) -> AsyncIterator[Bodies]:
    async with Publisher(log) as publisher:
        yield Bodies(log, publisher, "acme")


async def stored(log: Connection) -> int:
    state = (await call(log, "STREAM.INFO.OBJ_weft_bodies"))["state"]
    return int(state["messages"])


async def test_twenty_megabytes_come_back_as_they_went(bodies: Bodies, tmp_path: Path) -> None:
    body = os.urandom(20 * 1024 * 1024)
    reference = await bodies.put(body)
    assert await bodies.get(reference) == body
    assert await bodies.get(reference, limit=1_000) == body[:1_000]
    with (tmp_path / "body").open("wb") as file:
        await bodies.write_into(reference, file)
    assert (tmp_path / "body").read_bytes() == body
    assert await bodies.put_file(tmp_path / "body") == reference


async def test_a_body_put_twice_is_stored_once(bodies: Bodies, log: Connection) -> None:
    await bodies.put(b"x" * 300_000)
    once = await stored(log)
    await bodies.put(b"x" * 300_000)
    assert await stored(log) == once == 4


async def test_of_uploads_at_a_time_one_stays(bodies: Bodies, log: Connection) -> None:
    body = os.urandom(1_000_000)
    references = await asyncio.gather(*(bodies.put(body) for _ in range(5)))
    assert len(set(references)) == 1
    assert await bodies.get(references[0]) == body
    assert await stored(log) == 9


async def test_any_object_store_client_reads_and_writes_them(
    bodies: Bodies, log: Connection
) -> None:
    store = await log.jetstream().object_store("weft_bodies")
    reference = await bodies.put(b"y" * 300_000)
    target = io.BytesIO()
    await store.get(body_name("acme", reference.sha256), writeinto=target)
    assert target.getvalue() == b"y" * 300_000
    other = BodyRef("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", 2)
    await store.put(body_name("acme", other.sha256), b"{}")
    assert await bodies.get(other) == b"{}"


async def test_an_empty_body_is_a_body(bodies: Bodies) -> None:
    reference = await bodies.put(b"")
    assert await bodies.exists(reference.sha256)
    assert await bodies.get(reference) == b""


async def test_a_deleted_body_is_gone_from_the_files_and_can_come_back(
    bodies: Bodies, server: EmbeddedServer, log: Connection
) -> None:
    canary = b"canary-" + os.urandom(8).hex().encode()
    reference = await bodies.put(canary * 20_000)
    assert await bodies.delete(reference.sha256) == 5
    assert not await bodies.exists(reference.sha256)
    with pytest.raises(NotFound, match=reference.sha256):
        await bodies.get(reference)
    contents = [content(file) for file in server.data_dir.rglob("*")]
    assert any(contents)
    assert not any(canary in found for found in contents)
    assert await bodies.put(canary * 20_000) == reference
    assert await bodies.exists(reference.sha256)


def content(file: Path) -> bytes:
    """Of a file of the running server; nothing where it is none, or gone again."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return b""


async def test_another_tenant_has_no_body_of_this_digest(bodies: Bodies, log: Connection) -> None:
    reference = await bodies.put(b"restricted " * 30_000)
    async with Publisher(log) as publisher:
        rival = Bodies(log, publisher, "rival")
        with pytest.raises(NotFound):
            await rival.get(reference)
        assert await rival.delete(reference.sha256) == 0
        await rival.put(b"restricted " * 30_000)
        assert await rival.delete_all() == (1, 4)
    assert await bodies.exists(reference.sha256)


async def test_a_body_that_lost_a_chunk_is_healed_by_the_next_who_puts_it(
    bodies: Bodies, log: Connection
) -> None:
    body = os.urandom(400_000)
    reference = await bodies.put(body)
    whole = await stored(log)
    chunk = await last_of(log, "$O.weft_bodies.C.>", "OBJ_weft_bodies")
    await erase(log, "OBJ_weft_bodies", chunk.sequence)
    assert not await bodies.exists(reference.sha256)
    assert await bodies.put(body) == reference
    assert await bodies.get(reference) == body
    assert await stored(log) == whole


@pytest.mark.parametrize("fault", [asyncio.CancelledError, Unavailable])
async def test_a_put_that_is_given_up_takes_back_nothing_that_may_be_stored(
    bodies: Bodies, fault: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = os.urandom(400_000)
    publish = Publisher.publish

    async def stored_without_a_word(*arguments, **options):
        await publish(*arguments, **options)
        raise fault("no acknowledgement")

    monkeypatch.setattr(Publisher, "publish", stored_without_a_word)
    with pytest.raises(fault):
        await bodies.put(body)
    monkeypatch.undo()
    reference = await bodies.put(body)
    assert await bodies.get(reference) == body


async def test_a_name_that_is_no_digest_is_refused(bodies: Bodies) -> None:
    with pytest.raises(InvalidInput, match="not a SHA-256"):
        await bodies.exists("../etc/passwd")


async def test_chunks_of_an_upload_that_was_cut_off_are_erased_with_the_tenant(
    log: Connection, bodies: Bodies, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bodies.put(os.urandom(600_000))
    async with Publisher(log) as publisher:
        other = Bodies(log, publisher, "other")
        await other.put(os.urandom(300_000))
        kept = await stored(log)
        # What a killed process leaves: chunks, and no entry.
        await publisher.publish(bodies._chunk_subject(bodies._mark() + "cutoff"), b"raw", "c")
        await publisher.publish(other._chunk_subject(other._mark() + "cutoff"), b"raw", "d")
        with monkeypatch.context() as ahead:  # this machine's clock, by a day
            now = time.time_ns
            ahead.setattr(time, "time_ns", lambda: now() + 86_400 * 10**9)
            assert await bodies.erase_unfinished() == 0  # it may be on its way
        monkeypatch.setattr("weft.log.bodies.UNFINISHED_SECONDS", 0)
        assert await bodies.erase_unfinished() == 1
        assert await stored(log) == kept + 1
        await publisher.publish(bodies._chunk_subject(bodies._mark() + "again"), b"raw", "e")
        assert await bodies.delete_all() == (1, 7)


class GivenUp(io.BytesIO):
    """A file that makes who reads it give up after so many bytes."""

    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content)
        self.after = after

    def read(self, size: int | None = -1) -> bytes:
        if 0 < self.after <= self.tell():
            self.after = 0
            reader = asyncio.current_task()
            assert reader is not None
            reader.cancel()
        return super().read(size)


@pytest.mark.parametrize("after", [1, 1_000_000, 20_000_000])
async def test_a_cancelled_upload_leaves_no_chunk(
    log: Connection, bodies: Bodies, after: int
) -> None:
    body = os.urandom(after + 1_000_000)
    digest = hashlib.sha256(body).hexdigest()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(bodies.put_open(GivenUp(body, after), digest, len(body)))
    assert await stored(log) == 0
    await asyncio.sleep(0.5)
    assert await stored(log) == 0
