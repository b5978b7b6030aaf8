"""Bulk publishing: as safe as one by one, in every mode."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.conftest import stored_payloads

from weft.log.api import call
from weft.log.bulk_publishing import BatchMode, BulkAck, BulkPublisher, best_mode
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Forbidden, InvalidInput, Overloaded, Unavailable
from weft_schemas.subjects import item_subject

SUBJECT = item_subject("acme", "s1", "user_turn")

every_mode = pytest.mark.parametrize("mode", list(BatchMode))


def messages(first: int, count: int, size: int = 100) -> Iterator[Message]:
    for number in range(first, first + count):
        yield Message(SUBJECT, b"%08d" % number + b"x" * size, f"m{number}", {"ce-id": "a"})


async def numbers(log: Connection) -> list[int]:
    return [int(payload[:8]) for payload in await stored_payloads(log)]


async def stored(log: Connection) -> int:
    """How many; none as far as is known while the server does not answer."""
    try:
        return int((await call(log, "STREAM.INFO.weft"))["state"]["messages"])
    except Unavailable:
        return 0


@every_mode
@pytest.mark.parametrize("count", [1, 2, 3, 501, 2_500])
async def test_all_are_stored_in_order(log: Connection, mode: BatchMode, count: int) -> None:
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        ack = await bulk.publish(messages(0, count))
    assert (ack.sequence, ack.count) == (count, count)
    assert await numbers(log) == list(range(count))


@every_mode
async def test_what_is_stored_already_is_skipped(log: Connection, mode: BatchMode) -> None:
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        await bulk.publish(messages(100, 50))
        ack = await bulk.publish(messages(0, 200))
        again = await bulk.publish(messages(0, 200))
    assert (ack.sequence, ack.count, again.sequence, again.count) == (200, 200, 200, 200)
    assert sorted(await numbers(log)) == list(range(200))


@every_mode
async def test_a_server_killed_in_the_middle_loses_and_doubles_nothing(
    folder: Path, mode: BatchMode
) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
            work = asyncio.create_task(bulk.publish(messages(0, 30_000)))
            for threshold in (2_000, 12_000):
                while await stored(log) < threshold:
                    await asyncio.sleep(0)
                await server.kill()
                await server.start()
            ack = await work
        assert (ack.sequence, ack.count) == (30_000, 30_000)
        assert await numbers(log) == list(range(30_000))
        await log.close()


@every_mode
async def test_publishers_at_a_time_each_keep_their_order(log: Connection, mode: BatchMode) -> None:
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        firsts = (0, 10_000, 20_000, 30_000)
        await asyncio.gather(*(bulk.publish(messages(first, 700)) for first in firsts))
    found = await numbers(log)
    for first in firsts:
        mine = [number for number in found if first <= number < first + 10_000]
        assert mine == list(range(first, first + 700))


@every_mode
async def test_a_full_stream_refuses_and_says_how_far_it_got(
    log: Connection, mode: BatchMode
) -> None:
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await call(log, "STREAM.UPDATE.weft", {**config, "max_msgs": 10})
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        with pytest.raises(Overloaded, match="only the first"):
            await bulk.publish(messages(0, 50))
    found = await numbers(log)
    assert found == list(range(len(found)))


@every_mode
async def test_a_message_that_cannot_be_sent_ends_the_batch_before_it(
    log: Connection, mode: BatchMode
) -> None:
    good = list(messages(0, 50))
    bad = Message(SUBJECT, b"x" * (8 * 1024 * 1024 + 1), "bad")
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        with pytest.raises(InvalidInput, match="bad"):
            await bulk.publish([*good[:20], bad, *good[20:]])
        ack = await bulk.publish(good)
    assert (ack.sequence, ack.count) == (50, 50)
    assert sorted(await numbers(log)) == list(range(50))


@every_mode
async def test_a_stream_without_batches_is_published_to_one_by_one(
    log: Connection, mode: BatchMode
) -> None:
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    off = {**config, "allow_batched": False, "allow_atomic": False}
    await call(log, "STREAM.UPDATE.weft", off)
    async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
        ack = await bulk.publish(messages(0, 300))
        assert bulk.mode is BatchMode.PIPELINED
    assert ack == BulkAck(300, 300)
    assert await numbers(log) == list(range(300))


@every_mode
async def test_what_is_not_allowed_is_refused_at_once(folder: Path, mode: BatchMode) -> None:
    rules = (
        "authorization { users = [ { user: agent, password: pw, permissions: {"
        ' publish: { allow: ["weft.acme.*.in.>"] }, subscribe: { allow: ["_INBOX.>"] } } },'
        " { user: admin, password: pw } ] }"
    )
    async with EmbeddedServer(folder, extra=rules) as server:
        admin = await connect(server.url, user="admin", password="pw")
        await provision(admin)
        agent = await connect(server.url, user="agent", password="pw")
        async with Publisher(agent) as publisher, BulkPublisher(publisher, mode) as bulk:
            assert await best_mode(agent) is BatchMode.FAST
            assert (await bulk.publish(messages(0, 10))).count == 10
            other = item_subject("Other", "s1", "user_turn")
            with pytest.raises(Forbidden, match=r"weft\.Other"):
                await bulk.publish(Message(other, b"{}", f"o{i}") for i in range(10))
        await agent.close()
        await admin.close()


async def test_large_messages_are_published_within_bounds(log: Connection) -> None:
    async with Publisher(log) as publisher, BulkPublisher(publisher) as bulk:
        ack = await bulk.publish(messages(0, 20, size=4_000_000))
    assert (ack.sequence, ack.count) == (20, 20)


async def test_the_mode_suits_the_durability(log: Connection, folder: Path) -> None:
    assert await best_mode(log) is BatchMode.FAST
    async with EmbeddedServer(folder, durability="power") as server:
        other = await connect(server.url)
        await provision(other, "power")
        assert await best_mode(other) is BatchMode.ATOMIC
        async with (
            Publisher(other) as publisher,
            BulkPublisher(publisher, BatchMode.ATOMIC) as bulk,
        ):
            assert (await bulk.publish(messages(0, 100))).count == 100
        await other.close()


def before_write(log: Connection, number: int, happens: Callable[[], Awaitable[bool]]) -> None:
    """Let something happen before a connection's n-th bulk write, which it says whether to do."""
    write = log.write
    writes = 0

    async def watched(commands: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes != number or await happens():
            await write(commands)

    log.write = watched  # type: ignore[method-assign]


async def test_a_batch_that_the_server_has_forgotten_goes_on_as_another(log: Connection) -> None:
    config = (await call(log, "STREAM.INFO.weft"))["config"]

    async def forget() -> bool:
        await call(log, "STREAM.UPDATE.weft", {**config, "allow_batched": False})
        await call(log, "STREAM.UPDATE.weft", config)
        return True

    before_write(log, 2, forget)
    async with Publisher(log) as publisher, BulkPublisher(publisher, BatchMode.FAST) as bulk:
        ack = await bulk.publish(messages(0, 600))
    assert (ack.count, bulk.mode) == (600, BatchMode.FAST)
    assert await numbers(log) == list(range(600))


async def test_an_atomic_batch_that_lost_a_message_is_sent_anew(log: Connection) -> None:
    async def lose() -> bool:
        return False

    before_write(log, 1, lose)
    async with Publisher(log) as publisher, BulkPublisher(publisher, BatchMode.ATOMIC) as bulk:
        ack = await bulk.publish(messages(0, 600))
    assert ack.count == 600
    assert await numbers(log) == list(range(600))


async def test_more_at_once_than_the_server_queues_are_all_stored_once(log: Connection) -> None:
    """Its queue for a stream holds 10,000 messages; it drops what comes above that."""
    firsts = range(0, 60_000, 300)
    async with Publisher(log) as publisher, BulkPublisher(publisher, BatchMode.FAST) as bulk:
        await asyncio.gather(*(bulk.publish(messages(first, 300)) for first in firsts))
    assert sorted(await numbers(log)) == list(range(60_000))
