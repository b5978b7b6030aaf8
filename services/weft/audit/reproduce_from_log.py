"""Reproduces and explains a compile on a real log: finds its record, folds a fresh read model of
everything that it could read, and tells which of that the log no longer holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from weft.audit.compiles import find_compile
from weft.audit.explanation import ExplainedCompile, explain_compile
from weft.audit.history import LoggedHistories, fresh_model
from weft.audit.missing_records import MissingRecords
from weft.audit.missing_records_from_log import missing_records
from weft.audit.reproduce import Reproduction, reproduce
from weft.log.connection import Connection
from weft.log.record import LogRecord
from weft.readmodel.model import ReadModel
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import NotFound


async def reproduce_compile(
    connection: Connection, tenant: str, compile_id: str, key: bytes
) -> Reproduction:
    """Render a compile again from the log. Raises `NotFound` if no such compile is recorded."""
    audit = await find_compile(connection, tenant, compile_id)
    base = await base_of(connection, audit)
    model = await model_at(connection, audit)
    try:
        view = model.view(tenant, audit.session, audit.sequence)
        gone = await missing_records(connection, tenant, audit.session)
        return reproduce(audit, view, key=key, base=base, gone=gone)
    finally:
        model.close()


async def reproduce_each(
    connection: Connection, tenant: str, compiles: Sequence[CompileAudit], key: bytes
) -> AsyncIterator[Reproduction]:
    """The same of several compiles, in their order; each session is read from the log once."""
    last = max((audit.sequence for audit in compiles), default=0)
    histories = LoggedHistories(connection, tenant, last)
    sessions: dict[str, tuple[list[LogRecord], Mapping[str, bytes], MissingRecords]] = {}
    for audit in compiles:
        name = audit.session
        if name not in sessions:
            records = await histories.of(name)
            gone = await missing_records(connection, tenant, name)
            sessions[name] = records, await histories.stored(records), gone
        records, stored, gone = sessions[name]
        base = await base_of(connection, audit)
        seen = [record for record in records if record.sequence <= audit.sequence]
        model = fresh_model(seen, audit.sequence, audit.encoding, stored)
        try:
            view = model.view(tenant, name, audit.sequence)
            yield reproduce(audit, view, key=key, base=base, gone=gone)
        finally:
            model.close()


async def explain_recorded(
    connection: Connection,
    tenant: str,
    compile_id: str,
    key: bytes,
    item: str | None = None,
    everything: bool = False,
) -> ExplainedCompile:
    """Why each item was in a recorded compile, or one was; `everything` also lists those that were
    no candidates. Raises `NotFound` if no such compile is recorded, and if its session does not
    have the item."""
    audit = await find_compile(connection, tenant, compile_id)
    base = await base_of(connection, audit)
    gone = await missing_records(connection, tenant, audit.session)
    model = await model_at(connection, audit)
    try:
        view = model.view(tenant, audit.session, audit.sequence)
        return explain_compile(
            audit, view, key=key, base=base, gone=gone, item=item, everything=everything
        )
    finally:
        model.close()


async def model_at(connection: Connection, audit: CompileAudit) -> ReadModel:
    """A fresh read model of everything that a compile could read, at its sequence."""
    histories = LoggedHistories(connection, audit.tenant, audit.sequence)
    records = await histories.of(audit.session)
    stored = await histories.stored(records)
    return fresh_model(records, audit.sequence, audit.encoding, stored)


async def base_of(connection: Connection, audit: CompileAudit) -> CompileAudit | None:
    """The record of the pack that a compile was to keep as its prefix; None if there is none."""
    if not audit.request.stable_from:
        return None
    try:
        base = await find_compile(connection, audit.tenant, audit.request.stable_from)
    except NotFound:
        return None
    return base if base.session == audit.session else None
