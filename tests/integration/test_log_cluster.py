"""Three nodes: the leader dies, nothing acknowledged is lost, and order is kept."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex

import pytest
from tests.integration.conftest import stored_payloads
from tests.leader import leader_of
from tests.retrying import PATIENCE, patiently

from weft.log.api import call
from weft.log.bulk_publishing import BatchMode, BulkPublisher, best_mode
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.following import Follower
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import LOOKED_BACK, newest_first, read_session
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft_schemas.errors import Unavailable
from weft_schemas.subjects import item_subject, stored_filter

SUBJECT = item_subject("acme", "s1", "user_turn")
COUNT = 3_000


def messages() -> Iterator[Message]:
    for number in range(COUNT):
        yield Message(SUBJECT, b"%08d" % number, f"m{number}")


async def numbers(log: Connection) -> list[int]:
    return [int(payload) for payload in await patiently(partial(stored_payloads, log))]


@pytest.mark.parametrize(
    "mode", [BatchMode.ATOMIC, pytest.param(BatchMode.FAST, marks=pytest.mark.slow)]
)
async def test_a_killed_leader_loses_doubles_and_reorders_nothing(
    folder: Path, mode: BatchMode
) -> None:
    async with EmbeddedCluster(folder) as cluster:
        log, other = await connect(cluster.url), await connect(cluster.url)
        await provision(log, "cluster")
        async with asyncio.timeout(PATIENCE):
            # Who gets no answer is told the mode that suits any stream.
            while await best_mode(log) is not BatchMode.ATOMIC:
                await asyncio.sleep(0.1)
        consumed: set[int] = set()
        followed: list[int] = []

        async def publish() -> int:
            sequence = 0
            everything = list(messages())
            async with Publisher(log) as publisher, BulkPublisher(publisher, mode) as bulk:
                for start in range(0, COUNT, 100):
                    part = everything[start : start + 100]
                    ack = await patiently(partial(bulk.publish, part))
                    sequence = max(sequence, ack.sequence)
            return sequence

        async def consume() -> None:
            async with Consumer(other, "firewall") as consumer:
                async for batch in consumer:
                    for delivery in batch:
                        consumed.add(delivery.record.sequence)
                        delivery.ack()
                    if len(consumed) == COUNT:
                        return

        async def follow() -> None:
            async with Follower(other) as follower:
                async for step in follower:
                    followed.extend(record.sequence for record in step.records)
                    if step.through >= COUNT:
                        return

        async def kill_leader() -> None:
            while len(followed) < COUNT // 10:
                await asyncio.sleep(0.01)
            leader = await leader_of(cluster, PATIENCE)
            await leader.kill()
            await asyncio.sleep(1)
            await leader.start()

        last, *_ = await asyncio.gather(publish(), consume(), follow(), kill_leader())
        assert last == COUNT
        assert consumed == set(range(1, COUNT + 1))
        assert followed == list(range(1, COUNT + 1))
        assert await numbers(log) == list(range(COUNT))
        info = await patiently(partial(call, log, "STREAM.INFO.weft"))
        assert len(info["cluster"]["replicas"]) == 2
        await log.close()
        await other.close()


async def test_a_cluster_started_again_has_its_log(folder: Path) -> None:
    async with EmbeddedCluster(folder) as cluster:
        log = await connect(cluster.url)
        await provision(log, "cluster")
        async with Publisher(log) as publisher, BulkPublisher(publisher) as bulk:
            await patiently(partial(bulk.publish, list(messages())[:100]))
        await log.close()
    async with EmbeddedCluster(folder) as cluster:
        log = await connect(cluster.url)
        assert await provision(log, "cluster") == []
        assert await numbers(log) == list(range(100))
        await log.close()


async def test_a_node_that_is_late_is_waited_for(folder: Path) -> None:
    cluster = EmbeddedCluster(folder)
    async with cluster:
        pass
    *first, late = cluster.nodes
    try:
        await asyncio.gather(*(node.start() for node in first))
        await cluster.until_quorum()
        log = await connect(cluster.url)
        provisioning = asyncio.create_task(provision(log, "cluster"))
        await asyncio.wait([provisioning], timeout=3.0)
        assert not provisioning.done()
        await late.start()
        await provisioning
        assert await provision(log, "cluster") == []
        await log.close()
    finally:
        await cluster.stop()


@asynccontextmanager
async def lagging(folder: Path) -> AsyncIterator[tuple[Connection, Callable[[], Awaitable[range]]]]:
    """A connection to a node, and what stores messages that this node has not yet: it returns their
    sequences."""
    async with EmbeddedCluster(folder) as cluster:
        log = await connect(cluster.url)
        await provision(log, "cluster")
        async with Publisher(log) as publisher:
            await publisher.publish(SUBJECT, b"first", "m")
        leader = await leader_of(cluster, PATIENCE)
        follower = next(node for node in cluster.nodes if node is not leader)
        good, behind = await connect(leader.url), await connect(follower.url)

        async def fill() -> range:
            follower.send_signal(signal.SIGSTOP)
            try:
                async with Publisher(good) as publisher:
                    many = (Message(SUBJECT, b"y" * 2_000, token_hex()) for _ in range(4_000))
                    acks = await publisher.publish_many(many)
            finally:
                follower.send_signal(signal.SIGCONT)
            return range(acks[0].sequence, acks[-1].sequence + 1)

        yield behind, fill
        for connection in (log, good, behind):
            await connection.close()


async def test_a_cluster_that_never_was_whole_says_what_it_lacks(folder: Path) -> None:
    cluster = EmbeddedCluster(folder)
    async with cluster.nodes[0] as alone:
        log = await connect(alone.url)
        with pytest.raises(Unavailable, match="nodes must run, and all of them at its first start"):
            await call(log, "STREAM.NAMES", timeout=0.5)
        async with Publisher(log, timeout=0.5) as publisher:
            with pytest.raises(Unavailable, match="most of a cluster's nodes must hold"):
                await publisher.publish(item_subject("acme", "s1", "user_turn"), b"{}")
        await log.close()


async def test_reads_through_a_node_that_lags_miss_nothing(folder: Path) -> None:
    """Any node answers them, from what it has so far."""
    async with lagging(folder) as (log, fill):
        for _ in range(4):
            new = await fill()
            found = read_session(log, "acme", "s1", after=new[0] - 1, through=new[-1])
            assert [record.sequence async for record in found] == list(new)


async def test_looking_back_through_a_node_that_lags_misses_nothing(folder: Path) -> None:
    subject = stored_filter("acme", "s1", "in", "user_turn")
    async with lagging(folder) as (log, fill):
        for _ in range(4):
            new = await fill()
            found = [record.sequence async for record in newest_first(log, subject)]
            assert found == list(range(new[-1], new[-1] - LOOKED_BACK, -1))
