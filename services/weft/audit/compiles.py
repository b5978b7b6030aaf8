"""The record of compiles: finds one by its id, or all of a tenant."""

from __future__ import annotations

import msgspec

from weft.erasure.history import Target
from weft.log.connection import Connection
from weft.log.reading import read_matching, read_own
from weft.log.record import LogRecord
from weft_schemas.compile import CompileAudit
from weft_schemas.errors import InvalidInput, NotFound
from weft_schemas.events import ErasureReceiptEvent
from weft_schemas.ids import encode_token
from weft_schemas.subjects import AUDIT_STREAM

_TOLD = 5
"""Most erasures that an error names, the latest ones."""


class LoggedCompile(msgspec.Struct, frozen=True):
    """One compile as it was recorded."""

    audit: CompileAudit
    published_ns: int
    """Nanoseconds since 1970, UTC."""


async def find_compile(connection: Connection, tenant: str, compile_id: str) -> CompileAudit:
    """The record of one compile of a tenant. Raises `NotFound`."""
    async for record in read_matching(connection, _subjects(tenant), stream=AUDIT_STREAM):
        if record.message_id == compile_id:
            return audit_in(record)
    where = f"no compile {compile_id!r} is recorded for tenant {tenant!r}"
    erased = await _erasures(connection, tenant)
    if not erased:
        raise NotFound(f"{where}; check the id, which packs carry")
    raise NotFound(f"{where}; check the id, or its record was erased: {'; '.join(erased[-_TOLD:])}")


async def _erasures(connection: Connection, tenant: str) -> list[str]:
    """What was erased of the record of compiles, from the receipts, which name no compile."""
    found = []
    async for _, receipt in read_own(connection, tenant, ErasureReceiptEvent):
        number = receipt.removed.get("audit_events", 0)
        if number > 0:
            target = Target(tenant, receipt.session, receipt.scope or None)
            found.append(
                f"{number} went with {target}, erased by event {receipt.tombstone_sequence}"
            )
    return found


async def all_compiles(
    connection: Connection, tenant: str, session: str | None = None
) -> list[LoggedCompile]:
    """Every recorded compile of a tenant, or of one session, once each, in the order in which they
    were recorded."""
    found: dict[str, LoggedCompile] = {}
    subjects = _subjects(tenant, session)
    async for record in read_matching(connection, subjects, stream=AUDIT_STREAM):
        if record.message_id not in found:
            found[record.message_id] = LoggedCompile(audit_in(record), record.published_ns)
    return list(found.values())


def audit_in(record: LogRecord) -> CompileAudit:
    """Raises `InvalidInput` for a record that this release cannot read."""
    try:
        return msgspec.json.decode(record.payload, type=CompileAudit)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"audit event {record.sequence} cannot be read: {error}; use the release that wrote it"
        ) from None


def _subjects(tenant: str, session: str | None = None) -> str:
    named = "*" if session is None else encode_token(session, "session")
    return f"weft-audit.{encode_token(tenant)}.{named}.compiled"
