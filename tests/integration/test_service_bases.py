"""The audit of a pack that a compile stands on is found without reading what the session compiled
before it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from weft.audit.compiles import find_compile
from weft.client import Client
from weft.compiler.service import Audits
from weft.log import reading
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import LOOKED_BACK, newest_first
from weft.runtime.settings import Settings
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import AUDIT_STREAM, audit_subject

MINE, OTHER = (audit_subject("acme", session, "compiled") for session in ("s1", "s2"))
COUNT = LOOKED_BACK + 40


async def publish(log: Connection, count: int, run: str = "") -> None:
    async with Publisher(log) as publisher:
        for number in range(count):
            await publisher.publish_many(
                [
                    Message(MINE, b"%d" % number, f"mine-{run}{number}"),
                    *[Message(OTHER, b"x", f"other-{run}{number}-{n}") for n in range(3)],
                ]
            )


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sequences of all that the server sent."""
    seen: list[int] = []

    made = reading.LogRecord.of

    def noted(sequence: int, *message: Any) -> reading.LogRecord:
        seen.append(sequence)
        return made(sequence, *message)

    monkeypatch.setattr(reading.LogRecord, "of", noted)
    return seen


async def test_the_newest_costs_one_message_however_many_there_are(
    log: Connection, fetched: list[int]
) -> None:
    await publish(log, COUNT)
    async with aclosing(newest_first(log, MINE, stream=AUDIT_STREAM)) as records:
        newest = await anext(records)
        assert len(fetched) == 1
        before = await anext(records)
    assert (newest.message_id, before.message_id) == (f"mine-{COUNT - 1}", f"mine-{COUNT - 2}")
    # The leader is asked whether there is one between the two, and has none but the newest.
    assert fetched == [newest.sequence, before.sequence, newest.sequence]


async def test_the_latest_are_found_once_each_and_no_others(log: Connection) -> None:
    await publish(log, COUNT)
    found = [int(one.payload) async for one in newest_first(log, MINE, stream=AUDIT_STREAM)]
    assert found == list(range(COUNT - 1, COUNT - 1 - LOOKED_BACK, -1))


async def test_looking_for_an_unknown_base_costs_the_same_however_many_there_are(
    log: Connection, fetched: list[int]
) -> None:
    costs = []
    for run in "abc":
        await publish(log, COUNT, run)
        fetched.clear()
        async with Publisher(log) as publisher:
            assert await Audits(log, publisher).find("acme", "s1", "unknown") == b""
        costs.append(len(fetched))
    assert costs == [costs[0]] * 3
    assert costs[0] <= 2 * LOOKED_BACK


async def test_a_compile_from_an_unknown_base_says_so_and_is_reproduced(url: str) -> None:
    async with Client(Settings(nats_url=url)) as client:
        await client.publish("s", ContextItem("a", ItemKind.USER_TURN, "Which order?"))
        first = await client.compile("s", "answer", timeout=60, after=1)
        fresh = await client.compile("s", "answer", stable_from="p-unknown", timeout=60)
        assert any("the base is not known" in note for note in fresh.stats.notes)
        audit = await find_compile(client.connection, "default", fresh.id)
        assert audit.request.stable_from == ""
        again = await client.reproduce(fresh.id)
        assert (again.prompt, again.selection) == (fresh.prompt, "same")
        based = await client.compile("s", "answer", stable_from=first.id, timeout=60)
        assert not any("not known" in note for note in based.stats.notes)
        audit = await find_compile(client.connection, "default", based.id)
        assert audit.request.stable_from == first.id


async def test_where_there_is_none_nothing_is_found(log: Connection) -> None:
    assert [one async for one in newest_first(log, MINE, stream=AUDIT_STREAM)] == []
    await publish(log, 1)
    absent = audit_subject("acme", "s3", "compiled")
    assert [one async for one in newest_first(log, absent, stream=AUDIT_STREAM)] == []
