"""Trims the log: its old end is deleted once a snapshot holds the result. A tenant's own events
(policies, catalogues, records of erasures) stay, since workers and the auditor read them from
the log. A mark beside the snapshots tells a new replica that the log is not complete."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.replicas import replicas
from weft.log.secure_delete import check_deletable, erase_all
from weft.log.topology import BODIES_STREAM, WORKERS
from weft.progress import OnProgress
from weft.readmodel.database import Database
from weft.readmodel.store import statements
from weft.references.bodies import body_of
from weft.references.survey import Survey
from weft.references.survey_from_log import CATALOGS, extend
from weft.snapshots.snapshot import Bucket, holding_trimmed, newest
from weft.snapshots.trim_mark import keep_mark, renew_mark, trimmed_before, write_mark
from weft_schemas.errors import ConfigurationError, Conflict
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.subjects import STREAM, place_of

_sql = statements("erasure")
_Body = tuple[str, str]
"""Tenant and digest."""
_ANY_TENANT = "default"
"""Every replica answers, whichever tenant is named."""
_PAGE = 10_000
"""Sequences that are collected before they are erased."""


class Trimmed(msgspec.Struct, frozen=True):
    before: int
    """The sequence at which the log's sessions begin now."""
    erased: int
    bodies: int
    """Large bodies that were deleted with the events."""
    snapshot: str
    """Name of the snapshot that holds what was trimmed."""


async def trimmed_items(connection: Connection, tenant: str, session: str | None) -> int:
    """How many items of a session, or of a tenant (None), are only in snapshots; 0 for a whole log.
    Raises `ConfigurationError` if this release reads no snapshot that holds what was trimmed, and
    `Corrupt` if the newest cannot be read."""
    before = await trimmed_before(connection)
    if not before:
        return 0
    with tempfile.TemporaryDirectory(prefix="weft-trimmed-") as folder:
        path = Path(folder) / "snapshot.sqlite"
        async with Bucket(connection) as bucket:
            held = await holding_trimmed(connection, bucket, before)
            if held is None:
                raise ConfigurationError(
                    f"the log was trimmed before event {before}, and no snapshot that this release "
                    "reads holds what was trimmed; take one with `weft snapshot` on a replica that "
                    "runs"
                )
            await bucket.fetch(held, path)
        place = {"tenant": tenant, "session": session, "before": before}
        async with Database.reading(path) as db:
            [(found,)] = await db.execute_fetchall(_sql.items_before, place)
        return int(found)


async def trim(
    connection: Connection,
    before: int,
    encoding: str,
    on_progress: OnProgress = lambda at, last: None,
) -> Trimmed:
    """Erase every session's events below `before`. Raises `ConfigurationError` if no snapshot holds
    them, and `Conflict` if a worker has not finished them, or a running replica has not folded
    them."""
    snapshot = await newest(connection, encoding)
    if snapshot is None or snapshot.sequence < before - 1:
        held = f"the newest one ends at {snapshot.sequence}" if snapshot else "there is none"
        raise ConfigurationError(
            f"trimming before {before} needs a snapshot up to {before - 1}, and {held}; "
            "take one with `weft snapshot`"
        )
    await check_deletable(connection, STREAM, BODIES_STREAM)
    await _check_workers(connection, before)
    await _check_replicas(connection, before)
    await write_mark(connection, max(before, await trimmed_before(connection)))
    erased, bodies = await _erase(connection, before, on_progress)
    await keep_mark(connection)
    return Trimmed(before, erased, bodies, snapshot.name)


async def _check_workers(connection: Connection, before: int) -> None:
    for worker in WORKERS:
        info = await call(connection, f"CONSUMER.INFO.{STREAM}.{worker}")
        idle = not info["num_pending"] and not info["num_ack_pending"]
        finished = info["ack_floor"]["stream_seq"]
        if not idle and finished < before - 1:
            raise Conflict(
                f"{worker} has finished events up to {finished} only; let it work, or trim before "
                f"{finished + 1}"
            )


async def _check_replicas(connection: Connection, before: int) -> None:
    """One that does not run starts from a snapshot when it comes back."""
    for one in await replicas(connection, _ANY_TENANT):
        if one.sequence < before - 1:
            raise Conflict(
                f"{one.name} has folded events up to {one.sequence} only; let it catch up, stop "
                f"it, or trim before {one.sequence + 1}"
            )


async def _erase(connection: Connection, before: int, on_progress: OnProgress) -> tuple[int, int]:
    """How many events were trimmed, and how many bodies that nothing else refers to. Bodies go
    before the events that name them: if this is interrupted, the next run finds the rest."""
    erased = deleted = 0
    survey = await _referred_to_later(connection, before)
    page: list[int] = []
    bodies: set[_Body] = set()

    async def erase_page() -> None:
        nonlocal erased, deleted
        await renew_mark(connection, before)
        deleted += await _erase_bodies(connection, survey, bodies)
        erased += await erase_all(connection, STREAM, page)
        page.clear()
        bodies.clear()

    async for record in read_matching(connection, ">", through=before - 1):
        if record.subject.split(".")[4] == TENANT_SESSION:
            continue
        page.append(record.sequence)
        if (body := body_of(record)) is not None:
            bodies.add((place_of(record.subject)[0], body.sha256))
        if len(page) == _PAGE:
            await erase_page()
            on_progress(record.sequence, before - 1)
    await erase_page()
    on_progress(before - 1, before - 1)
    return erased, deleted


async def _referred_to_later(connection: Connection, before: int) -> Survey:
    """The bodies that what stays refers to."""
    survey = Survey()
    async for record in read_matching(connection, CATALOGS, through=before - 1):
        survey.take(record)
    survey.through = before - 1
    return survey


async def _erase_bodies(connection: Connection, survey: Survey, named: set[_Body]) -> int:
    """Those to which nothing refers that stays: no later erasure would find them."""
    if not named:
        return 0
    await extend(connection, survey, lambda *_: None)
    async with Publisher(connection) as publisher:
        gone = [one for one in sorted(named) if not survey.is_referred_to(*one)]
        stores = {tenant: Bodies(connection, publisher, tenant) for tenant, _ in gone}
        return sum([await stores[tenant].delete(sha256) > 0 for tenant, sha256 in gone])
