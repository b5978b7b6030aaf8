"""What a tenant's policy says of its tools, from the policy event in the log to the envelopes."""

import asyncio
import json

from tests.integration.logged import PATIENCE, until
from tests.integration.processes import started

from weft.client import Client
from weft.log.connection import Connection
from weft.runtime.settings import Settings
from weft_schemas.events import EnvelopeEvent
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, FirewallRules, ToolRule

ROWS = [
    {"number": f"INV-{n:05d}", "memo": f"thank you for order {n} of this year", "total": n * 3}
    for n in range(400)
]
RULES = FirewallRules(
    tools=(
        ToolRule("invoices_*", keep=("invoices[].number",), sensitivity=Sensitivity.CONFIDENTIAL),
        ToolRule("raw_*", passthrough=True),
        ToolRule("short_*", threshold=20),
        ToolRule("stored_*", always_store=True),
    )
)


SMALL = "It is 21 degrees in Oslo today, with light winds from the west, and dry until Sunday."
LARGE = json.dumps({"invoices": ROWS})
RESULTS = {
    "invoices_list": LARGE,
    "raw_read": LARGE,
    "short_weather": SMALL * 2,
    "stored_weather": SMALL,
    "other_read": LARGE,
}

BY_CALL = {"small, by its call": SMALL, "huge, by its call": LARGE * 5}
"""Results that do not name their tool. The huge one is worked on in a subprocess."""


async def test_every_rule_of_a_tool_holds_from_its_policy_event_on(server, log: Connection):
    async with (
        started("weft.cli.main", "work", "firewall", WEFT_NATS_URL=server.url) as firewall,
        Client(Settings(nats_url=server.url, tenant="acme")) as client,
    ):
        await firewall.until_ready()
        before = await enveloped(client, "before")
        ack = await client.publish_policy(ContextPolicy(name="ours", firewall=RULES))
        found, attempt = before, 0
        async with asyncio.timeout(PATIENCE):
            # The firewall follows the log for policies, and may have its next item first.
            while found["raw_read"].origin.policy_version < ack.sequence:
                attempt += 1
                found = await enveloped(client, f"under-{attempt}")
    assert not before["raw_read"].envelope.passthrough
    assert before["short_weather"].envelope.passthrough
    envelopes = {tool: event.envelope for tool, event in found.items()}

    invoices = envelopes["invoices_list"]
    kept = [row for row in json.loads(invoices.summary)["invoices"] if isinstance(row, dict)]
    numbers = [row["number"] for row in kept]
    assert numbers == [row["number"] for row in ROWS if row["number"] in numbers]
    assert len(kept) >= 15
    assert invoices.sensitivity is Sensitivity.CONFIDENTIAL
    for name in BY_CALL:
        assert envelopes[name].sensitivity is Sensitivity.CONFIDENTIAL
        assert before[name].envelope.sensitivity is Sensitivity.PUBLIC
    assert envelopes["raw_read"].passthrough
    assert envelopes["raw_read"].summary == LARGE
    assert not envelopes["short_weather"].passthrough
    assert envelopes["stored_weather"].passthrough
    assert envelopes["stored_weather"].artifacts
    assert not envelopes["other_read"].passthrough
    assert envelopes["other_read"].sensitivity is Sensitivity.PUBLIC


async def enveloped(client: Client, session: str) -> dict[str, EnvelopeEvent]:
    """The envelopes of the results, published now to a session of their own, by tool."""
    items = [
        ContextItem(f"{tool}@{session}", ItemKind.TOOL_RESULT, text, metadata={"tool_name": tool})
        for tool, text in RESULTS.items()
    ]
    for name, text in BY_CALL.items():
        called = f"call of {name}@{session}"
        call = ContextItem(called, ItemKind.TOOL_CALL, metadata={"tool_name": "invoices_list"})
        await client.publish(session, call)
        items.append(ContextItem(f"{name}@{session}", ItemKind.TOOL_RESULT, text, called))
    await client.publish(session, items)

    def mine(events) -> dict[str, EnvelopeEvent]:
        made = [event for _, event in events if isinstance(event, EnvelopeEvent)]
        names = [event.origin.item_id.partition("@") for event in made]
        return {
            tool: event for (tool, _, of), event in zip(names, made, strict=True) if of == session
        }

    return mine(await until(client.connection, lambda events: len(mine(events)) == len(items)))
