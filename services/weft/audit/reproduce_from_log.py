"""Reproduces and explains a compile on a real log: finds its record, folds a fresh read model of
everything that it could read, and tells which of that the log no longer holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from operator import attrgetter

from weft.audit.compiles import find_compile
from weft.audit.explanation import ExplainedCompile, explain_compile
from weft.audit.history import LoggedHistories, fresh_model
from weft.audit.missing_records import MissingRecords
from weft.audit.missing_records_from_log import missing_records
from weft.audit.reproduce import Reproduction, reproduce
from weft.log.connection import Connection
from weft.readmodel.model import ReadModel
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import NotFound

_sequence = attrgetter("sequence")


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
    """The same of several compiles, in their order; each session is read and folded once, up to its
    last compile."""
    last = {(one.session, one.encoding): one.sequence for one in sorted(compiles, key=_sequence)}
    models: dict[tuple[str, str], ReadModel] = {}
    gone: dict[str, MissingRecords] = {}
    with ExitStack() as open_models:
        for audit in compiles:
            name, held = audit.session, (audit.session, audit.encoding)
            if name not in gone:
                gone[name] = await missing_records(connection, tenant, name)
            if held not in models:
                models[held] = await _model(connection, tenant, name, last[held], audit.encoding)
                open_models.callback(models[held].close)
            view = models[held].view(tenant, name, audit.sequence)
            base = await base_of(connection, audit)
            yield reproduce(audit, view, key=key, base=base, gone=gone[name])


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
    place = audit.tenant, audit.session, audit.sequence
    return await _model(connection, *place, audit.encoding)


async def _model(
    connection: Connection, tenant: str, session: str, sequence: int, encoding: str
) -> ReadModel:
    histories = LoggedHistories(connection, tenant, sequence)
    records = await histories.of(session)
    stored = await histories.stored(records)
    return fresh_model(records, sequence, encoding, stored)


async def base_of(connection: Connection, audit: CompileAudit) -> CompileAudit | None:
    """The record of the pack that a compile was to keep as its prefix; None if there is none."""
    if not audit.request.stable_from:
        return None
    try:
        base = await find_compile(connection, audit.tenant, audit.request.stable_from)
    except NotFound:
        return None
    return base if base.session == audit.session else None
