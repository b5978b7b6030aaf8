"""Who was held up has not been patient: what comes right afterwards is not too late."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

import weft.log.nats_internals
import weft.log.transport
from weft.log import in_flight
from weft.log.api import NO_LEADER, TIMEOUT_SECONDS, call, request
from weft.log.connection import FLUSH_SECONDS, Connection
from weft.log.message import Ack
from weft.log.publishing import Publisher
from weft.log.secure_delete import erase
from weft.log.stream_health import STILL_SECONDS, stores_nothing
from weft.log.timeouts import pause, time_limit
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable
from weft_schemas.subjects import STREAM, item_subject

SUBJECT = item_subject("acme", "s1", "user_turn")
ENOUGH_SECONDS = 3.0
"""For any answer of a server that runs, on a busy machine too."""


def held_up(seconds: float = ENOUGH_SECONDS + 0.5) -> None:
    """Nothing of this process runs for so long, from the next turn of its event loop on."""
    asyncio.get_running_loop().call_soon(time.sleep, seconds)


async def frozen(server: EmbeddedServer) -> None:
    """Stop it, and return when its last thread has stopped."""
    assert server.pid is not None
    server.send_signal(signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, server.pid, os.WSTOPPED)


async def test_a_limit_does_not_count_it() -> None:
    held_up()
    async with time_limit(ENOUGH_SECONDS):
        await asyncio.sleep(0.01)
    with pytest.raises(TimeoutError):
        async with time_limit(0.3) as limit:
            await asyncio.Event().wait()
    assert limit.expired()


async def test_a_connection_is_waited_for(server: EmbeddedServer) -> None:
    held_up()
    connection = await connect(server.url, timeout=ENOUGH_SECONDS)
    await connection.close()


async def test_an_answer_is_waited_for(log: Connection) -> None:
    async def answer(message: Msg) -> None:
        time.sleep(ENOUGH_SECONDS + 0.5)  # noqa: ASYNC251 (nothing else in the process runs)
        await log.publish(message.reply, b"here")

    service = await log.subscribe("slow", cb=answer)
    assert await request(log, "slow", b"", ENOUGH_SECONDS) == b"here"
    await service.unsubscribe()


async def answering_without_a_leader(log: Connection, times: int) -> Subscription:
    """Takes a request that the server itself does not know, and answers like a cluster that elects
    its leader, so many times."""
    left = times

    async def answer(message: Msg) -> None:
        nonlocal left
        left -= 1
        error = {"code": 503, "err_code": NO_LEADER, "description": "temporarily unavailable"}
        reply = {"error": error} if left >= 0 else {"answered": True}
        await log.publish(message.reply, json.dumps(reply).encode())

    return await log.subscribe("$JS.API.ELECTING", cb=answer)


async def test_a_leader_that_is_being_elected_is_waited_for(log: Connection) -> None:
    service = await answering_without_a_leader(log, 3)
    assert await call(log, "ELECTING") == {"answered": True}
    await service.unsubscribe()


async def test_a_leader_that_is_not_elected_in_time_is_told(log: Connection) -> None:
    service = await answering_without_a_leader(log, 1_000)
    with pytest.raises(Unavailable, match=r"ELECTING: .*unavailable .error 10008.: .* no leader"):
        await call(log, "ELECTING", timeout=0.5)
    await service.unsubscribe()


async def test_the_word_that_all_has_arrived_is_waited_for(log: Connection) -> None:
    held_up(FLUSH_SECONDS + 0.5)
    assert await log.flushed()


async def test_a_word_that_comes_too_late_leaves_the_connection_as_it_was(
    folder: Path, monkeypatch
) -> None:
    """nats-py ends its reading for an answer that nobody waits for any more."""
    monkeypatch.setattr(weft.log.nats_internals, "FLUSH_SECONDS", 0.3)
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await frozen(server)
        assert not await log.flushed()
        server.send_signal(signal.SIGCONT)
        monkeypatch.setattr(weft.log.nats_internals, "FLUSH_SECONDS", 5.0)
        assert await log.flushed()
        await request(log, "$JS.API.INFO", b"", 5.0)
        await log.close()


async def test_an_erasure_is_given_the_time_that_a_slow_disk_takes(
    folder: Path, monkeypatch
) -> None:
    async with EmbeddedServer(folder) as server:
        monkeypatch.setitem(weft.log.transport._OPTIONS, "ping_interval", 600)
        log = await connect(server.url)
        await provision(log)
        async with Publisher(log) as publisher:
            await publisher.publish(SUBJECT, b"{}", "m1")
        await frozen(server)
        erasing = asyncio.create_task(erase(log, STREAM, 1))
        await pause(TIMEOUT_SECONDS + 0.5)
        server.send_signal(signal.SIGCONT)
        assert await erasing
        await log.close()


async def test_without_a_hold_up_patience_ends(log: Connection) -> None:
    silent = await log.subscribe("silent")
    with pytest.raises(Unavailable, match="no answer on silent"):
        await request(log, "silent", b"", 0.3)
    await silent.unsubscribe()


async def test_an_acknowledgement_is_waited_for(log: Connection) -> None:
    async with Publisher(log, timeout=ENOUGH_SECONDS) as publisher:
        await asyncio.sleep(0.05)  # it looks after its messages by now
        held_up()
        assert await publisher.publish(SUBJECT, b"{}", "m1") == Ack(1)


async def test_a_stream_that_could_not_be_sent_anything_is_not_taken_for_a_stalled_one(
    log: Connection,
) -> None:
    command = b"PUB %b 2\r\n{}\r\n" % SUBJECT.encode()

    def publish() -> None:
        held_up(STILL_SECONDS + 0.1)
        asyncio.get_running_loop().call_later(STILL_SECONDS + 0.2, log.write_soon, command)

    assert not await stores_nothing(log, STREAM, publish)


async def test_nothing_is_sent_again_or_doubted_for_a_hold_up(log: Connection, monkeypatch) -> None:
    monkeypatch.setattr(in_flight, "SILENT_SECONDS", in_flight.RETRY_SECONDS)
    doubted: list[object] = []
    monkeypatch.setattr(in_flight.InFlight, "_give_up_where_stalled", lambda *_: doubted.append(_))
    sent: list[bytes] = []
    write = log.write_soon
    monkeypatch.setattr(log, "write_soon", lambda data: (sent.append(data), write(data)))
    async with Publisher(log) as publisher:
        await asyncio.sleep(0.05)
        held_up(in_flight.RETRY_SECONDS + 0.5)
        await publisher.publish(SUBJECT, b"{}", "m1")
    assert len([one for one in sent if SUBJECT.encode() in one]) == 1
    assert doubted == []
