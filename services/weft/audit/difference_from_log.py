"""Compares two compiles on a real log. This release compiles both, from a fresh read model, so that
only their inputs can make a difference."""

from __future__ import annotations

import msgspec

from weft import tokens
from weft.audit.compiles import find_compile
from weft.audit.difference import Difference, difference
from weft.audit.history import LoggedHistories, fresh_model
from weft.audit.missing_records import MissingRecords, missing_of
from weft.audit.missing_records_from_log import missing_records
from weft.audit.reproduce_from_log import base_of
from weft.compiler.compile import compile_pack
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, CompileRequest, ContextPack
from weft_schemas.errors import InvalidInput, NotFound


class CompileInput(msgspec.Struct, frozen=True):
    """The input of one of the two compiles."""

    session: str
    request: CompileRequest
    sequence: int | None = None
    """None stands for the end of the log."""
    encoding: str = tokens.DEFAULT_ENCODING
    base: CompileAudit | None = None
    audit: CompileAudit | None = None
    """Its record, if it is a recorded one."""


async def logged_input(connection: Connection, tenant: str, compile_id: str) -> CompileInput:
    """The input of a recorded compile. Raises `NotFound`."""
    audit = await find_compile(connection, tenant, compile_id)
    base = await base_of(connection, audit)
    return CompileInput(audit.session, audit.request, audit.sequence, audit.encoding, base, audit)


async def compare(
    connection: Connection, tenant: str, before: CompileInput, after: CompileInput, key: bytes
) -> Difference:
    """Compile both and say how they differ.

    Raises `InvalidInput` for two sessions, and `NotFound` if there is nothing to compile, or if
    the log does not hold what one of them showed any more.
    """
    if before.session != after.session:
        raise InvalidInput(
            f"these are compiles of two sessions, {before.session!r} and {after.session!r}; name "
            "two of one session"
        )
    last = await last_sequence(connection)
    through = max(_place(one, last) for one in (before, after))
    histories = LoggedHistories(connection, tenant, through)
    records = await histories.of(before.session)
    model = fresh_model(records, through, after.encoding, await histories.stored(records))
    try:
        was, now = (model.view(tenant, one.session, _place(one, last)) for one in (before, after))
        gone = await missing_records(connection, tenant, before.session)
        first, second = _compiled(before, was, key, gone), _compiled(after, now, key, gone)
        found = difference(first, second, was, now)
        return msgspec.structs.replace(found, notes=_notes(before.session, gone))
    finally:
        model.close()


def _compiled(
    one: CompileInput, view: SessionView, key: bytes, gone: MissingRecords
) -> ContextPack:
    _check_whole(one, view, gone)
    return compile_pack(view, one.request, key=key, base=one.base).pack


def _check_whole(one: CompileInput, view: SessionView, gone: MissingRecords) -> None:
    """Raises `NotFound` if the log does not hold what the compile read any more."""
    what = f"session {one.session!r}"
    if gone.tombstone:
        raise NotFound(f"{what} was erased by event {gone.tombstone}")
    if one.audit is not None and one.sequence == one.audit.sequence:
        _check_shown(one.audit, view, gone)
    elif view.sequence < gone.begins:
        raise NotFound(
            f"{what} as of {view.sequence} is not in the log: {gone.cut}. `weft compile --as-of "
            f"{view.sequence}` may still read it, from a read model"
        )
    if not view.item_count():
        why = gone.cut or "check its name and the sequence"
        raise NotFound(f"{what} has no item at or before {view.sequence}; {why}")


def _check_shown(audit: CompileAudit, view: SessionView, gone: MissingRecords) -> None:
    missing = missing_of(audit, view, gone)
    if missing:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise NotFound(
            f"compile {audit.id!r} cannot be made again: {missing[0]}{more}; `weft reproduce "
            f"{audit.id}` tells all"
        )


def _notes(session: str, gone: MissingRecords) -> tuple[str, ...]:
    if not gone.begins:
        return ()
    lacks = f"what session {session!r} had before, if anything, is in neither side"
    return (f"{gone.cut}: {lacks}, and the numbers may not be those that were recorded",)


def _place(one: CompileInput, last: int) -> int:
    return last if one.sequence is None else min(one.sequence, last)
