"""The content digest: equal for equal content, whatever its sequence numbers, batches and arrival
order.

It is computed from the rows themselves, so that a damaged row is noticed. Times, token counts,
duplicates, row ids and the text index are not part of it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from weft.readmodel.store import OPEN, snapshot, statements
from weft_schemas.events import EpisodeEvent
from weft_schemas.ids import digest

_sql = statements("digest")
_json = msgspec.json.Encoder()
_episode = msgspec.json.Decoder(EpisodeEvent)
_OF_SESSION = (
    "items", "envelopes", "summaries", "levels", "closings", "conflicts", "waiting", "facts",
    "parked",
)  # fmt: skip
_OF_TENANT = ("policies", "catalogs", "grants", "tombstones", "faults")


def content_digest(db: sqlite3.Connection) -> str:
    """Hex SHA-256 over everything."""
    with snapshot(db):
        tenants = [name for (name,) in db.execute(_sql.tenants).fetchall()]
        own = [(name, _of_rows(db, _OF_TENANT, name).hexdigest()) for name in tenants]
        return digest(*chain(*sorted(session_digests(db)), *own))


def session_digests(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Tenant, session and hex digest of every session that has content."""
    names = db.execute(_sql.sessions).fetchall()
    found = ((name, id, _session_digest(db, number)) for number, name, id in names)
    return [(name, id, value) for name, id, value in found if value]


def _session_digest(db: sqlite3.Connection, number: int) -> str:
    """Empty if the session has no rows."""
    state = _of_rows(db, _OF_SESSION, number)
    for content in sorted(_episodes(db, number), key=_json.encode):
        state.update(_line("episodes", content))
    return "" if state.digest() == hashlib.sha256().digest() else state.hexdigest()


def _episodes(db: sqlite3.Connection, number: int) -> Iterator[tuple[object, ...]]:
    """Episodes without their ids: older releases put sequence numbers into these."""
    for scope, body, in_force, withdrawn in db.execute(_sql.episodes, (number,)).fetchall():
        episode = _episode.decode(body)
        stretch = [
            db.execute(_sql.ordinal_at, (number, max(0, min(sequence, OPEN)))).fetchone()[0]
            for sequence in (episode.first_sequence, episode.last_sequence)
        ]
        own = (episode.text, episode.sources, episode.sensitivity)
        yield (scope, *own, stretch, in_force, withdrawn)


def _of_rows(db: sqlite3.Connection, tables: Sequence[str], whose: int | str) -> hashlib._Hash:
    state = hashlib.sha256()
    for table in tables:
        for row in db.execute(getattr(_sql, table), (whose,)):
            state.update(_line(table, row))
    return state


def _line(table: str, content: object) -> bytes:
    encoded = _json.encode((table, content))
    return b"%d:%s" % (len(encoded), encoded)
