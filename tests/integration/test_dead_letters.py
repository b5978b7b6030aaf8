"""Dead letters on a real log: replayed after a fix, a source takes its place in the read model."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.integration.echo_worker import WORKER
from tests.integration.logged import publish, result, stored, until, until_finished

from weft.dead_letters.dead_letter import DeadLetter
from weft.dead_letters.reviving import chosen, dead_letters, revive
from weft.erasure.history import Target
from weft.erasure.records import erase_named, publish_own
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.secure_delete import erase as delete
from weft.log.transport import connect
from weft.readmodel.model import ReadModel
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.workers.work_context import Worker
from weft.workers.worker_loop import run_worker
from weft_schemas.errors import InvalidInput, NotFound, Unavailable
from weft_schemas.events import EnvelopeEvent, ParkedEvent, ScopeErasedEvent
from weft_schemas.subjects import STREAM


async def refusing(record, address, event, context):
    raise InvalidInput("the rule for this tool is broken")


BROKEN = Worker("firewall", "broken", refusing, reports="in")


@asynccontextmanager
async def working(url: str, worker: Worker):
    process = Process("firewall", Settings(nats_url=url))
    process.connection = await connect(url)
    task = asyncio.create_task(run_worker(process, worker))
    try:
        yield
    finally:
        process.stopping.set()
        await task
        await process.connection.close()


async def read_model(log: Connection) -> ReadModel:
    return ReadModel.in_memory([record async for record in read_matching(log, ">")])


async def parked_items(server, log: Connection) -> None:
    """Two results that a broken firewall gave up."""
    await publish(log, "s1", [result("a", "text a"), result("b", "text b")])
    async with working(server.url, BROKEN):
        await until_finished(log)
    found = await dead_letters(log, "acme")
    assert [(one.item_id, one.worker, one.open) for one in found] == [
        ("a", "firewall", True),
        ("b", "firewall", True),
    ]


async def test_a_replayed_source_takes_its_place_after_the_fix(server, log: Connection):
    await parked_items(server, log)
    assert [row.parked for row in (await read_model(log)).view("acme", "s1").recent(2)] == [
        True
    ] * 2
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    rows = (await read_model(log)).view("acme", "s1").recent(2)
    assert {row.id: row.parked for row in rows} == {"a": False, "b": True}
    async with working(server.url, WORKER):
        events = await until(
            log, lambda events: any(isinstance(e, EnvelopeEvent) for _, e in events)
        )
        await until_finished(log)
    [envelope] = [event for _, event in events if isinstance(event, EnvelopeEvent)]
    assert (envelope.origin.sequence, envelope.origin.item_id) == (1, "a")
    view = (await read_model(log)).view("acme", "s1")
    assert {row.id: row.text for row in view.recent(2)} == {"a": "seen: text a", "b": ""}
    assert [row.id for row in view.recent(2)] == ["b", "a"]
    assert [one.item_id for one in await dead_letters(log, "acme") if one.open] == ["b"]


async def test_what_fails_again_is_parked_again(server, log: Connection):
    await parked_items(server, log)
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [2], None))
    async with working(server.url, BROKEN):
        await until_finished(log)
    parked = [event for _, event in await stored(log) if isinstance(event, ParkedEvent)]
    assert [event.origin.item_id for event in parked] == ["a", "b", "b"]
    [again] = [one for one in await dead_letters(log, "acme") if one.item_id == "b"]
    assert again.open
    assert again.times == 2
    assert [row.parked for row in (await read_model(log)).view("acme", "s1").recent(2)] == [
        True
    ] * 2


async def test_a_dropped_source_stays_parked_and_is_listed_no_more(server, log: Connection):
    await parked_items(server, log)
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], "firewall"), drop=True)
    async with working(server.url, WORKER):
        await until_finished(log)
    assert [one.item_id for one in await dead_letters(log, "acme") if one.open] == ["b"]
    assert not [event for _, event in await stored(log) if isinstance(event, EnvelopeEvent)]
    model = await read_model(log)
    assert model.view("acme", "s1").by_ids(["a"])[0].parked


async def test_a_source_that_was_trimmed_is_not_replayed_and_can_be_dropped(
    server, log: Connection
):
    await parked_items(server, log)
    await delete(log, STREAM, 1)
    letters = await dead_letters(log, "acme")
    with pytest.raises(NotFound, match=r"event 1\. Drop it with `weft dlq drop 1`; nothing was"):
        await revive(log, "acme", chosen(letters, [1, 2], None))
    assert await dead_letters(log, "acme") == letters
    await revive(log, "acme", chosen(letters, [1], None, drop=True), drop=True)
    assert [one.item_id for one in await dead_letters(log, "acme") if one.open] == ["b"]


async def test_a_source_that_is_trimmed_after_it_was_replayed_is_parked_again(
    server, log: Connection
):
    await parked_items(server, log)
    whole = [record async for record in read_matching(log, ">")]
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    await delete(log, STREAM, 1)
    async with working(server.url, WORKER):
        await until_finished(log)
    [again] = [one for one in await dead_letters(log, "acme") if one.item_id == "a"]
    assert (again.open, again.times, again.code) == (True, 2, "not_found")
    later = [record async for record in read_matching(log, ">", after=whole[-1].sequence)]
    view = ReadModel.in_memory([*whole, *later]).view("acme", "s1")
    assert view.by_ids(["a"])[0].parked


async def test_a_source_that_cannot_be_read_is_parked_again_and_not_tried_for_ever(
    server, log: Connection, monkeypatch: pytest.MonkeyPatch
):
    await parked_items(server, log)

    async def unreadable(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr("weft.workers.record_processor.read", unreadable)
    monkeypatch.setattr("weft.workers.dead_letters.MAX_DELIVERIES", 3)
    monkeypatch.setattr("weft.workers.dead_letters._FIRST_DELAY", 0.01)
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    async with working(server.url, WORKER):
        await until_finished(log)
    [again] = [one for one in await dead_letters(log, "acme") if one.item_id == "a"]
    assert (again.open, again.times, again.code, again.attempts) == (True, 2, "given_up", 4)
    assert "event 1 was to be processed again, but event 5, which says so" in again.error
    assert (await read_model(log)).view("acme", "s1").by_ids(["a"])[0].parked


async def test_a_source_that_is_erased_after_it_was_replayed_is_not_spoken_of_again(
    server, log: Connection
):
    await parked_items(server, log)
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    async with Publisher(log) as publisher:
        stone = await publish_own(publisher, "acme", ScopeErasedEvent("user:1"))
        await erase_named(publisher, Target("acme", None, "user:1"), stone, [1])
    async with working(server.url, WORKER):
        await until_finished(log)
    [one] = [one for one in await dead_letters(log, "acme") if one.item_id == "a"]
    assert one.times == 1


async def test_a_replayed_source_that_nobody_has_taken_can_be_dropped(server, log: Connection):
    await parked_items(server, log)
    whole = [record async for record in read_matching(log, ">")]
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    found = await dead_letters(log, "acme")
    await revive(log, "acme", chosen(found, [1], None, drop=True), drop=True)
    assert [one.dropped for one in await dead_letters(log, "acme")] == [True, False]
    later = [record async for record in read_matching(log, ">", after=whole[-1].sequence)]
    view = ReadModel.in_memory([*whole, *later]).view("acme", "s1")
    assert view.by_ids(["a"])[0].parked


async def test_a_replayed_source_that_was_taken_is_not_dropped(server, log: Connection):
    await parked_items(server, log)
    await revive(log, "acme", chosen(await dead_letters(log, "acme"), [1], None))
    async with working(server.url, WORKER):
        await until_finished(log)
    found = chosen(await dead_letters(log, "acme"), [1], None, drop=True)
    with pytest.raises(NotFound, match="was derived from it: there is nothing to drop"):
        await revive(log, "acme", found, drop=True)


def test_a_letter_that_waits_is_dropped_though_another_of_its_source_was_replayed() -> None:
    """The other worker's was derived, so there would be nothing to drop."""
    first = DeadLetter("s1", 2, "firewall", "a", "code", "error", 1, 5, revived=9)
    second = DeadLetter("s1", 2, "memory", "a", "code", "error", 1, 6)
    assert chosen([first, second], [first.sequence], None, drop=True) == [second]
    assert chosen([first], [first.sequence], None, drop=True) == [first]
