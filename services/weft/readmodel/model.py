"""ReadModel: what a compiler, a test or a notebook opens to get views of sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from weft import tokens
from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.raw_bodies import RawBodies
from weft.readmodel.store import MEMORY, get_meta, open_reader, open_writer
from weft.readmodel.unsealed_postings import UnsealedCache
from weft.readmodel.view import SessionView
from weft_schemas.event_place import TENANT_EVENTS
from weft_schemas.events import Event, encode_event
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem
from weft_schemas.subjects import derived_subject, item_subject, stored_form

_BATCH = 500
NONE_STORED: Mapping[str, bytes] = MappingProxyType({})


class ReadModel:
    """A read model opened for reading. One thread at a time uses it."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._unsealed = UnsealedCache()

    @classmethod
    def open(cls, path: Path | str) -> ReadModel:
        """Open a file read-only. Raises `Corrupt` if it is none, or of another schema."""
        return cls(open_reader(path))

    @classmethod
    def in_memory(
        cls,
        records: Iterable[LogRecord],
        encoding: str = tokens.DEFAULT_ENCODING,
        through: int = 0,
        stored: Mapping[str, bytes] = NONE_STORED,
    ) -> ReadModel:
        """A read model in memory of these records, which are in order of sequence. Its checkpoint
        is `through`, or the last record if that is later. `stored` are their bodies in the object
        store, by their SHA-256; of one that is not there, the summary is shown."""
        db = open_writer(MEMORY)
        fold = Fold(db, encoding, RawBodies(None, lambda _, one: stored.get(one.sha256)))
        remaining = iter(records)
        while batch := list(islice(remaining, _BATCH)):
            fold.apply(batch)
        fold.apply((), through)
        fold.seal()
        return cls(db)

    def view(self, tenant: str, session: str, as_of: int | None = None) -> SessionView:
        """A session at `as_of`, or at the newest folded sequence. An unknown one is empty."""
        return SessionView(self.db, tenant, session, as_of, self._unsealed)

    def watermark(self) -> int:
        """The newest folded log sequence, 0 if there is none."""
        return int(get_meta(self.db, "checkpoint") or 0)

    def encoding(self) -> str:
        """Name of the encoding in which tokens are counted."""
        return str(get_meta(self.db, "encoding") or "")

    def close(self) -> None:
        self.db.close()


def records_of(
    events: Sequence[Event],
    tenant: str = "default",
    session: str = "session",
    first_sequence: int = 1,
    published_ns: int = 0,
) -> list[LogRecord]:
    """Events as the log would hold them, for tests and notebooks; origins name these sequences."""
    return [
        LogRecord(sequence, _subject(tenant, session, event), published_ns, encode_event(event))
        for sequence, event in enumerate(events, first_sequence)
    ]


def _subject(tenant: str, session: str, event: Event) -> str:
    if isinstance(event, ContextItem):
        return stored_form(item_subject(tenant, session, event.kind.value))
    name = str(type(event).__struct_config__.tag)
    place = TENANT_SESSION if name in TENANT_EVENTS else session
    return stored_form(derived_subject(tenant, place, name))
