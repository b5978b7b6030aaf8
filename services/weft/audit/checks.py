"""Checks of the log, of the events derived from it, and of the rows folded from it.

They are pure functions. Each finding says what to do about it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from weft.erasure.history import ErasureHistory, Target, TargetHistory
from weft.erasure.sequence_runs import Run, holds, merged, minus, size, without_oldest
from weft.log.record import LogRecord
from weft.readmodel.digest import content_digest, session_digests
from weft.readmodel.store import get_meta, snapshot, statements
from weft.snapshots.loss import Loss
from weft_schemas.errors import InvalidInput
from weft_schemas.subjects import UNREADABLE

# An absolute path replaces the read model's own folder.
_sql = statements(str(Path(__file__).with_name("checks")))

_LISTED = 5
"""Most sequences or items that one finding names."""


class AuditFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is not as it should be."""

    kind: str
    """`waiting`, `enveloped_twice`, `unknown_parent`, `unknown_source`, `undecodable`, `gap`,
    `unfinished_erasure`, `body_missing`, `body_damaged`, `other_log`, `ahead`, `digest`; as notes
    `parked`, `conflict`, `uncounted_source`, `erased_source`, `behind`, `not_compared`, `lost`."""
    what: str
    mend: str
    tenant: str = ""
    session: str = ""
    sequence: int = 0
    """Of the event that the finding is about, 0 if it is about none."""
    item_id: str = ""
    note: bool = False
    """Worth knowing, but no fault."""


class ContentDigests(msgspec.Struct, frozen=True):
    """The content of a read model, in digests."""

    sequence: int
    """Everything up to this sequence is folded."""
    digest: str
    sessions: dict[tuple[str, str], str]
    """(tenant, session) → digest."""


def content_digests(db: sqlite3.Connection) -> ContentDigests:
    """The state of a read model after one commit."""
    with snapshot(db):
        sessions = {(tenant, session): value for tenant, session, value in session_digests(db)}
        return ContentDigests(int(get_meta(db, "checkpoint") or 0), content_digest(db), sessions)


def content_findings(db: sqlite3.Connection) -> list[AuditFinding]:
    """What a fresh fold of the log says about its events: unsettled, orphaned, malformed ones."""
    return [*waiting(db), *_orphans(db), *_faults(db), *_dead_letters(db), *_conflicts(db)]


def waiting(db: sqlite3.Connection) -> list[AuditFinding]:
    """Untrusted items that have no envelope and are not parked."""
    return [
        AuditFinding(
            "waiting",
            "it has no envelope and is not parked",
            f"start a firewall; if one runs: weft rederive firewall --session {session}",
            tenant,
            session,
            sequence,
            item_id,
        )
        for tenant, session, sequence, item_id in db.execute(_sql.waiting)
    ]


def _orphans(db: sqlite3.Connection) -> Iterator[AuditFinding]:
    for *place, parent in db.execute(_sql.orphans):
        yield AuditFinding(
            "unknown_parent",
            f"its parent {parent!r} is not in the session",
            "publish the parent, or the item again under a new id without it",
            *place,
        )


def _faults(db: sqlite3.Connection) -> Iterator[AuditFinding]:
    for tenant, session, sequence, code, error, parked in db.execute(_sql.faults):
        if code == "contradiction":
            yield AuditFinding(
                "unknown_source",
                error,
                "the fold ignores it; look at its ce-source for who published it",
                tenant,
                session,
                sequence,
            )
        else:
            yield AuditFinding(
                "undecodable",
                f"{code}: {error}",
                _mend_of_fault(session, sequence, bool(parked)),
                tenant,
                session,
                sequence,
                note=bool(parked),
            )


def _mend_of_fault(session: str, sequence: int, is_parked: bool) -> str:
    """What to do about an event that cannot be read. One that no worker has parked is not among the
    dead letters."""
    if is_parked:
        return (
            f"upgrade weft and `weft dlq replay {sequence}`, or mend its publisher and `weft dlq "
            f"drop {sequence}`"
        )
    erase = f"`weft erase --session {session}` removes it with that session"
    if session == UNREADABLE:
        erase = "only an erasure of the whole tenant removes it"
    return (
        "if no firewall or memory-updater runs, start one, which parks it; if one runs, it was "
        f"there before they parked such events: mend its publisher, and {erase}"
    )


class UnknownSources:
    """Some derived events without a source are faults; others are to be expected. This tells them
    apart. A worker takes every item, even one that is stored twice and counts once, or one that is
    erased meanwhile. Findings must be given in the order of their sequences."""

    def __init__(self, db: sqlite3.Connection, deleted: Sequence[Run]) -> None:
        self._uncounted = {sequence for (sequence,) in db.execute(_sql.uncounted)}
        self._deleted = deleted
        self._of_deleted: set[int] = set()
        """Items that were derived from deleted ones, directly or through other derived items."""
        self._buried = {tenant for (tenant,) in db.execute(_sql.buried)}

    def judged(self, finding: AuditFinding, source: int) -> AuditFinding:
        """The finding about an event of unknown source, turned into a note if there is a reason."""
        replace = msgspec.structs.replace
        nothing = "nothing: the fold ignores it"
        if source in self._uncounted:
            # An event derived from this one does not count either.
            self._uncounted.add(finding.sequence)
            what = f"it is derived of event {source}, whose item was published before and counts"
            return replace(finding, kind="uncounted_source", what=what, mend=nothing, note=True)
        is_deleted = source in self._of_deleted or holds(self._deleted, source)
        if is_deleted and finding.tenant in self._buried:
            self._of_deleted.add(finding.sequence)
            what = f"it is derived of event {source}, which was erased"
            return replace(finding, kind="erased_source", what=what, mend=nothing, note=True)
        return finding


def _dead_letters(db: sqlite3.Connection) -> Iterator[AuditFinding]:
    mend = "look at it with `weft dlq show`, then replay or drop it"
    for tenant, session, sequence, item_id, worker, code in db.execute(_sql.dead_letters):
        what = f"{worker} gave it up ({code})"
        yield AuditFinding("parked", what, mend, tenant, session, sequence, item_id, True)


def _conflicts(db: sqlite3.Connection) -> Iterator[AuditFinding]:
    what = "its id was taken by another item, which counts"
    mend = "publish it again under an id of its own"
    for tenant, session, sequence, item_id in db.execute(_sql.conflicts):
        yield AuditFinding("conflict", what, mend, tenant, session, sequence, item_id, True)


class _Envelope(msgspec.Struct):
    origin: _Source


class _Source(msgspec.Struct):
    sequence: int
    item_id: str = ""
    worker: str = ""
    run: str = ""


_envelope = msgspec.json.Decoder(_Envelope)


class DuplicateEnvelopes:
    """Finds items with two envelopes of one run. Takes the envelope events in order."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int, str], int] = {}
        self.findings: list[AuditFinding] = []

    def take(self, record: LogRecord) -> None:
        """Check one envelope event."""
        try:
            origin = _envelope.decode(record.payload).origin
            address = record.address()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput):
            return  # counted among the undecodable
        key = (address.tenant, address.session, origin.sequence, origin.run)
        first = self._seen.setdefault(key, record.sequence)
        if first != record.sequence:
            finding = AuditFinding(
                "enveloped_twice",
                f"events {first} and {record.sequence} are both its envelope",
                f"nothing to repair, {first} counts; look at why the worker's ack was lost",
                address.tenant,
                address.session,
                origin.sequence,
                origin.item_id,
            )
            self.findings.append(finding)


def gaps(deleted: Sequence[Run], begins: int, erasures: ErasureHistory) -> list[AuditFinding]:
    """Messages that are missing from the log without an explanation, and unfinished erasures. An
    erasure explains a missing message; so does the log's beginning at `begins`, after trimming or
    by age."""
    unfinished = [_unfinished(target, erasures.of[target]) for target in erasures.unfinished()]
    missing = minus(deleted, merged([(0, begins - 1), *erasures.named()]))
    counts = erasures.counted_only()
    for before, count in counts:
        missing = without_oldest(missing, count, before)
    if not missing:
        return unfinished
    what = f"{size(missing)} messages are missing ({_first(missing)}) that no erasure names"
    if counts:
        what += " or counts"
    mend = "somebody deleted them: put them back from a backup, and look at who may"
    if unfinished:
        mend = f"finish the erasures that are not finished, and look again; else {mend}"
    return [*unfinished, AuditFinding("gap", what, mend, "", "", missing[0][0])]


def _first(runs: Sequence[Run]) -> str:
    """The first sequences of some runs, and how many there are beside them."""
    each = (one for first, last in runs for one in range(first, last + 1))
    shown = ", ".join(str(one) for one in islice(each, _LISTED))
    more = size(runs) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def _unfinished(target: Target, history: TargetHistory) -> AuditFinding:
    return AuditFinding(
        "unfinished_erasure",
        f"the erasure of {target} has no receipt: it was interrupted, or is still at work",
        f"`{target.command}` finishes it",
        target.tenant,
        target.session or "",
        history.began(),
    )


def bodies(
    db: sqlite3.Connection, trimmed_before: int
) -> list[tuple[str, str, int, str, str, int]]:
    """Tenant, session, sequence, item, SHA-256 and size of every body that should be in the object
    store. The bodies of trimmed items are gone with them."""
    return db.execute(_sql.bodies, (trimmed_before,)).fetchall()


def differing_sessions(live: ContentDigests, fresh: ContentDigests) -> list[tuple[str, str]]:
    """Tenant and name of the sessions in which two read models differ, in order."""
    names = sorted({*live.sessions, *fresh.sessions})
    return [name for name in names if live.sessions.get(name) != fresh.sessions.get(name)]


def items_of(
    sessions: Iterable[tuple[str, str]], through: int, db: sqlite3.Connection
) -> dict[tuple[str, str], set[tuple[int, str]]]:
    """Session → sequence and id of its items up to a sequence."""
    return {name: set(db.execute(_sql.items, (*name, through))) for name in sessions}


def comparison(
    live: ContentDigests,
    fresh: ContentDigests,
    live_items: Mapping[tuple[str, str], set[tuple[int, str]]],
    fresh_items: Mapping[tuple[str, str], set[tuple[int, str]]],
    needs_snapshot: bool = False,
) -> list[AuditFinding]:
    """Where two read models at the same sequence differ, given the items of the sessions that do.
    `needs_snapshot` says that the log alone does not hold everything."""
    if live.digest == fresh.digest:
        return []
    different = differing_sessions(live, fresh)
    mend = f"weft rebuild{' --from snapshot' if needs_snapshot else ''} --verify"
    if not different:
        what = "policies, catalogues, tombstones or faults differ from the log"
        return [AuditFinding("digest", f"in the read model, {what}", mend)]
    return [
        AuditFinding("digest", _differing(live_items[name], fresh_items[name]), mend, *name)
        for name in different
    ]


def by_erasure(findings: list[AuditFinding], erasures: ErasureHistory) -> list[AuditFinding]:
    """The findings; those that come of an erasure that was asked for, as notes."""
    return [_after_erasure(one, erasures) for one in findings]


def _after_erasure(finding: AuditFinding, erasures: ErasureHistory) -> AuditFinding:
    """Records of an erasure name sequences and no ids, so which item went is not known."""
    if finding.kind == "unknown_parent":
        scopes = erasures.of_scopes(finding.tenant)
        if scopes:
            named = ", ".join(str(target) for target in scopes[:_LISTED])
            return _explained(finding, f"items were erased with {named}")
    if finding.kind == "enveloped_twice":
        target = erasures.of_session(finding.tenant, finding.session)
        if target is not None:
            what = f"{finding.what}; {target} was erased before, so none counts"
            mend = f"`{target.command}` erases them"
            return msgspec.structs.replace(finding, what=what, mend=mend, note=True)
    return finding


def by_age(findings: list[AuditFinding], before: int) -> list[AuditFinding]:
    """Findings that may come of it alone that events `before` one left the log by age: turned into
    notes. They do not advise a rebuild: the read model may hold the last copy of those events."""
    why = f"events before {before} left the log by age"
    return [_explained(one, why) if one.kind in _MAY_BE_GONE else one for one in findings]


def by_loss(findings: list[AuditFinding], loss: Loss) -> list[AuditFinding]:
    """The same for findings that may come of a trimmed part that is lost, with a note about the
    loss."""
    mend = "nothing mends it, if no backup or export holds it"
    lost = AuditFinding("lost", str(loss), mend, sequence=loss.before, note=True)
    return [
        lost,
        *(_explained(one, str(loss)) if one.kind in _MAY_BE_GONE else one for one in findings),
    ]


_MAY_BE_GONE = {
    "digest": "nothing, if that is all. A rebuild from the log would lack what has left it",
    "unknown_parent": "nothing, if its parent was among them",
    "unknown_source": "nothing, if its source was among them",
}


def _explained(finding: AuditFinding, why: str) -> AuditFinding:
    what, mend = f"{finding.what}; {why}", _MAY_BE_GONE[finding.kind]
    return msgspec.structs.replace(finding, what=what, mend=mend, note=True)


def _differing(held: set[tuple[int, str]], logged: set[tuple[int, str]]) -> str:
    """The difference in words: items that only one of the two has, or else rows that differ."""
    lacking, surplus = sorted(logged - held), sorted(held - logged)
    if lacking:
        return f"the read model lacks items of the log: {_named(lacking)}"
    if surplus:
        return f"the read model holds items that the log does not: {_named(surplus)}"
    return "the read model's rows differ from the log's"


def _named(values: Iterable[object]) -> str:
    listed = list(values)
    shown = [f"{one[1]} ({one[0]})" if isinstance(one, tuple) else str(one) for one in listed]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(shown[:_LISTED]) + more
