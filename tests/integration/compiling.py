"""A compiler's process, and what tests ask of it over plain NATS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.integration.processes import Running, started

from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.runtime.request_client import ask
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import derived_subject

TURN = ContextItem(id="u1", kind=ItemKind.USER_TURN, text="Which invoice is open?")
TENANT = "acme"
"""Where a test has a server of its own."""


@asynccontextmanager
async def compiling(url: str, data_dir: Path, ready: bool = True) -> AsyncIterator[Running]:
    """Without `ready` it may not answer yet."""
    environ = {"WEFT_NATS_URL": url, "WEFT_DATA_DIR": str(data_dir)}
    async with started("weft.cli.main", "work", "compiler", **environ) as compiler:
        if ready:
            await compiler.until_ready()
        yield compiler


async def compiled(
    log: Connection, session: str = "s1", tenant: str = TENANT, **request: Any
) -> ContextPack:
    asked = CompileRequest(**{"phase": Phase.ANSWER, "timeout": 60.0, **request})
    return await ask(log, (tenant, session, "compile"), asked, ContextPack, asked.timeout)


async def folded(log: Connection, sequence: int, tenant: str = TENANT) -> StatusReply:
    """The session's status as soon as the replica is so far."""
    asked = StatusRequest(after=sequence, timeout=60.0)
    return await ask(log, (tenant, "s1", "status"), asked, StatusReply, 60.0)


async def envelope(
    log: Connection, sequence: int, item_id: str, summary: str, tenant: str = TENANT
) -> int:
    event = EnvelopeEvent(Origin(sequence, item_id, "firewall"), ResultEnvelope(summary))
    async with Publisher(log) as publisher:
        subject = derived_subject(tenant, "s1", "envelope")
        return (await publisher.publish(subject, encode_event(event))).sequence
