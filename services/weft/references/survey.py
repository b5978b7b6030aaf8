"""Finds out what an erasure must know about the whole log: which sessions are forks of which, and
which sessions refer to which bodies. Pure, over records in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from weft.log.record import LogRecord
from weft_schemas.errors import InvalidInput
from weft_schemas.ids import SessionName, is_digest
from weft_schemas.items import BodyRef

FORKED_FROM = "forked_from"
"""Metadata key of a forked item: `{"session", "sequence", "at"}` of its original."""


class Survey:
    """Filled record by record."""

    def __init__(self) -> None:
        self.through = 0
        """Sequence up to which it has read."""
        self.forks: dict[SessionName, set[str]] = {}
        """Session → sessions that hold copies of its items."""
        self.bodies: dict[str, set[SessionName]] = {}
        """Body → the sessions that refer to it."""

    def take(self, record: LogRecord) -> None:
        """Take in one item or catalogue."""
        self.through = max(self.through, record.sequence)
        # Most records have neither: two searches cost a hundredth of decoding.
        if b'"sha256"' not in record.payload and b'"forked_from"' not in record.payload:
            return
        try:
            address = record.address()
        except InvalidInput:
            return
        place = SessionName(address.tenant, address.session)
        body = _body_of(record.payload)
        if body is not None and is_digest(body.sha256):
            self.bodies.setdefault(body.sha256, set()).add(place)
        origin = _fork_of(record.payload)
        if origin is not None and origin.session != address.session:
            self.add_forks([(SessionName(address.tenant, origin.session), address.session)])

    def add_forks(self, pairs: Iterable[tuple[SessionName, str]]) -> None:
        """Add forks that are known from elsewhere, as pairs of a session and its copy."""
        for place, fork in pairs:
            self.forks.setdefault(place, set()).add(fork)

    def lone_bodies(self, erased: ErasureSet) -> list[str]:
        """Digests of bodies to which nothing else of their tenant refers than what is to be
        erased."""
        found = []
        for sha256, places in self.bodies.items():
            own = [place for place in places if place.tenant == erased.tenant]
            if own and all(place in erased for place in own):
                found.append(sha256)
        return sorted(found)

    def is_referred_to(self, tenant: str, sha256: str) -> bool:
        """Whether anything of the tenant refers to a body."""
        return any(place.tenant == tenant for place in self.bodies.get(sha256, ()))


class ErasureSet:
    """What is to be erased: sessions of a tenant, or all of it."""

    def __init__(self, tenant: str, sessions: Iterable[str] | None) -> None:
        self.tenant = tenant
        self.sessions = None if sessions is None else tuple(sessions)
        """None for the whole tenant."""

    def __contains__(self, place: SessionName) -> bool:
        tenant, session = place
        return tenant == self.tenant and (self.sessions is None or session in self.sessions)


def with_forks(tenant: str, session: str, forks: Mapping[SessionName, Iterable[str]]) -> list[str]:
    """A session, its forks, their forks and so on: itself first, the others by name."""
    found, ahead = {session}, [session]
    while ahead:
        children = set(forks.get(SessionName(tenant, ahead.pop()), ())) - found
        found |= children
        ahead += children
    return [session, *sorted(found - {session})]


class _Fork(msgspec.Struct):
    session: str


class _Metadata(msgspec.Struct):
    forked_from: _Fork | None = None


class _OfFork(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _OfBody(msgspec.Struct):
    body: BodyRef | None = None


_of_fork, _of_body = msgspec.json.Decoder(_OfFork), msgspec.json.Decoder(_OfBody)
"""The body and the fork that an item or a catalogue names. Each is read on its own: metadata is
free, and an odd value for the fork must not hide the body."""


def _fork_of(payload: bytes) -> _Fork | None:
    try:
        return _of_fork.decode(payload).metadata.forked_from
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _body_of(payload: bytes) -> BodyRef | None:
    try:
        return _of_body.decode(payload).body
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
