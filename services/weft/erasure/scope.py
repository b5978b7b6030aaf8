"""Erases a scope, such as `user:42`: its items, what was derived from them, and what is remembered
for it, from all sessions of a tenant, the object store, audits, snapshots and every replica's
files. In the order of `session`: the tombstone first, the receipt last; a second run finishes an
interrupted one."""

from __future__ import annotations

import sqlite3

import msgspec

from weft.erasure.history import Target
from weft.erasure.records import (
    erase_named,
    erased_uncounted,
    is_own_record,
    publish_own,
)
from weft.erasure.scope_survey import ScopeSurvey
from weft.erasure.session import (
    ERASED_FROM,
    MAX_SWEEPS,
    RemovalCounts,
    out_of_reach,
    swept_snapshots,
    until_scrubbed,
    until_settled,
)
from weft.erasure.snapshots import SnapshotErasure
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_matching
from weft.log.record import LogRecord
from weft.log.secure_delete import check_deletable, erase_all
from weft.progress import OnStepProgress
from weft.readmodel.tombstone_fold import erase_scope as erase_rows
from weft.snapshots.erasure_mark import mark_erasures
from weft_schemas.errors import InvalidInput
from weft_schemas.events import ErasureReceiptEvent, ScopeErasedEvent
from weft_schemas.ids import encode_token
from weft_schemas.subjects import AUDIT_STREAM, stored_filter


class ErasedScope(msgspec.Struct, frozen=True):
    """What an erasure did."""

    tenant: str
    scope: str
    sessions: tuple[str, ...]
    """Sessions that held items of it; they go on without these."""
    tombstone: int
    removed: dict[str, int]
    unreachable: tuple[str, ...]
    receipt: int
    """Sequence of the receipt event."""


class ScopePlan(msgspec.Struct, frozen=True):
    """What is to be erased; found before anything is changed."""

    tenant: str
    scope: str
    events: int
    sessions: tuple[str, ...]
    unreadable: tuple[int, ...]

    @property
    def target(self) -> Target:
        return Target(self.tenant, None, self.scope)


async def plan_scope(
    connection: Connection, tenant: str, scope: str, on_progress: OnStepProgress = lambda *_: None
) -> ScopePlan:
    """Search the log for what belongs to a scope. If nothing is found, snapshots and replicas may
    still hold something of it, and it is erased there."""
    if not scope:
        raise InvalidInput("a scope has a name; give one, such as user:42")
    if scope.startswith("session:"):
        raise InvalidInput(f"{scope} is erased with its session: weft erase --session ID")
    survey = await _surveyed(
        connection, tenant, scope, await last_sequence(connection) + 1, on_progress
    )
    sessions, unreadable = tuple(survey.sessions), tuple(sorted(survey.unreadable))
    return ScopePlan(tenant, scope, len(survey.events), sessions, unreadable)


async def erase_scope(
    connection: Connection,
    plan: ScopePlan,
    reason: str = "",
    on_progress: OnStepProgress = lambda *_: None,
) -> ErasedScope:
    """Erase what was planned, and what has come since."""
    tenant, scope = plan.tenant, plan.scope
    await check_deletable(connection, *ERASED_FROM)
    async with Publisher(connection) as publisher:
        event = ScopeErasedEvent(scope, reason, plan.unreadable)
        stone = await publish_own(publisher, tenant, event, fresh=True)
        await mark_erasures(connection)
        count, sessions = RemovalCounts(), set(plan.sessions)
        left = await until_settled(connection, on_progress)
        await _sweep(connection, publisher, plan, stone, count, sessions, on_progress)
        snapshots = SnapshotErasure(
            connection, lambda db, at: _forget(db, plan, min(at + 1, stone)), stone
        )
        left += await swept_snapshots(snapshots, count)
        on_progress("replicas", 0, 1)
        reached, late = await until_scrubbed(connection, tenant, stone)
        count.add("replicas", len(reached))
        left += late
        for _ in range(MAX_SWEEPS):
            left += await until_settled(connection, on_progress)
            if not await _sweep(connection, publisher, plan, stone, count, sessions, on_progress):
                break
        left += await swept_snapshots(snapshots, count)
        left.append("what items without this scope say of it")
        unreachable = tuple(dict.fromkeys([*left, *await out_of_reach(connection)]))
        events = await erased_uncounted(connection, plan.target)
        removed = {"events": events, **count.counts, "sessions": len(sessions)}
        receipt_event = ErasureReceiptEvent(None, stone, removed, unreachable, scope=scope)
        receipt = await publish_own(publisher, tenant, receipt_event, fresh=True)
    names = tuple(sorted(sessions))
    return ErasedScope(tenant, scope, names, stone, removed, unreachable, receipt)


async def _surveyed(
    connection: Connection, tenant: str, scope: str, before: int, on_progress: OnStepProgress
) -> ScopeSurvey:
    """Repeated until nothing more is found: slices of slices come to light one after the other, and
    another item may have had an id before."""
    survey, more = ScopeSurvey(scope, before), True
    while more:
        more = False
        survey.again()
        async for record in read_matching(connection, stored_filter(tenant)):
            if not is_own_record(record):
                more = survey.take(record) or more
            if record.sequence % 1_000 == 0:
                on_progress("looking through the log", record.sequence, before)
    return survey


async def _sweep(
    connection: Connection,
    publisher: Publisher,
    plan: ScopePlan,
    stone: int,
    count: RemovalCounts,
    sessions: set[str],
    on_progress: OnStepProgress,
) -> int:
    """One pass over bodies, events and audits. Returns how many events it found."""
    survey = await _surveyed(connection, plan.tenant, plan.scope, stone, on_progress)
    sessions.update(survey.sessions)
    bodies = Bodies(connection, publisher, plan.tenant)
    for name in survey.bodies:
        messages = await bodies.delete(name)
        count.add("bodies", messages > 0)
        count.add("object_messages", messages)
    for session in sorted(sessions):  # first, since the events say which sessions these are
        subject = f"weft-audit.{encode_token(plan.tenant)}.{encode_token(session)}.>"
        audits = read_matching(connection, subject, stream=AUDIT_STREAM)
        found = [one.sequence async for one in audits if _was_read_before(one, stone)]
        count.add("audit_events", await erase_all(connection, AUDIT_STREAM, found))
    return await erase_named(publisher, plan.target, stone, sorted(survey.events))


def _forget(db: sqlite3.Connection, plan: ScopePlan, before: int) -> None:
    erase_rows(db, plan.tenant, plan.scope, before, plan.unreadable)


class _AuditTime(msgspec.Struct):
    """The time in an audit."""

    sequence: int = 0


_decode = msgspec.json.Decoder(_AuditTime).decode


def _was_read_before(record: LogRecord, stone: int) -> bool:
    """Whether the audit's pack may contain something of the scope; true if it cannot be read."""
    try:
        return _decode(record.payload).sequence < stone
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return True
