"""Following: complete, in order, and never silently on another stream."""

import asyncio
import shutil
from pathlib import Path

import pytest

from weft.log import reading
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.following import Followed, Follower
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Corrupt
from weft_schemas.subjects import derived_subject, item_subject

SUBJECT = item_subject("acme", "s1", "user_turn")


async def publish(log: Connection, first: int, count: int, subject: str = SUBJECT) -> None:
    async with Publisher(log) as publisher:
        await publisher.publish_many(
            Message(subject, b"%d" % number, f"m{number}") for number in range(first, first + count)
        )


async def erase(log: Connection, *sequences: int) -> None:
    for sequence in sequences:
        await call(log, "STREAM.MSG.DELETE.weft", {"seq": sequence})


async def follow(follower: Follower, through: int) -> list[Followed]:
    """All batches until `through` is reached."""
    batches = []
    async for followed in follower:
        batches.append(followed)
        if followed.through >= through:
            break
    return batches


def sequences(batches: list[Followed]) -> list[int]:
    return [record.sequence for followed in batches for record in followed.records]


async def test_everything_comes_in_order_from_the_start_and_from_a_checkpoint(
    log: Connection,
) -> None:
    await publish(log, 0, 5_000)
    async with Follower(log) as follower:
        batches = await follow(follower, 5_000)
    assert sequences(batches) == list(range(1, 5_001))
    middle = next(followed for followed in batches if followed.through > 0)
    async with Follower(log, after=middle.through, known=middle.identity) as follower:
        rest = await follow(follower, 5_000) if middle.through < 5_000 else []
    assert sequences(rest) == list(range(middle.through + 1, 5_001))


async def test_a_new_message_comes_at_once(log: Connection) -> None:
    async with Follower(log) as follower:
        batches = aiter(follower)
        for number in range(3):
            await publish(log, number, 1)
            followed = await anext(batches)
            assert (sequences([followed]), followed.through) == ([number + 1], number + 1)


async def test_deleted_messages_are_stepped_over(log: Connection) -> None:
    await publish(log, 0, 20)
    await erase(log, 1, 2, 7, 11, 12, 13)
    async with Follower(log) as follower:
        batches = await follow(follower, 20)
    assert sequences(batches) == [3, 4, 5, 6, 8, 9, 10, 14, 15, 16, 17, 18, 19, 20]
    assert batches[-1].through == 20


async def test_a_deleted_end_is_stepped_over(log: Connection) -> None:
    await publish(log, 0, 10)
    await erase(log, 9, 10)
    async with Follower(log) as follower:
        batches = await follow(follower, 10)
    assert sequences(batches) == list(range(1, 9))
    assert batches[-1].through == 10


async def test_a_purged_log_goes_on_where_it_was(log: Connection) -> None:
    await publish(log, 0, 10)
    async with Follower(log) as follower:
        await follow(follower, 10)
        await call(log, "STREAM.PURGE.weft", {})
        await publish(log, 10, 5)
        batches = await follow(follower, 15)
    assert sequences(batches) == [11, 12, 13, 14, 15]


async def test_messages_purged_before_they_were_read_are_stepped_over(log: Connection) -> None:
    await publish(log, 0, 10)
    async with Follower(log) as follower:
        await follow(follower, 10)
        identity = follower.identity
    await publish(log, 10, 10)
    await call(log, "STREAM.PURGE.weft", {"keep": 4})
    async with Follower(log, after=10, known=identity) as follower:
        batches = await follow(follower, 20)
    assert sequences(batches) == [17, 18, 19, 20]
    assert batches[-1].through == 20


async def test_a_recreated_stream_is_noticed_while_following(log: Connection) -> None:
    await publish(log, 0, 10)
    async with Follower(log) as follower:
        await follow(follower, 10)
        await call(log, "STREAM.DELETE.weft")
        await provision(log)
        await publish(log, 0, 20)
        with pytest.raises(Corrupt, match="made again"):
            await follow(follower, 20)


async def test_a_recreated_stream_is_noticed_at_the_start(log: Connection) -> None:
    await publish(log, 0, 10)
    async with Follower(log) as follower:
        await follow(follower, 10)
    await call(log, "STREAM.DELETE.weft")
    await provision(log)
    await publish(log, 0, 20)
    with pytest.raises(Corrupt, match="made again"):
        async with Follower(log, after=10, known=follower.identity):
            pass


async def test_a_log_put_back_from_an_older_copy_is_noticed(folder: Path) -> None:
    copy = folder.with_name("copy")
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, 0, 10)
        await server.stop()
        shutil.copytree(folder, copy)
        await server.start()
        await publish(log, 10, 10)
        async with Follower(log) as follower:
            await follow(follower, 20)
            await server.stop()
            shutil.rmtree(folder)
            shutil.copytree(copy, folder)
            await server.start()
            with pytest.raises(Corrupt, match="lost its tail"):
                await follow(follower, 21)
        await publish(log, 100, 30)
        with pytest.raises(Corrupt, match="lost its tail and went on"):
            async with Follower(log, after=20, known=follower.identity):
                pass
        await log.close()


async def test_a_lost_tail_of_deleted_messages_is_noticed(folder: Path) -> None:
    copy = folder.with_name("copy")
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, 0, 9)
        await server.stop()
        shutil.copytree(folder, copy)
        await server.start()
        await publish(log, 9, 1)
        await erase(log, 9, 10)
        async with Follower(log) as follower:
            await follow(follower, 10)
        await server.stop()
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        await server.start()
        with pytest.raises(Corrupt, match="ends at 9, the checkpoint is at 10"):
            async with Follower(log, after=10, known=follower.identity):
                pass
        await log.close()


async def test_a_killed_server_is_followed_on_when_it_is_back(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, 0, 20_000)

        async def kill_once(follower: Follower) -> None:
            while follower.through < 1_000:
                await asyncio.sleep(0)
            await server.kill()
            await server.start()
            await publish(log, 20_000, 1_000)

        async with Follower(log, batch=50) as follower:
            killing = asyncio.create_task(kill_once(follower))
            batches = await follow(follower, 21_000)
            await killing
        assert sequences(batches) == list(range(1, 21_001))
        await log.close()


async def test_a_deleted_consumer_of_a_follower_is_made_again(log: Connection) -> None:
    async with Follower(log) as follower:
        names = (await call(log, "CONSUMER.NAMES.weft"))["consumers"]
        for name in set(names) - {"firewall", "summarizer", "memory"}:
            await call(log, f"CONSUMER.DELETE.weft.{name}")
        await publish(log, 0, 10)
        assert sequences(await follow(follower, 10)) == list(range(1, 11))


async def test_a_filter_gives_what_matches_only(log: Connection) -> None:
    await publish(log, 0, 5)
    await publish(log, 5, 2, derived_subject("acme", "@tenant", "context_policy"))
    async with Follower(log, subjects="w.out.*.*.@tenant.context_policy") as follower:
        batches = await follow(follower, 7)
    assert sequences(batches) == [6, 7]


async def test_a_session_is_read_in_order_up_to_a_sequence(log: Connection) -> None:
    other = item_subject("acme", "s2", "user_turn")
    for number in range(20):
        await publish(log, number, 1, SUBJECT if number % 2 else other)
    found = [record async for record in reading.read_session(log, "acme", "s1", through=15)]
    assert [record.sequence for record in found] == [2, 4, 6, 8, 10, 12, 14]
    assert found[0] == await reading.read(log, 2)


async def test_a_long_session_is_read_page_by_page(log: Connection) -> None:
    await publish(log, 0, 1_234)
    found = [record async for record in reading.read_session(log, "acme", "s1")]
    assert [record.sequence for record in found] == list(range(1, 1_235))


async def test_a_record_is_the_same_however_it_was_read(log: Connection) -> None:
    await publish(log, 0, 1)
    async with Follower(log) as follower:
        ((followed,),) = [batch.records for batch in await follow(follower, 1)]
    (paged,) = [record async for record in reading.read_session(log, "acme", "s1")]
    assert followed == paged == await reading.read(log, 1)
