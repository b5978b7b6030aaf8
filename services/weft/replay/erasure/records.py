"""What an erasure publishes about itself under the tenant's own session. It names the events that
it deletes before it deletes them, so that an interruption leaves no gap that nothing explains."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import read_own
from weft.log.record import LogRecord
from weft.log.secure_delete import erase_all
from weft.replay.sequence_runs import merged, runs_of, size
from weft_schemas.errors import InvalidInput
from weft_schemas.events import (
    ERASURE_RECORDS,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    encode_event,
)
from weft_schemas.ids import TENANT_SESSION, digest
from weft_schemas.subjects import STREAM, derived_subject

RUNS = 10_000
"""Most runs of sequences that one event names: 200 KB with sequences of nine digits."""


def is_own_record(record: LogRecord) -> bool:
    """Whether it is a record of an erasure; these stay, since they say what was erased."""
    try:
        place = record.address()
    except InvalidInput:
        return False
    is_tenants = place.direction == "out" and place.session == TENANT_SESSION
    return is_tenants and place.event in ERASURE_RECORDS


async def publish_own(publisher: Publisher, tenant: str, event: Event, fresh: bool = False) -> int:
    """Publish one of the tenant's own events. A `fresh` one is stored even if an equal one was
    before."""
    name = str(type(event).__struct_config__.tag)
    payload = encode_event(event)
    id = secrets.token_hex(16) if fresh else digest("erasure", tenant, payload)[:32]
    headers = event_headers(id, f"weft.{name}", "/weft/erase")
    subject = derived_subject(tenant, TENANT_SESSION, name)
    return (await publisher.publish(subject, payload, id, headers)).sequence


async def erase_named(
    publisher: Publisher,
    tenant: str,
    tombstone: int,
    sequences: Sequence[int],
    on_progress: Callable[[int], None] = lambda erased: None,
) -> int:
    """Erase events of the log, named first. `sequences` rise. Returns how many existed."""
    named = runs_of(sequences)
    for start in range(0, len(named), RUNS):
        event = ErasingEvent(tombstone, tuple(named[start : start + RUNS]))
        await publish_own(publisher, tenant, event)
    return await erase_all(publisher.connection, STREAM, sequences, on_progress)


async def erased_uncounted(connection: Connection, tenant: str, tombstone: int) -> int:
    """How many events this erasure named, in all its runs, that no receipt of it counts yet."""
    named = [
        event.sequences
        async for _, event in read_own(connection, tenant, ErasingEvent)
        if event.tombstone_sequence == tombstone
    ]
    counted = 0
    async for _, receipt in read_own(connection, tenant, ErasureReceiptEvent):
        if receipt.tombstone_sequence == tombstone:
            counted += receipt.removed.get("events", 0)
    return max(0, size(merged(run for some in named for run in some)) - counted)
