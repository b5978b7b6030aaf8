"""Requests and their replies over one connection."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats.errors
import pytest
from nats.aio.msg import Msg

from weft.log.api import call, replied
from weft.log.connection import Connection
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import InvalidInput, Unavailable

SUBJECT = "service.echo"
PATIENCE_SECONDS = 30.0


async def echoing(log: Connection) -> None:
    async def answer(message: Msg) -> None:
        await log.publish(message.reply, message.data, headers={"Weft-Error": "none"})

    await log.subscribe(SUBJECT, cb=answer)


async def test_each_gets_its_own_reply_with_its_headers(log: Connection) -> None:
    await echoing(log)
    wanted = [b"%d" % number for number in range(500)]
    asked = (replied(log, SUBJECT, payload, PATIENCE_SECONDS) for payload in wanted)
    replies = await asyncio.gather(*asked)
    assert [reply.data for reply in replies] == wanted
    assert {reply.headers["Weft-Error"] for reply in replies} == {"none"}


async def test_where_nobody_answers_that_is_said_at_once(log: Connection) -> None:
    with pytest.raises(nats.errors.NoRespondersError):
        await replied(log, "nobody.there", b"", PATIENCE_SECONDS)


async def test_what_cannot_be_sent_is_refused_here(log: Connection) -> None:
    with pytest.raises(nats.errors.MaxPayloadError):
        await replied(log, SUBJECT, bytes(log.max_payload + 1), PATIENCE_SECONDS)
    with pytest.raises(InvalidInput, match="white space"):
        await replied(log, "two words", b"", PATIENCE_SECONDS)


async def test_a_wait_ends_with_its_connection(server: EmbeddedServer, log: Connection) -> None:
    await log.subscribe("silent")
    await log.flush()
    connection = await connect(server.url)
    asking = asyncio.create_task(replied(connection, "silent", b"", float("inf")))
    await asyncio.sleep(0.05)
    await connection.close()
    with pytest.raises(Unavailable, match="closed before an answer came on silent; connect again"):
        await asyncio.wait_for(asking, PATIENCE_SECONDS)


async def test_a_wait_that_is_over_leaves_nothing(log: Connection) -> None:
    silent = await log.subscribe("silent")
    with pytest.raises(nats.errors.TimeoutError):
        await replied(log, "silent", b"", 0.05)
    asking = asyncio.create_task(replied(log, "silent", b"", PATIENCE_SECONDS))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0)
    assert not log._resp_map
    message = await silent.next_msg()
    await log.publish(message.reply, b"too late")
    await echoing(log)
    assert (await replied(log, SUBJECT, b"x", PATIENCE_SECONDS)).data == b"x"


async def test_a_cancellation_that_comes_with_a_reply_is_not_lost(log: Connection) -> None:
    for turns in range(6):
        await log.subscribe(f"held.{turns}")
        asking = asyncio.create_task(replied(log, f"held.{turns}", b"", PATIENCE_SECONDS))
        while not log._resp_map:
            await asyncio.sleep(0)
        (waiting,) = log._resp_map.values()
        waiting.set_result(Msg(log, ""))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not asking.done():
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking


async def test_what_is_asked_while_the_server_is_away_is_sent_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with EmbeddedServer(tmp_path) as server:
        log = await connect(server.url)
        assert "server_id" not in await call(log, "INFO")
        await server.kill()
        while log.is_up:
            await asyncio.sleep(0.01)
        asking = asyncio.create_task(call(log, "INFO", timeout=PATIENCE_SECONDS))
        await server.start()
        assert (await asking)["memory"] == 0
        await log.close()


async def test_what_is_asked_while_a_lost_socket_is_closed_is_sent_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was dropped with what was queued for that socket, and nobody answered it."""
    async with EmbeddedServer(tmp_path) as server:
        log, asking = await connect(server.url), []

        async def wait_closed() -> None:
            asking.append(asyncio.create_task(call(log, "INFO", timeout=PATIENCE_SECONDS)))
            await asyncio.sleep(0.1)

        monkeypatch.setattr(log._transport, "wait_closed", wait_closed)
        await server.kill()
        while not asking:
            await asyncio.sleep(0.01)
        await server.start()
        assert (await asking[0])["memory"] == 0
        await log.close()
