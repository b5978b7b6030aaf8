"""What users test with: a log in memory that gives the prompts of the services, and fixtures."""

import json
import re
from typing import Any

import pytest
from tests.data import ROOT

import weft
from weft import testing
from weft.runtime.deployment import known_secret
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.routing import Catalog, SelectableItem

pytest_plugins = ["weft.testing.fixtures"]

CHAT = json.loads((ROOT / "examples" / "chat.json").read_text())


def run(client: weft.SyncClient) -> list[Any]:
    """A script over all that an agent asks for; what it saw."""
    seen: list[Any] = []
    published = client.publish_messages("s1", CHAT)
    seen.append(published.ids)
    with client.session("s1", phase="answer", budget=1_500, timeout=60) as s:
        s.add({"role": "user", "content": "Which order was the largest?"})
        for provider in weft.messages.PROVIDERS:
            seen.append(s.request(provider))
        assert s.pack is not None
        seen += [s.pack.prompt, s.pack.stats.included_items, s.pack.stats.dropped_reasons]
        handle = re.search(r"art:[a-z2-7]{10}", s.pack.prompt)
        assert handle
        call = {"handle": handle[0], "view": "search", "args": {"pattern": "2,060.09"}}
        use = {"type": "tool_use", "id": "d1", "name": "weft_drilldown", "input": call}
        s.add({"role": "assistant", "content": [use]})
        assert s.run(use)
        request = s.request("anthropic")
        assert "O-20614" in str(request["messages"][-1])
        seen.append(request)
    seen.append(client.explain("s1", published.ids[0], compile_request()).reason)
    status = client.status("s1")
    seen.append((status.items, status.pending, status.conflicts))
    seen.append([(one.session, one.items) for one in client.sessions().sessions])
    again = client.publish_messages("s1", CHAT)
    seen.append((again.new, len(again.conflicts)))
    return [repr(one) for one in seen]


def compile_request() -> Any:
    from weft_schemas.compile import CompileRequest
    from weft_schemas.policy import Phase

    return CompileRequest(Phase.ANSWER, budget=1_500)


def test_a_log_in_memory_gives_what_the_services_give(
    weft_url: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same secret and tenant, from which handles and fences are made."""
    (data,) = tmp_path_factory.getbasetemp().glob("weft[0-9]*/data")
    monkeypatch.setattr("weft.testing.client.KEY", known_secret(data))
    with weft.connect_sync(weft_url, tenant="test") as client:
        there = run(client)
    with testing.in_memory_sync("test") as memory:
        here = run(memory)
    for one, other in zip(here, there, strict=True):
        assert one == other


def test_each_test_has_a_log_of_its_own(weft_memory: weft.SyncClient) -> None:
    with pytest.raises(weft.NotFound, match="no item"):
        weft_memory.compile("s1", "answer")


async def test_in_memory_the_workers_work_as_they_do_under_a_policy() -> None:
    policy = ContextPolicy(
        name="strict", firewall=FirewallRules(threshold=10, show="always_summary")
    )
    async with testing.in_memory() as client:
        asked = ContextItem("u", ItemKind.USER_TURN, "My seat is 12A. List the orders.")
        await client.publish("s", asked)
        table = "\n".join(f"order {number}: open" for number in range(300))
        called = {"tool_name": "orders", "arguments": {}}
        call = ContextItem("c", ItemKind.TOOL_CALL, "orders({})", "u", metadata=called)
        result = ContextItem("r", ItemKind.TOOL_RESULT, table, "c")
        huge = ContextItem("h", ItemKind.TOOL_RESULT, "x " * 200_000)
        first = await client.publish("s", [call, result, huge])
        again = await client.publish("s", call)
        assert (again.duplicates, again.sequence) == (1, first.first)
        await client.close_session("s")
        kinds = [type(record.event()).__name__ async for record in client.events("s")]
        assert kinds.count("EnvelopeEvent") == 2
        assert {"SummaryEvent", "EpisodeEvent"} <= set(kinds)
        pack = await client.compile("s", "answer", budget=4_000)
        assert "order 299: open" in pack.prompt
    async with testing.in_memory(policy=policy) as client:
        assert (await client.policy())[1] == policy
        await client.publish("s", [asked, call, result])
        pack = await client.compile("s", "answer", budget=4_000)
        assert pack.pending == ()
        assert "order 150: open" not in pack.prompt


async def test_a_client_in_memory_is_closed_as_a_real_one_is() -> None:
    async with testing.in_memory() as client:
        pass
    with pytest.raises(weft.Unavailable, match="this client is closed; connect again"):
        await client.publish("s1", ContextItem("u1", ItemKind.USER_TURN, "hello"))
    with pytest.raises(weft.Unavailable, match="this client is closed; connect again"):
        await client.compile("s1", "answer")


async def test_in_memory_tools_are_routed_and_hydrated() -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    tools = (
        SelectableItem("orders.find", "find_order", "Find an order", args_schema=schema),
        SelectableItem("mail.send", "send_mail", "Send an e-mail"),
    )
    async with testing.in_memory() as client:
        await client.publish_catalog(Catalog("shop", tools))
        await client.publish("s", ContextItem("u", ItemKind.USER_TURN, "where is my order O-77?"))
        reply = await client.route("find an order", "shop", session="s")
        assert reply.cards[0].id == "orders.find"
        await client.choose(reply, "orders.find", "s")
        found = await client.hydrate("orders.find", "s", catalog="shop")
        assert found.tool.args_schema == schema
        with pytest.raises(weft.NotFound, match="catalogue 'none' is not in the log"):
            await client.route("x", "none")


async def test_a_call_s_prompt_gives_whole_values_with_a_sign_between_them() -> None:
    kinds = {"order": {"type": "string"}, "amount": {"type": "number"}}
    refund = SelectableItem("refund", "refund", args_schema={"type": "object", "properties": kinds})
    told = "Order O-20614: amount 2,060.09 USD, paid by C-001"
    async with testing.in_memory() as client:
        await client.publish_catalog(Catalog("shop", (refund,)))
        await client.publish_messages("chat", CHAT)
        await client.publish("s", [ContextItem("r", ItemKind.TOOL_RESULT, told, metadata={})])
        chat, one = [
            await client.compile(name, phase="call", tool="refund", catalog="shop", budget=8_000)
            for name in ("chat", "s")
        ]
    assert "- amount may be: 2060.09\n" in one.prompt
    assert "- order may be: O-20614 | " in one.prompt
    assert "- amount may be: 11.61 | 2060.09\n" in chat.prompt


def test_a_text_through_the_firewall_needs_no_log() -> None:
    rows = json.dumps([{"order": n, "state": "open"} for n in range(500)])
    envelope = weft.firewall_result(rows, tool_name="orders")
    assert envelope.content_type == "application/json"
    assert envelope.summary_tokens < envelope.raw_tokens
    assert envelope == weft.firewall_result(rows, tool_name="orders")
    secret = weft.firewall_result("password = hunter2hunter2\nAKIAIOSFODNN7EXAMPLE")
    assert "AKIAIOSFODNN7EXAMPLE" not in secret.summary
    assert {signal.kind for signal in secret.signals} == {"secret"}
    assert weft.firewall_result("boom", is_error=True).status == "error"
    short = FirewallRules(threshold=5, summary_tokens=50)
    assert weft.firewall_result("word " * 400, rules=short).summary_tokens <= 50
