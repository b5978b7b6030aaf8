"""Migrates the bodies of a log from before 0.2, which are named by their digest alone, so that any
tenant that knows the digest can read them. Each is copied to the tenants whose events refer to it,
and the old one is erased.
"""

from __future__ import annotations

import tempfile

from weft.log.bodies import Bodies, is_digest
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft_schemas.errors import Corrupt, InvalidInput
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import BodyRef
from weft_schemas.subjects import stored_filter

_REFERRING = (
    stored_filter(direction="in"),
    stored_filter(session=TENANT_SESSION, direction="out", event="catalog"),
)


async def adopt(connection: Connection) -> int:
    """Migrate bodies with old names. Returns how many; in a new log this takes one listing. A body
    that no event refers to stays, since its event may still be published."""
    async with Publisher(connection) as publisher:
        unowned = Bodies(connection, publisher, "")
        old = {meta.name for meta in await unowned.entries() if is_digest(meta.name)}
        if not old:
            return 0
        owners = await _owners(connection, old)
        for reference, tenants in sorted(owners.items(), key=lambda pair: pair[0].sha256):
            with tempfile.TemporaryFile(prefix="weft-adopt-") as spool:
                try:
                    await unowned.write_into(reference, spool)
                except Corrupt:
                    continue  # `weft verify` tells of it
                for tenant in sorted(tenants):
                    store = Bodies(connection, publisher, tenant)
                    await store.put_open(spool, reference.sha256, reference.size)
            await unowned.delete(reference.sha256)
        return len(owners)


async def _owners(connection: Connection, names: set[str]) -> dict[BodyRef, set[str]]:
    """Body → tenants that refer to it."""
    found: dict[BodyRef, set[str]] = {}
    for subjects in _REFERRING:
        async for record in read_matching(connection, subjects):
            if b'"sha256"' not in record.payload:
                continue
            try:
                body, tenant = getattr(record.event(), "body", None), record.address().tenant
            except InvalidInput:
                continue
            if isinstance(body, BodyRef) and body.sha256 in names:
                found.setdefault(body, set()).add(tenant)
    return found
