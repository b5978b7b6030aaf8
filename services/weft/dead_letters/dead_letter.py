"""Which sources are dead letters, according to the events that park and revive them. Pure functions
over the log's records, in order."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Origin, ParkedEvent, RevivedEvent


class DeadLetter(msgspec.Struct, frozen=True):
    """A source that a worker gave up on."""

    session: str
    sequence: int
    """Sequence of the source."""
    worker: str
    item_id: str
    code: str
    error: str
    attempts: int
    parked: int
    """Sequence of the event that parked it last."""
    times: int = 1
    """How often it was parked."""
    revived: int = 0
    """Sequence of the event that revived or dropped it; 0 while it is parked."""
    dropped: bool = False

    @property
    def open(self) -> bool:
        """Whether it waits for an operator."""
        return not self.revived

    def origin(self) -> Origin:
        """The worker and source that an event names."""
        return Origin(sequence=self.sequence, item_id=self.item_id, worker=self.worker)


def dead_letters_in(records: Iterable[LogRecord]) -> list[DeadLetter]:
    """Every source that was ever parked, ordered by source and worker."""
    found: dict[tuple[str, int, str], DeadLetter] = {}
    for record in records:
        try:
            event, session = record.event(), record.address().session
        except InvalidInput:
            continue
        if isinstance(event, ParkedEvent):
            key = (session, event.origin.sequence, event.origin.worker)
            found[key] = _parked(found.get(key), session, event, record.sequence)
        elif isinstance(event, RevivedEvent):
            for key in [key for key in found if _names(event, session, key)]:
                if found[key].open:
                    found[key] = msgspec.structs.replace(
                        found[key], revived=record.sequence, dropped=event.drop
                    )
    return sorted(found.values(), key=lambda letter: (letter.sequence, letter.worker))


def _parked(
    before: DeadLetter | None, session: str, event: ParkedEvent, sequence: int
) -> DeadLetter:
    return DeadLetter(
        session=session,
        sequence=event.origin.sequence,
        worker=event.origin.worker,
        item_id=event.origin.item_id,
        code=event.code,
        error=event.error,
        attempts=event.attempts,
        parked=sequence,
        times=before.times + 1 if before else 1,
    )


def _names(event: RevivedEvent, session: str, key: tuple[str, int, str]) -> bool:
    origin = event.origin
    return key[:2] == (session, origin.sequence) and origin.worker in ("", key[2])
