"""A worker against a real server: what it derives, parks, tries again and survives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.integration import echo_worker
from tests.integration.echo_worker import WORKER
from tests.integration.logged import (
    PATIENCE,
    hurry,
    publish,
    publish_raw,
    result,
    stored,
    unfinished,
    until,
    until_finished,
)

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.topology import desired
from weft.log.transport import connect
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.workers import dead_letters
from weft.workers.work_context import SUSPECT_DELIVERIES
from weft.workers.worker_loop import run_worker
from weft_schemas.errors import ConfigurationError
from weft_schemas.events import EnvelopeEvent, Origin, ParkedEvent, RevivedEvent, encode_event
from weft_schemas.subjects import STREAM, item_subject


@asynccontextmanager
async def working(url: str) -> AsyncIterator[Process]:
    """The echo worker in this process."""
    process = Process("firewall", Settings(nats_url=url))
    process.connection = await connect(url)
    task = asyncio.create_task(run_worker(process, WORKER))
    try:
        yield process
    finally:
        process.stopping.set()
        await task
        await process.connection.close()


async def test_every_item_gives_one_derived_event_with_its_origin(server, log: Connection):
    acks = await publish(log, "s1", [result(f"i{n}", f"text {n}") for n in range(300)])
    async with working(server.url):
        events = await until(log, lambda events: len(events) >= 300)
        await until_finished(log)
    assert sorted(event.origin.sequence for _, event in events) == [a.sequence for a in acks]
    first = min(events, key=lambda pair: pair[1].origin.sequence)[1]
    assert first.envelope.summary == "seen: text 0"
    assert (first.origin.item_id, first.origin.worker) == ("i0", "firewall")


async def test_a_derived_event_carries_cloudevents_and_the_sources_trace(server, log: Connection):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await log.jetstream().publish(
        item_subject("acme", "s1", "tool_result"),
        b'{"type":"item","id":"a","kind":"tool_result","text":"x"}',
        headers={"traceparent": trace},
    )
    async with working(server.url):
        sequence, _ = (await until(log, bool))[0]
    headers = (await log.jetstream().get_msg(STREAM, seq=sequence)).headers
    assert headers["traceparent"] == trace
    assert headers["ce-type"] == "weft.envelope"
    assert headers["ce-id"] == headers["Nats-Msg-Id"]


async def test_malformed_events_are_parked_at_once_and_hold_nobody_up(server, log: Connection):
    subject = item_subject("acme", "s1", "tool_result")
    bad = [
        await publish_raw(log, subject, payload)
        for payload in (
            b"{",
            b'{"type":"item","id":"b","kind":"nonsense"}',
            b'{"type":"item","v":99,"id":"new","kind":"tool_result","wings":2}',
        )
    ]
    await publish_raw(log, "weft.no~token.s1.in.tool_result", b"{}")
    await publish(log, "s1", [result("good", "text")])
    async with working(server.url):
        events = await until(log, lambda events: len(events) >= 5)
        await until_finished(log)
    parked = {e.origin.sequence: e for _, e in events if isinstance(e, ParkedEvent)}
    assert [parked[ack.sequence].code for ack in bad] == [
        "invalid_input",
        "invalid_input",
        "unknown_version",
    ]
    assert parked[bad[1].sequence].origin.item_id == "b"
    assert all(event.attempts == 1 for event in parked.values())
    assert len(parked) == 4
    assert [e.origin.item_id for _, e in events if isinstance(e, EnvelopeEvent)] == ["good"]


async def test_a_derive_that_raises_is_tried_again_while_others_pass(server, log: Connection):
    items = [result("twice", "raise 2"), *(result(f"i{n}", "fine") for n in range(20))]
    await publish(log, "s1", items)
    async with working(server.url):
        events = await until(log, lambda events: len(events) >= 21)
    assert all(isinstance(event, EnvelopeEvent) for _, event in events)
    assert events[-1][1].origin.item_id == "twice"


async def test_what_never_succeeds_is_parked_without_a_word_of_its_text(server, log: Connection):
    await publish(log, "s1", [result("never", "raise 99")])
    async with working(server.url):
        [(_, event)] = await until(log, bool)
        await until_finished(log)
    assert isinstance(event, ParkedEvent)
    assert (event.origin.item_id, event.attempts) == ("never", 5)
    assert event.error.startswith("KeyError at echo_worker.py:")
    assert "secret" not in event.error


async def test_of_what_is_revived_and_cannot_be_sent_the_source_is_parked(
    server, log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a reconnection to a server that takes less than the one before."""
    [ack] = await publish(log, "s1", [result("wide", "x")])
    monkeypatch.setattr("weft.workers.work_context._ROOM_FOR_HEADERS", -log.max_payload)
    monkeypatch.setattr(echo_worker, "work", lambda text, attempt: "y" * log.max_payload)
    async with working(server.url):
        [(_, first)] = await until(log, bool)
        revived = RevivedEvent(Origin(ack.sequence, "wide", "firewall"))
        await publish_raw(log, item_subject("acme", "s1", "revived"), encode_event(revived))
        events = await until(log, lambda events: len(events) >= 2)
    assert isinstance(first, ParkedEvent)
    again = events[-1][1]
    assert isinstance(again, ParkedEvent)
    assert (again.origin.sequence, again.origin.item_id) == (ack.sequence, "wide")


async def test_work_that_kills_its_process_is_parked_and_others_live(server, log: Connection):
    """The first attempts would take the worker down; from the third on it runs in a process."""
    await publish(log, "s1", [result("deadly", "exit")])
    consumer = await log.jetstream().pull_subscribe_bind("firewall", STREAM)
    for _ in range(SUSPECT_DELIVERIES - 1):
        [message] = await consumer.fetch(1, timeout=PATIENCE)
        await message.nak()
    await publish(log, "s1", [result("other", "fine")])
    async with working(server.url):
        events = await until(log, lambda events: len(events) >= 2)
    by_item = {event.origin.item_id: event for _, event in events}
    assert isinstance(by_item["other"], EnvelopeEvent)
    assert by_item["deadly"].code == "work_died"


async def test_small_items_pass_a_huge_one(server, log: Connection):
    await publish(log, "s1", [result("huge", "slow 3"), *(result(f"i{n}", "x") for n in range(50))])
    async with working(server.url):
        events = await until(log, lambda events: len(events) >= 51)
    assert events[-1][1].origin.item_id == "huge"


async def test_a_deleted_consumer_is_made_again_and_nothing_is_lost(server, log: Connection):
    await publish(log, "s1", [result(f"a{n}", "x") for n in range(10)])
    async with working(server.url):
        await until(log, lambda events: len(events) >= 10)
        await call(log, f"CONSUMER.DELETE.{STREAM}.firewall")
        await publish(log, "s1", [result(f"b{n}", "x") for n in range(10)])
        events = await until(log, lambda events: len(events) >= 20)
    made = [event.origin.item_id for _, event in events]
    assert sorted(made) == sorted([f"a{n}" for n in range(10)] + [f"b{n}" for n in range(10)])


async def test_a_worker_goes_on_after_the_servers_restart(server, log: Connection):
    async with working(server.url):
        await publish(log, "s1", [result("before", "x")])
        await until(log, bool)
        await server.kill()
        await server.start()
        await publish(log, "s1", [result("after", "x")])
        events = await until(log, lambda events: len(events) >= 2)
    assert [event.origin.item_id for _, event in events] == ["before", "after"]


async def test_stopping_finishes_what_was_begun_and_hands_back_the_rest(server, log: Connection):
    await publish(log, "s1", [result(f"i{n}", "x") for n in range(2_000)])
    async with working(server.url):
        await until(log, bool)
    done = len(await stored(log))
    info = await call(log, f"CONSUMER.INFO.{STREAM}.firewall")
    async with asyncio.timeout(PATIENCE):
        # The server takes acknowledgements in some time after it has them.
        while await unfinished(log) != 2_000 - done:
            await asyncio.sleep(0.01)
    await hurry(log)
    async with working(server.url):
        await until_finished(log)
    assert len(await stored(log)) == 2_000
    assert info["num_ack_pending"] <= 512


async def test_stopping_waits_for_what_takes_long(server, log: Connection):
    await publish(log, "s1", [result("long", "slow 2"), result("short", "x")])
    async with working(server.url):
        await until(log, bool)
    assert {event.origin.item_id for _, event in await stored(log)} == {"long", "short"}
    await until_finished(log)


async def test_a_refused_publish_ends_the_worker_with_its_reason(server, log: Connection):
    process = Process("firewall", Settings(nats_url=server.url))
    process.connection = await connect(server.url)
    await publish(log, "s1", [result(f"i{n}", "x") for n in range(50)])
    stream = await call(log, f"STREAM.INFO.{STREAM}")
    await call(log, f"STREAM.UPDATE.{STREAM}", {**stream["config"], "max_msg_size": 300})
    with pytest.raises(ConfigurationError, match="maximum"):
        await run_worker(process, WORKER)
    await process.connection.close()
    await call(log, f"STREAM.UPDATE.{STREAM}", stream["config"])
    async with working(server.url):
        await until_finished(log)
    assert len(await stored(log)) == 50


async def test_what_a_failing_worker_had_begun_is_given_back(
    server, log: Connection, monkeypatch: pytest.MonkeyPatch
):
    """Not kept until the server misses its acknowledgement, here for an hour."""
    config = desired().consumers["firewall"] | {"ack_wait": 3_600 * 1_000_000_000}
    verb = f"CONSUMER.CREATE.{STREAM}.firewall.{config['filter_subject']}"
    await call(log, verb, {"stream_name": STREAM, "config": config})
    await publish(log, "s1", [result(f"i{n}", "x") for n in range(50)])
    delays: list[tuple[int, float]] = []
    retry_delay = dead_letters.retry_delay

    def delay(deliveries: int) -> float:
        delays.append((deliveries, retry_delay(deliveries)))
        return delays[-1][1]

    monkeypatch.setattr(dead_letters, "retry_delay", delay)
    stream = await call(log, f"STREAM.INFO.{STREAM}")
    await call(log, f"STREAM.UPDATE.{STREAM}", {**stream["config"], "max_msg_size": 300})
    for _ in range(2):
        process = Process("firewall", Settings(nats_url=server.url))
        process.connection = await connect(server.url)
        with pytest.raises(ConfigurationError, match="maximum"):
            await run_worker(process, WORKER)
        await process.connection.close()
    await call(log, f"STREAM.UPDATE.{STREAM}", stream["config"])
    async with working(server.url):
        await until_finished(log)
    assert len(await stored(log)) == 50
    assert (1, 0.25) in delays
    assert (2, 0.75) in delays, "a worker that fails again waits longer"
