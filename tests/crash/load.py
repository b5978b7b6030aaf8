"""A small load that gives every worker something to do, and a process that publishes it."""

import asyncio
import sys

from weft.client import Client
from weft.runtime.settings import Settings
from weft_schemas.items import ContextItem, ItemKind

TENANT = "acme"
LARGE = "a line of a body that goes to the object store\n" * 8_000
LONG = "The deploy of Friday failed since the disk of db-7 was full. " * 60


def turns(count: int) -> list[ContextItem]:
    """A question, a call and its result, so many times."""
    items = []
    for n in range(count):
        call = {"tool_name": "logs", "call_id": f"call-{n}", "arguments": {"worker": n}}
        log = "\n".join(f"2026-01-02 ERROR disk {n}.{line} is full" for line in range(20 + n))
        items += [
            ContextItem(f"u{n}", ItemKind.USER_TURN, f"My name is Ada {n}. What ails worker {n}?"),
            ContextItem(f"c{n}", ItemKind.TOOL_CALL, parent_id=f"u{n}", metadata=call),
            ContextItem(f"r{n}", ItemKind.TOOL_RESULT, log, f"c{n}", metadata=call),
        ]
    return items


SESSIONS: dict[str, list[ContextItem]] = {
    "body": [ContextItem("large", ItemKind.TOOL_RESULT, LARGE)],
    "tools": turns(40),
    "long": [ContextItem(f"m{n}", ItemKind.AGENT_MSG, f"{n}: {LONG}") for n in range(10)],
    # Nothing that others derive from: a closing's summary is made of what came in time.
    "closed": [ContextItem(f"s{n}", ItemKind.AGENT_MSG, f"Step {n} is done.") for n in range(10)],
}


async def publish(url: str) -> None:
    """Publish all of it; again, where a process before this one died on the way."""
    async with Client(Settings(nats_url=url, tenant=TENANT)) as client:
        for session, items in SESSIONS.items():
            await client.publish(session, items)
        await client.close_session("closed")


if __name__ == "__main__":
    asyncio.run(publish(sys.argv[1]))
