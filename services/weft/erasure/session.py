"""Erases a session with its forks, or a tenant: from the log, the object store, the snapshots and
every replica's files. The tombstone comes first, so that nothing reads what is being erased and
late events are ignored. Then come bodies, then events, so that a run after an interruption finds
the rest. The receipt comes last, and says what could not be reached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from weft.erasure.history import Target
from weft.erasure.records import (
    erase_named,
    erased_uncounted,
    is_own_record,
    publish_own,
)
from weft.erasure.snapshots import SnapshotErasure, forgetting, forks_in_snapshot
from weft.erasure.tombstones import FORK_OF, KNOWN_SECONDS, buried_forks, tombstones
from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.record import LogRecord
from weft.log.replicas import ReplicaState, replicas
from weft.log.secure_delete import check_deletable, erase_all
from weft.log.topology import BODIES_STREAM, SNAPSHOTS_STREAM, WORKERS
from weft.progress import OnStepProgress
from weft.references.survey import ErasureSet, Survey, with_forks
from weft.references.survey_from_log import extend
from weft.snapshots.erasure_mark import mark_erasures
from weft.snapshots.trim_mark import trimmed_before
from weft.snapshots.trimming import trimmed_items
from weft_schemas.errors import ConfigurationError, InvalidInput, NotFound
from weft_schemas.events import ErasedEvent, ErasureReceiptEvent
from weft_schemas.ids import TENANT_SESSION, encode_token
from weft_schemas.policy import ContextPolicy
from weft_schemas.subjects import AUDIT_STREAM, STREAM, stored_filter

FLIGHT_SECONDS = 30.0
"""Longest wait for work in flight: a consumer's ack wait."""
REPLICA_SECONDS = 60.0
"""Longest wait for replicas, each of which rewrites its file."""
ERASED_FROM = (STREAM, AUDIT_STREAM, BODIES_STREAM, SNAPSHOTS_STREAM)
MAX_SWEEPS = 10
LATE_SECONDS = 1.5 * KNOWN_SECONDS
"""From the tombstones to the last passes: by then, what was published by clients that did not know
of the tombstones has arrived."""
_POLL_SECONDS = 0.2


class Erased(msgspec.Struct, frozen=True):
    """What an erasure did."""

    tenant: str
    session: str | None
    """Null for the whole tenant."""
    forks: tuple[str, ...]
    """Forks of it, which were erased as well."""
    tombstones: dict[str, int]
    """Session (empty for the tenant) → sequence of its tombstone."""
    removed: dict[str, int]
    unreachable: tuple[str, ...]
    receipt: int
    """Sequence of the receipt event."""


class ErasurePlan(msgspec.Struct, frozen=True):
    """What is to be erased; found before anything is changed."""

    tenant: str
    session: str | None
    forks: tuple[str, ...]
    events: int
    survey: Survey
    tombstones: dict[str, int]
    """Counts of an earlier erasure."""

    @property
    def sessions(self) -> list[str]:
        """All sessions that get a tombstone; empty for a tenant."""
        return [] if self.session is None else [self.session, *self.forks]

    @property
    def target(self) -> Target:
        return Target(self.tenant, self.session)

    @property
    def to_erase(self) -> ErasureSet:
        return ErasureSet(self.tenant, None if self.session is None else self.sessions)


async def plan(
    connection: Connection,
    tenant: str,
    session: str | None,
    on_progress: OnStepProgress = lambda *_: None,
) -> ErasurePlan:
    """Search the log for what belongs to a session, or to a tenant (None). Raises `NotFound` if
    there is nothing and never was."""
    if session == TENANT_SESSION:
        raise InvalidInput("the tenant's own session is erased with the tenant only")
    survey = Survey()
    await extend(connection, survey, on_progress)
    stones = await tombstones(connection, tenant)
    forks: list[str] = []
    trimmed = await trimmed_before(connection)
    if session is not None:
        if trimmed:
            survey.add_forks(await forks_in_snapshot(connection, tenant, trimmed))
        survey.add_forks(await buried_forks(connection, tenant))
        forks = with_forks(tenant, session, survey.forks)[1:]
    known = {name: sequence for name, (sequence, _) in stones.items()}
    made = ErasurePlan(tenant, session, tuple(forks), 0, survey, known)
    events = sum([len(found) async for _, found in _events(connection, made)])
    is_known = bool(events or forks) or (session or "") in known
    if not is_known and not (trimmed and await _is_in_snapshot(connection, tenant, session)):
        what = f"session {session!r} of tenant" if session is not None else "tenant"
        raise NotFound(f"{what} {tenant!r} has no events; is it spelt right?")
    return msgspec.structs.replace(made, events=events)


async def _is_in_snapshot(connection: Connection, tenant: str, session: str | None) -> bool:
    """Whether a snapshot may hold what was trimmed of a session or a tenant: without one that this
    release reads, nobody knows."""
    try:
        return await trimmed_items(connection, tenant, session) > 0
    except ConfigurationError:
        return True


async def erase(
    connection: Connection,
    plan: ErasurePlan,
    reason: str = "",
    on_progress: OnStepProgress = lambda *_: None,
) -> Erased:
    """Erase what was planned. A second run finishes an interrupted one, and erases what has come
    since. Raises `InvalidInput` for a reason that would say that the session is a fork."""
    if reason.startswith(FORK_OF):
        raise InvalidInput(
            f"the reason {reason!r} begins as that of a fork, which is erased with its source; "
            "word it differently. Nothing was erased"
        )
    await check_deletable(connection, *ERASED_FROM)
    async with Publisher(connection) as publisher:
        count, left = RemovalCounts(), []
        stones = await _bury(publisher, plan, reason)
        await mark_erasures(connection)
        buried = asyncio.get_running_loop().time()
        left += await until_settled(connection, on_progress)
        own = stones[plan.session or ""]
        await _sweep(connection, publisher, plan, own, count, on_progress)
        newest = max(stones.values())
        snapshots = SnapshotErasure(connection, forgetting(plan.to_erase), newest)
        left += await swept_snapshots(snapshots, count)
        on_progress("replicas", 0, 1)
        reached, late = await until_scrubbed(connection, plan.tenant, newest)
        count.add("replicas", len(reached))
        left += late
        await _until(buried + LATE_SECONDS)
        for _ in range(MAX_SWEEPS):
            left += await until_settled(connection, on_progress)
            if not await _sweep(connection, publisher, plan, own, count, on_progress):
                break
        left += await swept_snapshots(snapshots, count)
        unreachable = tuple(dict.fromkeys([*left, *await out_of_reach(connection)]))
        events = await erased_uncounted(connection, plan.target)
        removed = {"events": events, **count.counts, "forks": len(plan.forks)}
        receipt = await _receipts(publisher, plan, stones, removed, unreachable)
    return Erased(plan.tenant, plan.session, plan.forks, stones, removed, unreachable, receipt)


async def _until(time: float) -> None:
    await asyncio.sleep(max(0.0, time - asyncio.get_running_loop().time()))


class RemovalCounts:
    def __init__(self) -> None:
        self.counts = {"audit_events": 0, "bodies": 0, "object_messages": 0}

    def add(self, name: str, number: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + number


async def swept_snapshots(snapshots: SnapshotErasure, count: RemovalCounts) -> list[str]:
    """One pass over the snapshots; returns what could not be done."""
    number, left = await snapshots.sweep()
    count.add("snapshots", number)
    return left


async def _bury(publisher: Publisher, plan: ErasurePlan, reason: str) -> dict[str, int]:
    """Publish the tombstones that are missing."""
    wanted: list[str | None] = [*plan.sessions] or [None]
    stones = {}
    for name in wanted:
        known = plan.tombstones.get(name or "")
        if known is None:
            why = reason if name == plan.session else f"{FORK_OF}{plan.session}"
            known = await publish_own(publisher, plan.tenant, ErasedEvent(name, why))
        stones[name or ""] = known
    return stones


async def _stored(connection: Connection, tenant: str, session: str | None) -> list[int]:
    """Sequences in the log of a session, or of a tenant (None)."""
    stored = read_matching(connection, stored_filter(tenant, session))
    return [one.sequence async for one in stored if not is_own_record(one)]


async def until_settled(connection: Connection, on_progress: OnStepProgress) -> list[str]:
    """Wait for the events that workers are processing; returns which workers took too long."""
    late = []
    for worker in WORKERS:
        on_progress(f"work in flight of {worker}", 0, 1)
        if not await _settled(connection, worker):
            late.append(
                f"what {worker} had in work for over {FLIGHT_SECONDS:g} s: erase again later"
            )
    return late


async def _settled(connection: Connection, worker: str) -> bool:
    verb = f"CONSUMER.INFO.{STREAM}.{worker}"
    clock = asyncio.get_running_loop().time
    deadline = clock() + FLIGHT_SECONDS
    try:
        delivered = (await call(connection, verb))["delivered"]["stream_seq"]
        while clock() < deadline:
            info = await call(connection, verb)
            if not info["num_ack_pending"] or info["ack_floor"]["stream_seq"] >= delivered:
                return True
            await asyncio.sleep(_POLL_SECONDS)
    except NotFound:
        return True
    return False


async def _sweep(
    connection: Connection,
    publisher: Publisher,
    plan: ErasurePlan,
    tombstone: int,
    count: RemovalCounts,
    on_progress: OnStepProgress,
) -> int:
    """One pass over bodies and events. Returns how many events it found."""
    await extend(connection, plan.survey, on_progress)
    bodies = Bodies(connection, publisher, plan.tenant)
    for name in plan.survey.lone_bodies(plan.to_erase):
        messages = await bodies.delete(name)
        count.add("bodies", messages > 0)
        count.add("object_messages", messages)
    if plan.session is None:
        # Including those that were stored and never published.
        number, messages = await bodies.delete_all()
        count.add("bodies", number)
        count.add("object_messages", messages)
    else:
        count.add("object_messages", await bodies.erase_unfinished())
    swept = 0
    async for stream, found in _events(connection, plan):

        def reached(done: int, total: int = len(found)) -> None:
            on_progress("erasing events", done, total)

        if stream == STREAM:
            swept += await erase_named(publisher, plan.target, tombstone, found, reached)
        else:
            erased = await erase_all(connection, stream, found, reached)
            count.add("audit_events", erased)
            swept += erased
    return swept


async def _events(
    connection: Connection, plan: ErasurePlan
) -> AsyncIterator[tuple[str, list[int]]]:
    """Stream and sequences of all that is to be erased, for one session or tenant after the
    other."""
    wanted: list[str | None] = [*plan.sessions] or [None]
    for session in wanted:
        yield STREAM, await _stored(connection, plan.tenant, session)
        audits = f"weft-audit.{encode_token(plan.tenant)}."
        audits += f"{encode_token(session)}.>" if session is not None else ">"
        audited = read_matching(connection, audits, stream=AUDIT_STREAM)
        yield AUDIT_STREAM, [one.sequence async for one in audited]
    policies = stored_filter(plan.tenant, TENANT_SESSION, event="context_policy")
    if plan.sessions:
        narrowed = read_matching(connection, policies)
        yield STREAM, [one.sequence async for one in narrowed if _is_for(one, plan.sessions)]


def _is_for(record: LogRecord, sessions: list[str]) -> bool:
    try:
        event = record.event()
    except InvalidInput:
        return False
    return isinstance(event, ContextPolicy) and event.session in sessions


async def until_scrubbed(
    connection: Connection, tenant: str, tombstone: int
) -> tuple[list[ReplicaState], list[str]]:
    """Wait until no running replica has a byte of it. Returns the replicas that are done, and a
    line for each that was too slow."""
    deadline = asyncio.get_running_loop().time() + REPLICA_SECONDS
    while True:
        found = await replicas(connection, tenant)
        late = [one for one in found if one.scrubbed < tombstone or one.others]
        if not late or asyncio.get_running_loop().time() > deadline:
            break
    names = [f"replica {one.name}: still at work on it, look at its log" for one in late]
    names += [
        f"replica {one.name}: it keeps the read model of an earlier log; remove "
        f"replica/{one.earlier} from its data folder"
        for one in found
        if one.earlier
    ]
    return [one for one in found if one not in late], names


async def out_of_reach(connection: Connection) -> list[str]:
    """What an erasure cannot reach, or not yet."""
    nodes = (await call(connection, f"STREAM.INFO.{STREAM}"))["config"]["num_replicas"]
    raft = [f"the Raft logs of the {nodes} nodes: until each compacts its own"] if nodes > 1 else []
    return [
        *raft,
        "replicas that do not run: each applies the tombstone when it starts, before it serves",
        "backups of the log from before: one that is restored lacks the tombstone, so erase again",
        "backups of data folders: a restored one applies the tombstone before it serves",
        "what was exported, or given to a model or an agent",
    ]


async def _receipts(
    publisher: Publisher,
    plan: ErasurePlan,
    stones: dict[str, int],
    removed: dict[str, int],
    unreachable: tuple[str, ...],
) -> int:
    """One for each tombstone. Returns that of the requested erasure, which has the total counts."""
    for fork in plan.forks:
        event = ErasureReceiptEvent(fork, stones[fork], {}, unreachable)
        await publish_own(publisher, plan.tenant, event, fresh=True)
    stone = stones[plan.session or ""]
    receipt = ErasureReceiptEvent(plan.session, stone, removed, unreachable)
    return await publish_own(publisher, plan.tenant, receipt, fresh=True)
