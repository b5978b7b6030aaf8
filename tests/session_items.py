"""The items of a session, as a client reads them from the log."""

from __future__ import annotations

import weft
from weft_schemas.items import ContextItem


async def items_of(client: weft.Client, session: str) -> list[ContextItem]:
    events = [record.event() async for record in client.events(session)]
    return [event for event in events if isinstance(event, ContextItem)]
