"""What an erasure publishes about itself under the tenant's own session. It names the events that
it deletes before it deletes them, so that an interruption leaves no unexplained gap."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter

from weft.erasure.history import ErasureHistory, Target
from weft.erasure.sequence_runs import Run, holds, runs_of
from weft.log.connection import Connection
from weft.log.message import event_headers
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.record import LogRecord
from weft.log.secure_delete import erase_all
from weft_schemas.errors import InvalidInput, Overloaded
from weft_schemas.events import ERASURE_RECORDS, ErasingEvent, Event, encode_event
from weft_schemas.ids import TENANT_SESSION, digest
from weft_schemas.subjects import STREAM, derived_subject, stored_filter

FIRST_PART, MAX_PART = 64, 8_192
"""Events that are named at once: 180 KB at most, with sequences of nine digits."""


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
    try:
        return (await publisher.publish(subject, payload, id, headers)).sequence
    except Overloaded as error:
        raise Overloaded(
            f"the erasure is not finished: its own events, a few hundred bytes each, find no room "
            f"({error}). If the log is at its limit, make some with `weft snapshot` and then `weft "
            "trim --before N`, or raise WEFT_MAX_BYTES and run `weft provision`; then erase again"
        ) from error


async def erasure_history(connection: Connection, tenant: str | None = None) -> ErasureHistory:
    """The erasures of a tenant, or of all tenants, from their records. Malformed records are left
    out: the fold reports them."""
    found = []
    for name in ERASURE_RECORDS:
        subject = stored_filter(tenant, TENANT_SESSION, "out", name)
        async for record in read_matching(connection, subject):
            with suppress(InvalidInput):
                found.append((record.sequence, record.address().tenant, record.event()))
    made = ErasureHistory()
    for sequence, owner, event in sorted(found, key=itemgetter(0)):
        made.take(owner, sequence, event)
    return made


async def erase_named(
    publisher: Publisher,
    target: Target,
    tombstone: int,
    sequences: Sequence[int],
    on_progress: Callable[[int], None] = lambda erased: None,
) -> int:
    """Erase events of the log, which rise; each is named before it is erased. Returns how many
    existed.

    What an earlier run has named comes first. The rest is named and erased in parts, the first ones
    small, so that a log without room for more events gets room.
    """
    if not sequences:
        return 0
    connection = publisher.connection
    known = (await erasure_history(connection, target.tenant)).of[target].runs()
    there = erased = 0

    def reached(done: int) -> None:
        on_progress(erased + done)

    for part in _parts(sequences, known):
        if not holds(known, part[0]):
            event = ErasingEvent(tombstone, tuple(runs_of(part)))
            await publish_own(publisher, target.tenant, event)
        there += await erase_all(connection, STREAM, part, reached)
        erased += len(part)
    return there


def _parts(sequences: Sequence[int], known: Sequence[Run]) -> Iterator[Sequence[int]]:
    """The sequences that are named already, then the others in parts that grow."""
    named = [one for one in sequences if holds(known, one)]
    if named:
        yield named
    rest = [one for one in sequences if not holds(known, one)]
    start, size = 0, FIRST_PART
    while start < len(rest):
        yield rest[start : start + size]
        start, size = start + size, min(2 * size, MAX_PART)


async def erased_uncounted(connection: Connection, target: Target) -> int:
    """How many events its erasure has named, over all runs, that no receipt counts yet. By the end
    of an erasure all of them are gone."""
    return (await erasure_history(connection, target.tenant)).of[target].uncounted()
