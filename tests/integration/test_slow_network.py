"""On a slow network everything takes longer, and nothing is given up that makes progress."""

from __future__ import annotations

import pytest
from tests.integration.slow_network import slowed

from weft.log import batch, bulk_publishing, in_flight, reading
from weft.log.bulk_publishing import BatchMode, BulkPublisher
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import read_matching, state
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer

BYTES_PER_SECOND = 4_000_000
SECONDS = 0.5
"""To which waiting is shortened: half of what passing everything on takes."""


def messages(count: int = 32) -> list[Message]:
    return [Message(f"weft.t.s.in.{n}", b"x" * 125_000, f"id-{n}") for n in range(count)]


async def test_a_page_that_comes_slowly_is_read(
    server: EmbeddedServer, log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Publisher(log) as publisher:
        await publisher.publish_many(messages())
    monkeypatch.setattr(reading, "PAGE_SECONDS", SECONDS)
    async with slowed(server, BYTES_PER_SECOND) as url:
        far = await connect(url)
        assert len([one async for one in read_matching(far, ">")]) == 32
        await far.close()


@pytest.mark.parametrize("mode", BatchMode)
async def test_what_is_on_its_way_is_neither_given_up_nor_sent_again(
    server: EmbeddedServer, log: Connection, monkeypatch: pytest.MonkeyPatch, mode: BatchMode
) -> None:
    monkeypatch.setattr(in_flight, "RETRY_SECONDS", SECONDS)
    monkeypatch.setattr(batch, "SILENCE_SECONDS", SECONDS)
    monkeypatch.setattr(batch, "COMMIT_SECONDS", SECONDS)
    monkeypatch.setattr(bulk_publishing, "ATOMIC_BYTES", 256 * 1024)
    async with slowed(server, BYTES_PER_SECOND) as url:
        far = await connect(url)
        async with (
            Publisher(far, timeout=SECONDS) as publisher,
            BulkPublisher(publisher, mode) as bulk,
        ):
            await bulk.publish(messages())
        assert far.stats["out_bytes"] < 1.5 * 32 * 125_000
        await far.close()
    assert (await state(log)).messages == 32
