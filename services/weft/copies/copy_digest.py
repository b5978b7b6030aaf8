"""A digest that a copy shares with its original: over all events in order, with sequences replaced
by positions, and without the session's name."""

from __future__ import annotations

import hashlib

from weft.copies.renaming import without_session_name
from weft.copies.sequences import Places, with_new_sequences
from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.events import encode_event
from weft_schemas.ids import SessionName, digest
from weft_schemas.subjects import event_of


class CopyDigest:
    """The digest of records, taken in order."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self._places = Places()
        self.count = 0

    def take(self, record: LogRecord, name: SessionName) -> None:
        """Take in a record of session `name`. A record that cannot be decoded counts by its
        bytes."""
        self.count += 1
        payload = record.payload
        try:
            event = with_new_sequences(record.event(), self._places, same_log=False)
            payload = encode_event(without_session_name(event, name))
        except InvalidInput:
            pass
        direction, event_name = record.subject.split(".")[1], event_of(record.subject)
        self._state.update(digest(direction, event_name, payload).encode())
        self._places.add(record.sequence, self.count)

    def hexdigest(self) -> str:
        return self._state.hexdigest()
