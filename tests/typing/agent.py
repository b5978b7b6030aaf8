"""The public interface as an agent's author uses it; mypy checks this file strictly."""

from collections.abc import AsyncIterator
from typing import Any, assert_type

import weft


async def agent(url: str) -> None:
    async with weft.connect(url, tenant="acme", token="t") as client:
        assert_type(client, weft.Client)
        item = weft.ContextItem(
            "m1", weft.ItemKind.USER_TURN, "hello", sensitivity=weft.Sensitivity.INTERNAL
        )
        ack = await client.publish("s1", item)
        assert_type(ack, weft.PublishAck)
        assert_type(ack.sequence, int)
        await client.publish("s1", [item, item])
        await client.publish("s1", (each for each in [item]))
        await client.publish("s1", stream())
        pack = await client.compile(
            "s1",
            phase="call",
            query="q",
            budget=2000,
            reserve=10,
            tools=[{"name": "f"}],
            after=ack.sequence,
            timeout=2.0,
        )
        assert_type(pack, weft.Pack)
        assert_type(pack.prompt, str)
        assert_type(pack.request("openai"), dict[str, Any])
        assert_type(pack.stats.included_count, int)
        assert_type(pack.pending[0].item_id, str)
        assert_type(pack.sequence, int)
        assert_type((pack.id, pack.digest), tuple[str, str])
        await client.compile("s1", weft.Phase.ANSWER, policy=weft.ContextPolicy(name="mine"))
        confirmation = await client.confirm("s1", ack)
        assert_type(confirmation, weft.Confirmation)
        assert_type(confirmation.conflicts[0].first_sequence, int)
        slice_ = await client.drilldown("art:x", "lines", start=1, count=2)
        assert_type(slice_.text, str)
        async for record in client.events("s1", follow=True):
            assert_type(record.sequence, int)
        published = await client.publish_messages("s1", [{"role": "user", "content": "hi"}])
        assert_type(published, weft.PublishedMessages)
        assert_type(published.conflicts[0], weft.ChangedMessage)
        assert_type(pack.request("gemini"), dict[str, Any])
        assert_type(weft.messages.read([]).items, tuple[weft.ContextItem, ...])
        async with client.session("s1", phase="call", budget=32_000) as s:
            assert_type(s, weft.Session)
            s.add({"role": "user", "content": "hi"}, item)
            assert_type(await s.request("openai-responses", tools=[{}]), dict[str, Any])
            assert_type(await s.run({}, {"f": len}), bool)
            assert_type(s.pack, weft.Pack | None)
        await client.close_session("s1")


def blocking(url: str) -> None:
    with weft.connect_sync(url, tenant="acme") as client:
        assert_type(client, weft.SyncClient)
        ack = client.publish("s1", weft.ContextItem("m1", weft.ItemKind.USER_TURN, "hello"))
        assert_type(ack, weft.PublishAck)
        assert_type(client.compile("s1", phase="call", after=ack.sequence), weft.Pack)
        assert_type(client.publish_messages("s1", []).sequence, int)
        with client.session("s1") as s:
            assert_type(s, weft.SyncSession)
            assert_type(s.request("anthropic"), dict[str, Any])


async def stream() -> AsyncIterator[weft.ContextItem]:
    yield weft.ContextItem("m2", weft.ItemKind.AGENT_MSG, "hi")


def errors() -> None:
    try:
        raise weft.Unavailable("x")
    except weft.WeftError as error:
        assert_type(error.code, str)
        assert_type(error.retryable, bool)
