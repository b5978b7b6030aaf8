"""The auditor. It folds the whole log anew, beside the read model that is in use, and compares the
two, the derived events and the bodies. It changes nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from weft.audit.checks import (
    AuditFinding,
    ContentDigests,
    DuplicateEnvelopes,
    UnknownSources,
    bodies,
    by_age,
    by_erasure,
    by_loss,
    comparison,
    content_digests,
    content_findings,
    differing_sessions,
    gaps,
    items_of,
    waiting,
)
from weft.erasure.records import erasure_history
from weft.erasure.sequence_runs import merged, runs_of
from weft.indexer import starting
from weft.indexer.catching_up import catch_up
from weft.indexer.writer import Writer
from weft.log import reading, stream_identity
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.deletions import aged_before, deleted_after
from weft.log.publishing import Publisher
from weft.log.stream_identity import StreamIdentity
from weft.progress import OnStepProgress
from weft.readmodel.database import Database
from weft.readmodel.generations import Generations, Reader
from weft.readmodel.model import ReadModel
from weft.readmodel.store import get_meta
from weft.snapshots.loss import accepted_loss
from weft.snapshots.trim_mark import trimmed_before
from weft_schemas.errors import Corrupt, InvalidInput, NotFound
from weft_schemas.items import BodyRef
from weft_schemas.subjects import stored_filter

SETTLE_SECONDS = 5.0
"""Time to wait for envelopes, and for a replica that is behind: events that were just published may
still be on their way."""
_POLL_SECONDS = 0.2


class Verification(msgspec.Struct):
    """The result of an audit."""

    sequence: int = 0
    """The log was checked up to this sequence."""
    compared: int = 0
    """Sequence at which the read model was compared; 0 if it was not."""
    digest: str = ""
    """Content digest of the log at that sequence."""
    bodies: int = 0
    """Number of bodies in the object store that were hashed."""
    findings: list[AuditFinding] = []

    @property
    def faults(self) -> list[AuditFinding]:
        """The findings that are more than notes."""
        return [finding for finding in self.findings if not finding.note]


async def verify(
    connection: Connection,
    data_dir: Path,
    encoding: str,
    progress: OnStepProgress = lambda what, done, all: None,
) -> Verification:
    """Audit the log of all tenants, and the replica on `data_dir` if there is one.

    Raises `Unavailable` if the server or the read model cannot be read, and `ConfigurationError` if
    the log was trimmed and no snapshot fits.
    """
    async with _replica(data_dir) as live:
        if live is not None:
            encoding = await live.run(lambda db: ReadModel(db).encoding())
        with tempfile.TemporaryDirectory(prefix="weft-verify-") as folder:
            return await _verified(connection, live, Generations(Path(folder)), encoding, progress)


async def _verified(
    connection: Connection,
    live: Database | None,
    generations: Generations,
    encoding: str,
    progress: OnStepProgress,
) -> Verification:
    """Fold the log into a generation of its own, and check it and the live read model."""
    done = Verification()
    trimmed, aged = await trimmed_before(connection), await aged_before(connection)
    begins = max(trimmed, aged, 1)
    is_whole = not aged or await starting.holds_aged(connection, encoding, aged)
    if trimmed or (aged and is_whole):
        fresh = await starting.start(connection, generations, encoding)
    else:
        fresh = await Writer.open(generations.new(), encoding, connection)
    try:
        async with Database.reading(fresh.path) as db:
            await _compare(connection, done, live, fresh, db, begins > 1, progress)
            await _settled(connection, fresh, db, progress)
            done.sequence = fresh.checkpoint
            later = await deleted_after(connection, begins - 1)
            deleted = merged([(1, begins - 1), *runs_of(later)])
            found, sources = await db.run(
                lambda read: (content_findings(read), UnknownSources(read, deleted))
            )
            # Read after `deleted`, so that an erasure that is at work makes no gap.
            erasures = await erasure_history(connection)
            found = await _judged(connection, found, sources)
            found += await _doubles(connection, fresh.checkpoint)
            done.findings += by_erasure(found, erasures)
            done.findings += gaps(deleted, begins, erasures)
            held = await db.run(lambda read: bodies(read, begins))
            await _bodies(connection, done, held, progress)
            if not is_whole:
                done.findings = by_age(done.findings, aged)
            if (loss := await accepted_loss(connection)) is not None:
                done.findings = by_loss(done.findings, loss)
    finally:
        await fresh.close()
    return done


@asynccontextmanager
async def _replica(data_dir: Path) -> AsyncIterator[Database | None]:
    """The read model in use on a data folder, in a thread of its own; None if there is none.

    Raises `Unavailable` if it cannot be read.
    """
    if not (data_dir / "replica" / "current").exists():
        yield None
        return
    with Reader(data_dir) as reader:
        async with Database(lambda: reader.model().db) as live:
            yield live


async def _compare(
    connection: Connection,
    done: Verification,
    live: Database | None,
    fresh: Writer,
    db: Database,
    needs_snapshot: bool,
    progress: OnStepProgress,
) -> None:
    """Fold the fresh read model up to the sequence of the live one, and compare the two."""
    if live is None:
        what = "there is no read model in this data folder"
        done.findings.append(AuditFinding("not_compared", what, "name it with --data", note=True))
        return
    try:
        await _check_identity(connection, live)
    except Corrupt as error:
        done.findings.append(AuditFinding("other_log", str(error), "weft rebuild"))
        return
    look = await _reaching(live, fresh.checkpoint)
    if look.sequence < fresh.checkpoint:
        what = f"the read model stands at {look.sequence} and does not move"
        done.findings.append(AuditFinding("behind", what, "start `weft work indexer`", note=True))
        return
    await _fold(connection, fresh, look.sequence, progress)
    logged = await db.run(content_digests)
    done.compared, done.digest = look.sequence, logged.digest
    items = partial(items_of, differing_sessions(look, logged), look.sequence)
    held, in_log = await live.run(items), await db.run(items)
    done.findings += comparison(look, logged, held, in_log, needs_snapshot)
    last = await reading.last_sequence(connection)
    if last - look.sequence:
        what = f"the read model is {last - look.sequence} events behind"
        mend = "nothing, where an indexer runs and catches up"
        done.findings.append(AuditFinding("behind", what, mend, note=True))


async def _check_identity(connection: Connection, live: Database) -> None:
    """Raises `Corrupt` if the read model is of another log, or ahead of this one."""
    known = await live.run(lambda db: get_meta(db, "identity"))
    if known:
        stored = msgspec.json.decode(str(known), type=StreamIdentity)
        await stream_identity.check(connection, stored, await live.run(_watermark))
    last, folded = await reading.last_sequence(connection), await live.run(_watermark)
    if folded > last:
        raise Corrupt(
            f"the read model stands at {folded}, the log ends at {last}: it lost its tail"
        )


def _watermark(db: sqlite3.Connection) -> int:
    return ReadModel(db).watermark()


async def _reaching(live: Database, sequence: int) -> ContentDigests:
    """The live read model once it has reached a sequence, or after `SETTLE_SECONDS`."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + SETTLE_SECONDS
    while await live.run(_watermark) < sequence and clock() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
    return await live.run(content_digests)


async def _settled(
    connection: Connection, fresh: Writer, db: Database, progress: OnStepProgress
) -> None:
    """Follow the log to its end, and a little longer if items still wait for their envelopes."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + SETTLE_SECONDS
    await _fold(connection, fresh, await reading.last_sequence(connection), progress)
    while await db.run(waiting) and clock() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
        await _fold(connection, fresh, await reading.last_sequence(connection), progress)


async def _fold(
    connection: Connection, fresh: Writer, target: int, progress: OnStepProgress
) -> None:
    await catch_up(
        connection, fresh, target, lambda at, last: progress("folding the log", at, last)
    )


async def _judged(
    connection: Connection, findings: list[AuditFinding], sources: UnknownSources
) -> list[AuditFinding]:
    """The findings; those about unknown sources are judged by what the log says about them."""
    judged = []
    for finding in findings:
        if finding.kind == "unknown_source":
            origin = await _origin(connection, finding.sequence)
            finding = sources.judged(finding, origin)
        judged.append(finding)
    return judged


async def _origin(connection: Connection, sequence: int) -> int:
    """The sequence that an event names as its source; 0 if the event is gone, or names none."""
    try:
        event = (await reading.read(connection, sequence)).event()
    except (NotFound, InvalidInput):
        return 0
    origin = getattr(event, "origin", None)
    return origin.sequence if origin is not None else 0


async def _doubles(connection: Connection, through: int) -> list[AuditFinding]:
    doubles = DuplicateEnvelopes()
    envelopes = stored_filter(direction="out", event="envelope")
    async for record in reading.read_matching(connection, envelopes, through=through):
        doubles.take(record)
    return doubles.findings


async def _bodies(
    connection: Connection,
    done: Verification,
    found: list[tuple[str, str, int, str, str, int]],
    progress: OnStepProgress,
) -> None:
    """Check that every body is in the object store, with the bytes that its name promises."""
    async with Publisher(connection) as publisher:
        hashed: dict[tuple[str, str], AuditFinding | None] = {}
        for number, (tenant, session, sequence, item_id, sha256, size) in enumerate(found, 1):
            if (tenant, sha256) not in hashed:
                store = Bodies(connection, publisher, tenant)
                hashed[tenant, sha256] = await _body(store, BodyRef(sha256, size))
            fault = hashed[tenant, sha256]
            if fault is not None:
                place = {"tenant": tenant, "session": session, "sequence": sequence}
                done.findings.append(msgspec.structs.replace(fault, item_id=item_id, **place))
            progress("hashing bodies", number, len(found))
        done.bodies = len(hashed)


async def _body(store: Bodies, reference: BodyRef) -> AuditFinding | None:
    mend = "put it back from a backup of the object store, or have the agent publish it again"
    try:
        async for _ in store.chunks(reference):
            pass
    except InvalidInput as error:
        return AuditFinding("body_missing", str(error), "have the agent publish it again")
    except NotFound:
        return AuditFinding("body_missing", f"its body {reference.sha256} is not there", mend)
    except Corrupt as error:
        return AuditFinding("body_damaged", str(error), mend)
    return None
