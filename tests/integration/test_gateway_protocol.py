"""Every feature of the protocol's reference server gives through the gateway what it gives without,
for hosts of the current protocol and of the older one; and so do servers over HTTP."""

import asyncio
import itertools
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
)
from tests.gateway import QUICK, called, free_port, gateway, host, odd_server, text_of
from tests.gateway_http_server import until_open
from tests.gateway_server import TOOLS
from tests.npm import installed

from weft.gateway.configuration.config import ServerSpec
from weft.gateway.serving import serving_http
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port

NAME = "everything"
DATA_URI = "data:text/plain;base64,aGFyYm91cg=="
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"message": "hi"}),
    ("get-sum", {"a": 2, "b": 3}),
    ("get-tiny-image", {}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("get-resource-links", {"count": 3}),
    ("get-structured-content", {"location": "Chicago"}),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
    ("trigger-elicitation-request", {}),
    ("trigger-sampling-request", {"prompt": "Say yes.", "maxTokens": 10}),
    ("get-roots-list", {}),
    ("get-env", {}),
    ("gzip-file-as-resource", {"name": "a.gz", "data": DATA_URI, "outputType": "resource"}),
    ("gzip-file-as-resource", {"name": "b.gz", "data": DATA_URI, "outputType": "resourceLink"}),
    ("trigger-url-elicitation", {"url": "https://example.com/x", "elicitationId": "e1"}),
]

PROMPTS = {
    "simple-prompt": {},
    "args-prompt": {"city": "Hamburg", "state": "HH"},
    "completable-prompt": {"department": "Sales", "name": "David"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}


async def sample(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="yes"), model="m")


async def elicit(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada", "check": True, "integer": 7})


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///tmp/harbour", name="harbour")])


ABLE = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}


@pytest.fixture(scope="module")
def everything() -> ServerSpec:
    command = str(installed() / "mcp-server-everything")
    return ServerSpec(name=NAME, transport="stdio", command=command, limits=QUICK, sampling=True)


async def features(client: Client, prefix: str, uri: str) -> dict[str, Any]:
    """What a host gets out of the server, addresses and names as the server has them."""
    found: dict[str, Any] = {}
    tools = {tool.name.removeprefix(prefix): tool for tool in (await client.list_tools()).tools}
    tools.pop("look_into_result", None)
    found["tools"] = {
        name: (tool.title, tool.description, tool.input_schema, tool.annotations)
        for name, tool in tools.items()
    }
    progress: list[float] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    for name, arguments in CALLS:
        result = await client.call_tool(prefix + name, arguments, progress_callback=report)
        key = f"{name} {arguments}"
        found[key] = (result.content, result.structured_content, result.is_error)
    given = {"url": "https://example.com/y", "errorPath": True, "elicitationId": "e2"}
    with pytest.raises(MCPError) as refused:
        await client.call_tool(f"{prefix}trigger-url-elicitation", given)
    found["refused"] = (refused.value.code, refused.value.message, refused.value.error.data)
    await asyncio.sleep(0)
    found["progress"] = progress
    found["resources"] = (await client.list_resources()).resources
    found["templates"] = (await client.list_resource_templates()).resource_templates
    uris = [one.uri for one in found["resources"]]
    found["read"] = [(await client.read_resource(uri)).contents for uri in uris]
    dynamic = (await client.read_resource(f"{uri}demo://resource/dynamic/blob/2")).contents[0]
    found["dynamic"] = (dynamic.uri, dynamic.mime_type)  # its content is the time
    found["prompts"] = [
        (prompt.name.removeprefix(prefix), prompt.description, prompt.arguments)
        for prompt in (await client.list_prompts()).prompts
    ]
    for name, values in PROMPTS.items():
        prompt = await client.get_prompt(prefix + name, values)
        found[name] = (prompt.description, prompt.messages)
    reference = PromptReference(name=f"{prefix}completable-prompt")
    argument = {"name": "department", "value": "E"}
    found["completion"] = (await client.complete(reference, argument)).completion
    template = ResourceTemplateReference(uri=f"{uri}demo://resource/dynamic/text/{{resourceId}}")
    argument = {"name": "resourceId", "value": "1"}
    found["template"] = (await client.complete(template, argument)).completion
    return found


def plain(found: Any) -> str:
    """To compare: without the gateway's addresses, times and random ids that differ."""
    text = re.sub(r"weft://everything/", "", repr(found))
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    return re.sub(r"\d{1,2}:\d\d:\d\d( [AP]M)?", "TIME", text)


@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
async def test_every_feature_gives_through_the_gateway_what_it_gives_without(
    log: Connection, server: EmbeddedServer, tmp_path: Path, everything: ServerSpec, protocol: str
) -> None:
    direct = StdioServerParameters(command=everything.command)
    async with Client(direct, **ABLE) as client:
        expected = await features(client, "", "")
    async with (
        gateway(server.url, tmp_path, everything, mode="pass") as running,
        host(running, protocol, **ABLE) as client,
    ):
        got = await features(client, f"{NAME}__", f"weft://{NAME}/")
    assert expected["progress"]
    for feature, value in expected.items():
        if feature == "tools":
            assert got[feature] == value
        else:
            assert plain(got[feature]) == plain(value), feature


@pytest.mark.parametrize("protocol", ["legacy", "2026-07-28"])
async def test_a_change_of_a_resource_and_a_log_message_reach_the_host(
    log: Connection, server: EmbeddedServer, tmp_path: Path, everything: ServerSpec, protocol: str
) -> None:
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with (
        gateway(server.url, tmp_path, everything, mode="pass") as running,
        host(running, protocol, message_handler=hear) as client,
    ):
        uri = (await client.list_resources()).resources[0].uri
        uris = [uri] if protocol != "legacy" else []
        async with anyio.create_task_group() as tasks:
            if uris:

                async def listen() -> None:
                    async with client.listen(resource_subscriptions=uris) as events:
                        async for event in events:
                            heard.append(event)

                tasks.start_soon(listen)
                await asyncio.sleep(0.3)
            else:
                with pytest.warns(UserWarning, match="resources/subscribe is removed"):
                    await client.subscribe_resource(uri)
            await client.call_tool(f"{NAME}__toggle-subscriber-updates", {})
            with anyio.fail_after(20):
                while uri not in repr(heard):
                    await asyncio.sleep(0.05)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def at_address(everything: ServerSpec, kind: str) -> AsyncIterator[str]:
    """The reference server over HTTP."""
    port = Port().number
    environ = {**os.environ, "PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        everything.command, kind, env=environ, stdout=-3, stderr=-3
    )
    try:
        await until_open(port)
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize(("kind", "transport"), [("streamableHttp", "http"), ("sse", "sse")])
async def test_servers_at_an_address(
    log: Connection,
    server: EmbeddedServer,
    tmp_path: Path,
    everything: ServerSpec,
    kind: str,
    transport: Any,
) -> None:
    async with at_address(everything, kind) as url:
        spec = ServerSpec(name=NAME, transport=transport, url=url, limits=QUICK)
        async with gateway(server.url, tmp_path, spec) as running, host(running) as client:
            assert text_of(await called(client, f"{NAME}:echo", message="hi")) == "Echo: hi"


async def test_hosts_of_both_protocols_share_one_address_each_with_its_session(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    from mcp import MCPError

    from weft.gateway.hosts.host import Hosts

    async with gateway(server.url, tmp_path, odd_server()) as running:
        running.hosts = Hosts()
        async with serving_http(running, *free_port(), "s3cret") as port:
            address = f"http://127.0.0.1:{port}/mcp"
            with pytest.raises((MCPError, ExceptionGroup, RuntimeError)):
                async with Client(address):
                    pass
            import httpx2

            async with httpx2.AsyncClient(headers={"Authorization": "Bearer s3cret"}) as wire:
                for mode in ("legacy", "2026-07-28"):
                    one = streamable_http_client(address, http_client=wire)
                    two = streamable_http_client(address, http_client=wire)
                    async with Client(one, mode=mode) as first, Client(two, mode=mode) as second:
                        answers = await asyncio.gather(
                            called(first, "odd:echo", text="1"),
                            called(second, "odd:echo", text="2"),
                        )
                        assert [text_of(a) for a in answers] == ['{"text": "1"}', '{"text": "2"}']
        sessions = {one.session for one in running.hosts}
        # The current protocol knows no connections: its hosts share a session unless they name one.
        assert len(sessions) == 3


async def test_long_lists_come_in_pages(
    log: Connection, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.gateway.hosts.pagination.PAGE", 5)
    async with (
        gateway(server.url, tmp_path, odd_server(), mode="pass") as running,
        host(running) as client,
    ):
        names, cursor = list[str](), None
        while True:
            page = await client.list_tools(cursor=cursor)
            assert len(page.tools) <= 5
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert len(names) == len(set(names)) == len(TOOLS) + 1


async def test_a_list_that_a_call_has_changed_is_the_new_one_when_the_call_is_done(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    odd = odd_server("odd", "changes", cwd=str(tmp_path))
    async with (
        gateway(server.url, tmp_path / "w", odd, mode="pass") as running,
        host(running) as client,
    ):
        before = [tool.name for tool in (await client.list_tools()).tools]
        (tmp_path / "changed").touch()
        await client.call_tool("odd__counts", {})  # whose server then says so
        after = [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]
    assert before != after


@pytest.mark.parametrize(
    ("protocol", "mode"),
    [
        *itertools.product(["legacy", "2026-07-28"], ["pass", "search"]),
        ("legacy", "auto"),  # others hear through one subscription bus, whatever they list
    ],
)
async def test_a_list_that_changes_is_told_and_the_searching_hosts_list_stays_as_it_was(
    log: Connection, server: EmbeddedServer, tmp_path: Path, protocol: str, mode: str
) -> None:
    """A host that is told asks again, and its prompt cache is lost."""
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    odd = odd_server("odd", "changes", cwd=str(tmp_path))
    async with (
        gateway(server.url, tmp_path / "w", odd, mode=mode, auto_tools=0) as running,
        host(running, protocol, message_handler=hear) as client,
        anyio.create_task_group() as tasks,
    ):
        before = (await client.list_tools()).tools
        if protocol != "legacy":

            async def listen() -> None:
                every = {"tools_list_changed": True, "resources_list_changed": True}
                async with client.listen(**every) as events:
                    async for event in events:
                        heard.append(event)

            tasks.start_soon(listen)
            await asyncio.sleep(0.3)
        (tmp_path / "changed").touch()
        await called(client, "odd:counts")  # whose server then says that its list has changed
        with anyio.fail_after(20):  # told last
            while not re.search("resources/?_?list_?changed", repr(heard), re.IGNORECASE):
                await asyncio.sleep(0.05)
        told = bool(re.search("tools?/?_?list_?changed", repr(heard), re.IGNORECASE))
        assert told == (mode == "pass")
        assert ((await client.list_tools()).tools == before) == (mode != "pass")
        tasks.cancel_scope.cancel()
