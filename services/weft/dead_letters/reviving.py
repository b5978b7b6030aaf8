"""Dead letters in a real log: find, revive or drop them. Reviving publishes an event that the
worker takes like any other, so the worker need not run now, and what it derives follows in the log
as if it had come late."""

from __future__ import annotations

from collections.abc import Iterable

from weft.dead_letters.dead_letter import DeadLetter, dead_letters_in
from weft.log.connection import Connection
from weft.log.message import Message, event_headers
from weft.log.publishing import Publisher
from weft.log.reading import read, read_matching, read_session
from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import Origin, ParkedEvent, RevivedEvent, encode_event
from weft_schemas.ids import digest
from weft_schemas.subjects import derived_subject, item_subject, stored_filter


async def dead_letters(
    connection: Connection, tenant: str, session: str | None = None
) -> list[DeadLetter]:
    """Every source of a tenant that was parked, open or not."""
    records: list[LogRecord] = []
    for direction, event in (("out", "parked"), ("*", "revived")):
        subjects = stored_filter(tenant, session, direction, event)
        records += [record async for record in read_matching(connection, subjects)]
    return dead_letters_in(sorted(records, key=lambda record: record.sequence))


def of_source(found: Iterable[DeadLetter], sequence: int) -> list[DeadLetter]:
    """The dead letters of one source. Raises `NotFound`."""
    ones = [letter for letter in found if letter.sequence == sequence]
    if not ones:
        raise NotFound(f"event {sequence} is not parked; `weft dlq list` shows what is")
    return ones


def chosen(
    found: Iterable[DeadLetter], sequences: Iterable[int], worker: str | None, drop: bool = False
) -> list[DeadLetter]:
    """The dead letters of these sources that can be revived: open ones, and dropped ones by name.
    Replayed ones can be dropped if no other dead letter of their source waits. Raises `NotFound`
    for a source that is not parked."""
    of = {number: [one for one in found if one.sequence == number] for number in sequences}
    picked: list[DeadLetter] = []
    for number, ones in of.items():
        asked = [one for one in ones if worker in (None, one.worker)]
        fitting = [one for one in asked if _waits(one)] or (asked if drop else [])
        if not fitting:
            raise NotFound(_why_not(number, ones, worker))
        picked += fitting
    return picked


async def revive(
    connection: Connection, tenant: str, letters: Iterable[DeadLetter], drop: bool = False
) -> int:
    """Publish that these are revived (or dropped). Returns the sequence of the last event. Raises
    `InvalidInput` if there are none, and `NotFound`, before anything is published, if a source to
    be processed again is no longer in the log, or a replayed one to be dropped is not pending."""
    letters = list(letters)
    if not letters:
        raise InvalidInput("no parked event was named; `weft dlq list` shows them")
    if drop:
        messages = [
            message for one in letters for message in await _dropping(connection, tenant, one)
        ]
    else:
        await _check_sources(connection, letters)
        messages = [_message(tenant, one, drop=False) for one in letters]
    async with Publisher(connection) as publisher:
        acks = await publisher.publish_many(messages)
    return acks[-1].sequence


async def _check_sources(connection: Connection, letters: Iterable[DeadLetter]) -> None:
    gone = []
    for number in sorted({letter.sequence for letter in letters}):
        try:
            await read(connection, number)
        except NotFound:
            gone.append(str(number))
    if gone:
        sources = " ".join(gone)
        raise NotFound(
            f"not in the log any more, trimmed or erased, so that nothing can be derived from it: "
            f"event {sources.replace(' ', ', ')}. Drop it with `weft dlq drop {sources}`; nothing "
            "was replayed"
        )


async def _dropping(connection: Connection, tenant: str, letter: DeadLetter) -> list[Message]:
    """The messages that drop a dead letter. One that was replayed is parked again first: as long as
    it is not, its item is pending."""
    if letter.open or letter.dropped:
        return [_message(tenant, letter, drop=True)]
    later = read_session(connection, tenant, letter.session, after=letter.revived)
    async for record in later:
        if _is_derived_from(record, letter):
            raise NotFound(
                f"event {letter.sequence} was replayed, and event {record.sequence} was derived "
                "from it: there is nothing to drop"
            )
    return [_parked_again(tenant, letter), _message(tenant, letter, drop=True)]


def _is_derived_from(record: LogRecord, letter: DeadLetter) -> bool:
    try:
        origin = getattr(record.event(), "origin", None)
    except InvalidInput:
        return False
    by_worker = record.subject.startswith("w.out.")
    return by_worker and origin is not None and _source_of(origin) == _source_of(letter.origin())


def _source_of(origin: Origin) -> tuple[int, str]:
    return origin.sequence, origin.worker


def _parked_again(tenant: str, letter: DeadLetter) -> Message:
    event = ParkedEvent(letter.origin(), letter.code, letter.error, letter.attempts)
    subject = derived_subject(tenant, letter.session, "parked")
    id = digest("parked again", letter.sequence, letter.worker, letter.revived)[:32]
    return Message(subject, encode_event(event), id, event_headers(id, "weft.parked", "/weft/dlq"))


def _message(tenant: str, letter: DeadLetter, drop: bool) -> Message:
    subject = item_subject(tenant, letter.session, "revived")
    payload = encode_event(RevivedEvent(letter.origin(), drop))
    # The same decision about the same parking is stored once, whoever makes it again.
    id = digest("revived", letter.sequence, letter.worker, letter.parked, str(drop))[:32]
    return Message(subject, payload, id, event_headers(id, "weft.revived", "/weft/dlq"))


def _waits(letter: DeadLetter) -> bool:
    return letter.open or letter.dropped


def _why_not(number: int, ones: list[DeadLetter], worker: str | None) -> str:
    if not ones:
        return f"event {number} is not parked; `weft dlq list` shows what is"
    if worker is not None and all(one.worker != worker for one in ones):
        return f"event {number} was parked by {ones[0].worker}, not by {worker}"
    return f"event {number} was replayed already, by event {ones[0].revived}; look at its session"
