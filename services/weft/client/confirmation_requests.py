"""Asks a service what became of published items, once the read model has folded them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.client.confirmation import (
    Confirmation,
    confirmation,
    pages_of,
    questions_about,
    settlement,
)
from weft.client.outgoing import PublishAck
from weft.client.service_call import AsksService
from weft_schemas.errors import Unavailable
from weft_schemas.status import StatusReply, StatusRequest

MAX_SEQUENCE = 2**63 - 1
"""Greater than any sequence."""
CONFIRM_SECONDS = 10.0
"""How long a confirmation may wait until the items are folded."""


async def confirm_acknowledged(ask: AsksService, session: str, ack: PublishAck) -> Confirmation:
    """For a publish that was acknowledged. Raises `Unavailable` if it takes too long until its
    items are folded, and `Conflict` if the session was erased."""
    replies = [await _status_after(ask, session, ack, page) for page in questions_about(ack)]
    return confirmation(ack, replies)


async def confirm_ids(ask: AsksService, session: str, ids: Sequence[str]) -> Confirmation:
    """For the ids of a publish that failed, each once. Raises `Unavailable`."""
    request = StatusRequest(last=MAX_SEQUENCE, timeout=CONFIRM_SECONDS, newest=True)
    replies = [
        await ask(
            session,
            "status",
            msgspec.structs.replace(request, ids=page),
            StatusReply,
            CONFIRM_SECONDS,
        )
        for page in pages_of(ids)
    ]
    return settlement(ids, replies)


async def _status_after(
    ask: AsksService, session: str, ack: PublishAck, page: StatusRequest
) -> StatusReply:
    """The status once everything that was acknowledged is folded."""
    request = msgspec.structs.replace(
        page, after=ack.sequence, first=ack.first, last=ack.sequence, timeout=CONFIRM_SECONDS
    )
    reply = await ask(session, "status", request, StatusReply, CONFIRM_SECONDS)
    if reply.sequence < ack.sequence:
        raise Unavailable(
            f"the read model has folded up to {reply.sequence} only, {ack.sequence} is yours: "
            "look at `weft status` for what holds the indexer up"
        )
    return reply
