"""What a gateway remembers of a result is shown by the policy that is in force, and not at all once
the log has it no more."""

import asyncio
import re
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from tests.gateway import SESSION, called, gateway, host, logged, odd_server, text_of
from tests.gateway_server import KEY

from weft.client.operator import Operator
from weft.gateway.gateway import Gateway
from weft.gateway.results import handles
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.items import Sensitivity
from weft_schemas.policy import (
    ContextPolicy,
    FirewallRules,
    SecretPattern,
    SensitivityAction,
    ToolRule,
)

HANDLE = re.compile(r"art:[a-z2-7]{10}")


@pytest.fixture(autouse=True)
def _no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """What memory does not serve is the service's, and none runs here."""
    monkeypatch.setattr(handles, "WAIT_SECONDS", 0.0)


async def _in_force(running: Gateway, policy: ContextPolicy) -> None:
    behind = await running.log.deployment()
    ack = await behind.client.publish_policy(policy)
    with anyio.fail_after(10):
        while behind.policy(SESSION)[0] < ack.sequence:
            await asyncio.sleep(0.01)


async def test_a_policy_that_drops_what_is_remembered_is_obeyed(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    strict = ContextPolicy(
        sensitivity_floor=Sensitivity.PUBLIC, sensitivity_action=SensitivityAction.DROP
    )
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        handle = HANDLE.search(text_of(await called(client, "odd:big"))).group()
        look = {"handle": handle, "view": "head"}
        assert "o1" in text_of(await client.call_tool("look_into_result", look))
        await _in_force(running, strict)
        looked = await client.call_tool("look_into_result", look)
        handed = await called(client, "odd:echo", text={"$weft": handle})
    assert looked.is_error
    assert "o1" not in text_of(looked)
    assert handed.is_error


async def test_what_is_confidential_goes_to_no_other_tool(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """Though the host that called sees it."""
    rule = ToolRule("odd:big", sensitivity=Sensitivity.CONFIDENTIAL)
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        await _in_force(running, ContextPolicy(firewall=FirewallRules(tools=(rule,))))
        handle = HANDLE.search(text_of(await called(client, "odd:big"))).group()
        handed = await called(client, "odd:echo", text={"$weft": handle})
    assert handed.is_error
    assert "o1999" not in text_of(handed)
    sent = [item.text for item in await logged(log) if item.metadata["tool_name"] == "odd:echo"]
    assert "o1999" not in str(sent)


async def test_a_secret_that_the_policy_names_later_is_masked_in_memory_too(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        handle = HANDLE.search(text_of(await called(client, "odd:big"))).group()
        part = {"$weft": handle, "path": "orders[1999]"}
        assert '"o1999"' in text_of(await called(client, "odd:echo", value=part))
        rules = FirewallRules(secret_patterns=(SecretPattern("order", "o1999"),))
        policy = ContextPolicy(firewall=rules, sensitivity_floor=Sensitivity.RESTRICTED)
        await _in_force(running, policy)
        look = {"handle": handle, "view": "json", "args": {"path": "orders[1999]"}}
        looked = text_of(await client.call_tool("look_into_result", look))
        handed = text_of(await called(client, "odd:echo", value=part))
    assert "o1999" not in looked
    assert '"o1999"' not in handed


async def test_what_is_erased_is_gone_from_memory(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        handle = HANDLE.search(text_of(await called(client, "odd:big"))).group()
        await Operator(log, (await running.log.deployment()).settings).erase(SESSION)
        looked = await client.call_tool("look_into_result", {"handle": handle})
        handed = await called(client, "odd:echo", text={"$weft": handle})
    assert looked.is_error
    assert handed.is_error


async def test_a_secret_in_what_a_server_refuses_is_masked(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        text = text_of(await called(client, "odd:fails"))
        assert text.startswith("odd:fails: no: ")
        assert KEY not in text
        with pytest.raises(MCPError) as caught:
            await client.call_tool("odd__fails", {})
    assert KEY not in repr(caught.value.error)


async def test_a_name_that_was_not_listed_needs_the_same_consent(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    async with gateway(server.url, tmp_path, odd_server()) as running, host(running) as client:
        assert "needs a person's consent" in text_of(await called(client, "odd:removes"))
        for name in ("odd__removes", "odd:removes"):
            assert "needs a person's consent" in text_of(await client.call_tool(name, {}))
