"""What servers say beside their results: log messages, progress, questions. It reaches the host
without secrets and bounded in size, and of log messages as many as the host wants."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from tests.gateway import called, free_port, gateway, host, odd_server, text_of
from tests.gateway_server import KEY

from weft.gateway.gateway import Gateway
from weft.gateway.serving import serving_http
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer

PROTOCOLS = ["legacy", "2026-07-28"]


class Heard:
    """What a host hears beside answers."""

    def __init__(self) -> None:
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.progress: list[str] = []
        self.asked: list[Any] = []

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append(message or "")

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return types.ElicitResult(action="accept", content={})

    async def sample(self, context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.append(params)
        said = types.TextContent(text="yes")
        return types.CreateMessageResult(role="assistant", content=said, model="m")


def listening(running: Gateway, protocol: str, heard: Heard) -> Any:
    return host(
        running,
        protocol,
        logging_callback=heard.log,
        elicitation_callback=heard.answer,
        sampling_callback=heard.sample,
        log_level="debug" if protocol != "legacy" else None,
    )


async def call_tells(client: Client, heard: Heard, **arguments: Any) -> str:
    result = await client.call_tool(
        "call_tool",
        {"tool": "odd:tells", "arguments": arguments},
        progress_callback=heard.report,
    )
    return text_of(result)


async def level(client: Client, wanted: types.LoggingLevel) -> None:
    with pytest.warns(UserWarning, match="logging capability is deprecated"):
        await client.set_logging_level(wanted)


async def until(there: Callable[[], Any]) -> None:
    with anyio.fail_after(10):
        while not there():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_secrets_in_log_messages_and_progress_are_masked(
    log: Connection, server: EmbeddedServer, tmp_path: Path, protocol: str
) -> None:
    heard = Heard()
    async with (
        gateway(server.url, tmp_path, odd_server()) as running,
        listening(running, protocol, heard) as client,
    ):
        await call_tells(client, heard)
        await until(lambda: len(heard.logs) >= 3 and heard.progress)
    assert [one.level for one in heard.logs] == ["debug", "info", "error"]
    assert heard.logs[0].logger.startswith("odd:at [secret:")
    assert heard.logs[1].data["key"].startswith("[secret:")
    assert heard.progress[0].startswith("with aws_access_key_id = [secret:")
    assert KEY not in repr((heard.logs, heard.progress))


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_long_log_messages_and_progress_are_cut_and_say_so(
    log: Connection, server: EmbeddedServer, tmp_path: Path, protocol: str
) -> None:
    heard = Heard()
    async with (
        gateway(server.url, tmp_path, odd_server()) as running,
        listening(running, protocol, heard) as client,
    ):
        await call_tells(client, heard, lines=100_000)
        await until(lambda: len(heard.logs) >= 3 and heard.progress)
    for text in (heard.logs[2].data, heard.progress[0]):
        assert text.startswith("line of a log\n")
        assert len(text) < 20_000
        assert text.endswith(" characters …")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_secrets_in_a_question_are_masked_for_the_user_and_in_the_log(
    log: Connection, server: EmbeddedServer, tmp_path: Path, protocol: str
) -> None:
    heard = Heard()
    async with (
        gateway(server.url, tmp_path, odd_server(sampling=True)) as running,
        listening(running, protocol, heard) as client,
    ):
        assert text_of(await called(client, "odd:elicits")) == "the user said accept"
        said = text_of(await called(client, "odd:asks", text=f"Is {KEY} right?"))
        assert said == "the model said yes"
    question, sampled = heard.asked
    assert question.message.startswith("Is aws_access_key_id = [secret:")
    assert question.requested_schema["properties"]["key"]["title"] == "Key"
    assert sampled.messages[0].content.text.startswith("Is [secret:")
    assert KEY not in repr(heard.asked)


@pytest.mark.parametrize(
    "arguments",
    [
        {"field": KEY},
        {"url": f"https://example.com/?key={KEY}"},
        {"field": "x" * 300_000},
    ],
)
async def test_a_question_that_cannot_be_masked_or_is_too_long_is_not_asked(
    log: Connection, server: EmbeddedServer, tmp_path: Path, arguments: dict[str, str]
) -> None:
    heard = Heard()
    async with (
        gateway(server.url, tmp_path, odd_server()) as running,
        listening(running, "legacy", heard) as client,
    ):
        refused = await called(client, "odd:elicits", **arguments)
    assert refused.is_error
    assert text_of(refused).startswith("refused: server 'odd' asked what")
    assert heard.asked == []


async def test_each_host_hears_what_it_wants_and_the_server_logs_no_more_than_that(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    """`logging/setLevel`, also to a server that starts afterwards."""
    quiet, loud = Heard(), Heard()
    async with (
        gateway(server.url, tmp_path, odd_server()) as running,
        serving_http(running, *free_port()) as port,
    ):
        address = f"http://127.0.0.1:{port}/mcp"
        async with (
            Client(address, mode="legacy", logging_callback=quiet.log) as first,
            Client(address, mode="legacy", logging_callback=loud.log) as second,
        ):
            await level(first, "error")
            assert await call_tells(first, quiet) == "at level error"
            await until(lambda: len(quiet.logs) == 1)
            await level(second, "info")
            assert await call_tells(second, loud) == "at level info"
            await until(lambda: len(quiet.logs) == 2)
            assert [one.level for one in quiet.logs] == ["error", "error"]
            await until(lambda: len(loud.logs) == 2)
            assert [one.level for one in loud.logs] == ["info", "error"]
            await called(second, "odd:dies")
            assert await call_tells(second, loud) == "at level info"  # one that was started since


async def test_what_a_host_has_subscribed_to_is_subscribed_to_again_at_a_restart(
    log: Connection, server: EmbeddedServer, tmp_path: Path
) -> None:
    watched = odd_server("odd", "watched")
    async with gateway(server.url, tmp_path, watched) as running, host(running, "legacy") as client:
        uri = (await client.list_resources()).resources[0].uri
        with pytest.warns(UserWarning, match="resources/subscribe is removed"):
            await client.subscribe_resource(uri)
        await called(client, "odd:dies")
        assert text_of(await called(client, "odd:watched")) == '["odd://tide"]'
        with pytest.warns(UserWarning, match="resources/unsubscribe is removed"):
            await client.unsubscribe_resource(uri)
        assert text_of(await called(client, "odd:watched")) == "[]"
