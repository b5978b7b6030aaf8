"""Compares two compiles on a real log. This release compiles both, from a fresh read model, so that
only their inputs can make a difference."""

from __future__ import annotations

import msgspec

from weft import tokens
from weft.audit.compiles import find_compile
from weft.audit.difference import Difference, difference
from weft.audit.history import LoggedHistories, fresh_model
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


async def logged_input(connection: Connection, tenant: str, compile_id: str) -> CompileInput:
    """The input of a recorded compile. Raises `NotFound`."""
    audit = await find_compile(connection, tenant, compile_id)
    base = await base_of(connection, audit)
    return CompileInput(audit.session, audit.request, audit.sequence, audit.encoding, base)


async def compare(
    connection: Connection, tenant: str, before: CompileInput, after: CompileInput, key: bytes
) -> Difference:
    """Compile both and say how they differ.

    Raises `InvalidInput` for two sessions, and `NotFound` if there is nothing to compile.
    """
    if before.session != after.session:
        raise InvalidInput(
            f"these are compiles of two sessions, {before.session!r} and {after.session!r}; name "
            "two of one session"
        )
    last = await last_sequence(connection)
    through = max(_place(one, last) for one in (before, after))
    records = await LoggedHistories(connection, tenant, through).of(before.session)
    model = fresh_model(records, through, after.encoding)
    try:
        was, now = (model.view(tenant, one.session, _place(one, last)) for one in (before, after))
        return difference(_compiled(before, was, key), _compiled(after, now, key), was, now)
    finally:
        model.close()


def _compiled(one: CompileInput, view: SessionView, key: bytes) -> ContextPack:
    if not view.item_count():
        raise NotFound(
            f"session {one.session!r} has no item at or before {view.sequence}; check its name and "
            "the sequence"
        )
    return compile_pack(view, one.request, key=key, base=one.base).pack


def _place(one: CompileInput, last: int) -> int:
    return last if one.sequence is None else min(one.sequence, last)
