"""Dead letters: which sources are parked, from the events that park and revive them.

Pure functions over records of the log, in order.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.events import Origin, ParkedEvent, RevivedEvent


class Letter(msgspec.Struct, frozen=True):
    """One source that one worker gave up."""

    session: str
    sequence: int
    """Of the source."""
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
    """Sequence of the event that had it worked again, or dropped it; 0 while it waits."""
    dropped: bool = False

    @property
    def open(self) -> bool:
        """It waits for an operator."""
        return not self.revived

    def origin(self) -> Origin:
        """What an event about it names."""
        return Origin(sequence=self.sequence, item_id=self.item_id, worker=self.worker)


def letters(records: Iterable[LogRecord]) -> list[Letter]:
    """Every source that was ever parked, in order of source and worker."""
    found: dict[tuple[str, int, str], Letter] = {}
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


def _parked(before: Letter | None, session: str, event: ParkedEvent, sequence: int) -> Letter:
    return Letter(
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
