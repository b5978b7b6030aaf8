"""What integration tests of workers do with a log: put items in, wait for what comes out."""

import asyncio
from collections.abc import Callable

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import Ack, Message
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.topology import desired
from weft_schemas.errors import NotFound
from weft_schemas.events import Event, decode_event, encode_event
from weft_schemas.ids import item_message_id
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM, item_subject

PATIENCE = 120.0
"""Seconds until a test counts what it waits for as missing."""


def result(name: str, text: str) -> ContextItem:
    return ContextItem(id=name, kind=ItemKind.TOOL_RESULT, text=text)


async def publish(
    log: Connection, session: str, items: list[ContextItem], tenant: str = "acme"
) -> list[Ack]:
    def message(item: ContextItem) -> Message:
        payload = encode_event(item)
        message_id = item_message_id(tenant, session, item.id, payload)
        return Message(item_subject(tenant, session, item.kind), payload, message_id)

    async with Publisher(log) as publisher:
        return await publisher.publish_many([message(item) for item in items])


async def publish_raw(log: Connection, subject: str, payload: bytes) -> Ack:
    async with Publisher(log) as publisher:
        return await publisher.publish(subject, payload)


async def stored(
    log: Connection, direction: str = "out", after: int = 0
) -> list[tuple[int, Event]]:
    """Every event of a direction, with its sequence; or those after one."""
    records = read_matching(log, f"w.{direction}.>", after=after)
    return [(record.sequence, decode_event(record.payload)) async for record in records]


async def until(
    log: Connection, enough: Callable[[list[tuple[int, Event]]], bool]
) -> list[tuple[int, Event]]:
    """The derived events, as soon as there are enough of them."""
    events: list[tuple[int, Event]] = []
    async with asyncio.timeout(PATIENCE):
        while True:
            events += await stored(log, after=events[-1][0] if events else 0)
            if enough(events):
                return events
            await asyncio.sleep(0.05)


async def unfinished(log: Connection, durable: str = "firewall") -> int:
    """Events that the consumer has not had acknowledged. Its `num_pending` learns of an event
    shortly after the publisher does, so one that it has not delivered counts, too."""
    info = await call(log, f"CONSUMER.INFO.{STREAM}.{durable}")
    behind = await _last(log, info["config"]["filter_subject"]) > info["delivered"]["stream_seq"]
    return max(int(info["num_pending"]), int(behind)) + int(info["num_ack_pending"])


async def _last(log: Connection, subject: str) -> int:
    try:
        found = await call(log, f"STREAM.MSG.GET.{STREAM}", {"last_by_subj": subject})
    except NotFound:
        return 0
    return int(found["message"]["seq"])


async def until_finished(log: Connection, durable: str = "firewall") -> None:
    async with asyncio.timeout(PATIENCE):
        while await unfinished(log, durable):
            await asyncio.sleep(0.05)


async def hurry(log: Connection, durable: str = "firewall") -> None:
    """Redeliver what a dead process held after one second instead of thirty."""
    config = desired().consumers[durable] | {"ack_wait": 1_000_000_000}
    verb = f"CONSUMER.CREATE.{STREAM}.{durable}.{config['filter_subject']}"
    await call(log, verb, {"stream_name": STREAM, "config": config})
