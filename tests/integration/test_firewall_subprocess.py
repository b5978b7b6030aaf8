"""A huge result is worked beside the small ones, not before them."""

import json

from tests.integration.logged import until
from tests.integration.processes import started

from weft.client import Client
from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, ItemKind


async def test_small_results_published_after_a_huge_one_have_their_envelopes_before_it(
    server, log: Connection
):
    rows = [{"id": f"inv_{n}", "memo": "some words of a note " * 9} for n in range(100_000)]
    huge = json.dumps(rows)
    small = [ContextItem(f"i{n}", ItemKind.TOOL_RESULT, f"row {n} is fine") for n in range(300)]
    async with Client(Settings(nats_url=server.url, tenant="acme")) as client:
        await client.publish("s1", ContextItem("huge", ItemKind.TOOL_RESULT, huge))
        await client.publish("s1", small)
        async with started("weft.cli.main", "work", "firewall", WEFT_NATS_URL=server.url):
            events = await until(log, lambda events: len(events) == 301)
    names = [event.origin.item_id for _, event in events if isinstance(event, EnvelopeEvent)]
    assert names[-1] == "huge"
    assert events[-1][1].envelope.raw_size == len(huge)
