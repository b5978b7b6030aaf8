"""A user's turn of which the text is in the object store, with every service running."""

import asyncio

import pytest
from tests.retrying import PATIENCE

import weft
from weft.log.bodies import THRESHOLD_BYTES
from weft_schemas.items import ContextItem, ItemKind

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = "".join(f"{n}: the ferry of {n % 24}:30 goes to quarry {n}.\n" for n in range(9_000))
assert len(TEXT) > THRESHOLD_BYTES


async def test_it_is_shown_as_its_summary_and_read_by_its_handle(nats_url: str) -> None:
    async with weft.connect(nats_url) as client:
        ack = await client.publish("long", ContextItem("u", ItemKind.USER_TURN, TEXT))
        pack = await client.compile("long", "answer", after=ack.sequence, timeout=60)
        (shown,) = [one for one in pack.entries if one.item_id == "u"]
        assert f"{len(TEXT):,} bytes …" in shown.text
        (message,) = [one for one in pack.request("openai")["messages"] if one["role"] == "user"]
        assert message["content"] == shown.text
        assert shown.handle
        found = await client.drilldown(shown.handle, "search", pattern="^8765:")
        assert "the ferry of 5:30 goes to quarry 8765." in found.text
        async with asyncio.timeout(PATIENCE):
            while f"… summary of {len(TEXT):,} bytes …\n" not in pack.prompt:
                await asyncio.sleep(0.1)
                pack = await client.compile("long", "answer")
