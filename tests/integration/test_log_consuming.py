"""Consuming: shared work, nothing lost with a process, no silence when something is gone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from weft.log import consuming
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.consuming import Consumer, Delivery
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError, Unavailable
from weft_schemas.subjects import item_subject

SUBJECT = item_subject("acme", "s1", "user_turn")


async def publish(log: Connection, first: int, count: int, size: int = 0) -> None:
    async with Publisher(log) as publisher:
        await publisher.publish_many(
            Message(SUBJECT, b"%d " % number + b"x" * size, f"m{number}")
            for number in range(first, first + count)
        )


async def work(consumer: Consumer, done: Callable[[int], bool]) -> None:
    """Ack everything, and stop when `done` says so of the sequence just acked."""
    async for batch in consumer:
        for delivery in batch:
            delivery.ack()
            if done(delivery.record.sequence):
                consumer.stop()


async def one_message(batches: AsyncIterator[list[Delivery]], deliveries: int = 1) -> Delivery:
    """The one message of the next batch, delivered at least so often. It is there twice if this
    process was held up for longer than the ack wait: the last delivery is the one that counts."""
    while True:
        batch = await anext(batches)
        came = [(delivery.record.sequence, delivery.record.deliveries) for delivery in batch]
        assert len({sequence for sequence, _ in came}) == 1, came
        if batch[-1].record.deliveries >= deliveries:
            return batch[-1]


async def test_a_lone_message_is_handed_on_without_waiting_for_more(log: Connection) -> None:
    async with Consumer(log, "firewall") as consumer:
        batches = aiter(consumer)
        await publish(log, 0, 1)
        delivery = await one_message(batches)
        record = delivery.record
        assert (record.sequence, record.payload, record.message_id) == (1, b"0 ", "m0")
        assert record.address().session == "s1"
        delivery.ack()


async def test_two_processes_share_the_work_and_do_all_of_it(
    log: Connection, server: EmbeddedServer
) -> None:
    other = await connect(server.url)
    await publish(log, 0, 3_000)
    seen: list[int] = []

    def done(sequence: int) -> bool:
        seen.append(sequence)
        return len(seen) >= 3_000

    async with (
        Consumer(log, "firewall", batch=50) as one,
        Consumer(other, "firewall", batch=50) as two,
    ):

        def both(sequence: int) -> bool:
            if done(sequence):
                one.stop()
                two.stop()
            return False

        await asyncio.gather(work(one, both), work(two, both))
    assert sorted(seen) == list(range(1, 3_001))
    assert (await call(log, "CONSUMER.INFO.weft.firewall"))["ack_floor"]["stream_seq"] == 3_000
    await other.close()


async def test_what_was_not_handed_on_goes_to_another_process_at_once(log: Connection) -> None:
    await publish(log, 0, 100)
    async with Consumer(log, "firewall", batch=10) as first:
        batch = await anext(aiter(first))
        for delivery in batch:
            delivery.ack()
    seen: set[int] = {delivery.record.sequence for delivery in batch}
    async with Consumer(log, "firewall") as second:
        await work(second, lambda sequence: seen.add(sequence) or len(seen) == 100)
    assert seen == set(range(1, 101))


async def test_a_refused_message_comes_again_and_says_so(log: Connection) -> None:
    await publish(log, 0, 1)
    async with Consumer(log, "firewall") as consumer:
        batches = aiter(consumer)
        delivery = await one_message(batches)
        delivery.nak(0.05)
        again = await one_message(batches, delivery.record.deliveries + 1)
        assert again.record.sequence == 1
        again.ack()


async def test_no_more_is_held_than_can_be_worked(log: Connection) -> None:
    await publish(log, 0, 1_000)
    async with Consumer(log, "firewall", batch=10) as consumer:
        await anext(aiter(consumer))
        await asyncio.sleep(0.2)
        assert (await call(log, "CONSUMER.INFO.weft.firewall"))["num_ack_pending"] <= 20


async def ack_wait(log: Connection, seconds: float) -> None:
    """Have the server redeliver after so many seconds, not after those of the real consumer."""
    config = (await call(log, "CONSUMER.INFO.weft.firewall"))["config"]
    body = {"stream_name": "weft", "config": {**config, "ack_wait": int(seconds * 1e9)}}
    await call(log, f"CONSUMER.CREATE.weft.firewall.{config['filter_subject']}", body)


async def test_what_is_held_is_not_given_to_another(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "EXTEND_SECONDS", 0.2)
    await ack_wait(log, 6)  # so many times the extension that a busy machine keeps to it
    await publish(log, 0, 1)
    async with Consumer(log, "firewall") as consumer:
        (delivery,) = await anext(aiter(consumer))
        await asyncio.sleep(7)
        info = await call(log, "CONSUMER.INFO.weft.firewall")
        assert (info["num_redelivered"], info["num_ack_pending"]) == (0, 1)
        delivery.ack()
        await publish(log, 1, 1)
        (other,) = await anext(aiter(consumer))
        assert other.record.sequence == 2
        other.ack()


async def test_what_nobody_settles_is_given_up_in_the_end(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "EXTEND_SECONDS", 0.2)
    monkeypatch.setattr(consuming, "HOLD_SECONDS", 0.5)
    await ack_wait(log, 0.6)
    await publish(log, 0, 1)
    async with Consumer(log, "firewall") as consumer:
        await anext(aiter(consumer))
        # Whoever is slow to ask finds that it was given up more than once.
        again, *_ = await anext(aiter(consumer))
        assert (again.record.sequence, again.record.deliveries) == (1, 2)
        again.ack()


async def test_what_is_done_late_is_still_done(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that waits longer behind a slow model must not come again for ever."""
    monkeypatch.setattr(consuming, "EXTEND_SECONDS", 0.2)
    monkeypatch.setattr(consuming, "HOLD_SECONDS", 0.5)
    await ack_wait(log, 30)  # it is not delivered again meanwhile
    await publish(log, 0, 1)
    async with Consumer(log, "firewall") as consumer:
        (delivery,) = await anext(aiter(consumer))
        while consumer._held:
            await asyncio.sleep(0.05)
        delivery.ack()
        await publish(log, 1, 1)
        (other,) = await anext(aiter(consumer))
        other.ack()
    info = await call(log, "CONSUMER.INFO.weft.firewall")
    assert (info["ack_floor"]["stream_seq"], info["num_ack_pending"]) == (2, 0)


async def test_large_messages_all_come(log: Connection) -> None:
    await publish(log, 0, 12, size=6_000_000)
    seen: set[int] = set()
    async with Consumer(log, "firewall") as consumer:
        await work(consumer, lambda sequence: seen.add(sequence) or len(seen) == 12)
    assert seen == set(range(1, 13))


async def test_a_consumer_that_comes_back_is_consumed_again(log: Connection) -> None:
    async with Consumer(log, "firewall") as consumer:
        batches = aiter(consumer)
        await publish(log, 0, 1)
        (await one_message(batches)).ack()
        await call(log, "CONSUMER.DELETE.weft.firewall")
        waiting = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0.3)
        await provision(log)
        assert (await waiting)[0].record.sequence == 1


async def test_a_consumer_that_stays_away_is_an_error(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Consumer, "GONE_SECONDS", 0.3)
    async with Consumer(log, "firewall") as consumer:
        await call(log, "STREAM.DELETE.weft")
        with pytest.raises(ConfigurationError, match="consumer firewall of stream weft"):
            await anext(aiter(consumer))


async def test_a_connection_that_is_closed_in_trouble_is_an_error(log: Connection) -> None:
    async with Consumer(log, "firewall") as consumer:
        consumer._trouble = "reconnected"
        await log.close()
        with pytest.raises(Unavailable, match="consumer firewall was closed"):
            await asyncio.wait_for(anext(aiter(consumer)), 30)


async def test_a_cancellation_that_comes_with_news_is_not_lost(log: Connection) -> None:
    consumer = Consumer(log, "firewall")
    for turns in range(6):
        waiting = asyncio.create_task(consumer._wait())
        for _ in range(5):
            await asyncio.sleep(0)
        consumer._arrived.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if not waiting.done():
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting


async def test_a_killed_server_is_consumed_on_when_it_is_back(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        await publish(log, 0, 2_000)
        seen: set[int] = set()

        async def kill_once() -> None:
            while len(seen) < 500:
                await asyncio.sleep(0)
            await server.kill()
            await server.start()
            await publish(log, 2_000, 1_000)

        async with Consumer(log, "firewall", batch=50) as consumer:
            killing = asyncio.create_task(kill_once())
            await work(consumer, lambda sequence: seen.add(sequence) or len(seen) == 3_000)
            await killing
        assert seen == set(range(1, 3_001))
        await log.close()
