"""Publishing: every outcome is known, nothing acknowledged is lost, nothing is stored twice."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.conftest import stored_payloads

from weft.log import duplicate_check
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import Ack, Message, event_headers
from weft.log.publishing import Publisher
from weft.log.record import LogRecord
from weft.log.topology import LogLimits, provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import (
    ConfigurationError,
    Forbidden,
    InvalidInput,
    Overloaded,
    Unavailable,
)
from weft_schemas.subjects import item_subject

SUBJECT = item_subject("acme", "s1", "user_turn")


def messages(count: int, size: int = 1_000, prefix: str = "m") -> Iterator[Message]:
    for number in range(count):
        yield Message(SUBJECT, b"%08d" % number + b"x" * size, f"{prefix}{number}")


async def stored_numbers(log: Connection) -> list[int]:
    """The number that opens each stored payload, in order of the stream."""
    return [int(payload[:8]) for payload in await stored_payloads(log)]


async def test_one_message_is_acknowledged_with_its_sequence(log: Connection) -> None:
    async with Publisher(log) as publisher:
        headers = event_headers("id", "weft.user_turn", "agent", "00-a-b-01")
        ack = await publisher.publish(SUBJECT, b"{}", "m1", headers)
    stored = await log.jetstream().get_msg("weft", ack.sequence, direct=True)
    assert ack == Ack(1)
    assert stored.headers is not None
    assert stored.headers["ce-type"] == "weft.user_turn"
    assert stored.headers["traceparent"] == "00-a-b-01"
    assert stored.headers["Nats-Msg-Id"] == "m1"


async def test_why_a_duplicate_cannot_be_checked_is_the_outcome(
    log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> LogRecord:
        raise ConfigurationError("STREAM.MSG.GET.weft: not enabled for this account")

    monkeypatch.setattr(duplicate_check, "read", refused)
    async with Publisher(log, timeout=3.0) as publisher:
        await publisher.publish(SUBJECT, b"{}", "m1")
        with pytest.raises(ConfigurationError, match="not enabled"):
            await publisher.publish(SUBJECT, b"{}", "m1")


async def test_a_log_that_was_never_made_is_told(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        connection = await connect(server.url)
        async with Publisher(connection, timeout=0.5) as publisher:
            with pytest.raises(Unavailable, match=r"2 of 2 .* has no stream weft.*weft provision"):
                await publisher.publish_many(messages(2))
            with pytest.raises(Unavailable, match=r"other.subject \(no stream takes it in"):
                await publisher.publish("other.subject", b"{}")
        await connection.close()


async def test_a_log_that_is_made_in_time_takes_what_was_published_before(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        connection = await connect(server.url)
        async with Publisher(connection) as publisher:
            published = asyncio.create_task(publisher.publish_many(messages(2)))
            await asyncio.sleep(0)
            await provision(connection)
            assert [ack.sequence for ack in await published] == [1, 2]
        await connection.close()


async def test_the_same_message_id_again_is_a_duplicate_of_the_first(log: Connection) -> None:
    async with Publisher(log) as publisher:
        await publisher.publish(SUBJECT, b"{}", "m1")
        assert await publisher.publish(SUBJECT, b"{}", "m1") == Ack(1, duplicate=True)


async def test_many_are_acknowledged_in_their_order(log: Connection) -> None:
    async with Publisher(log, window=100) as publisher:
        acks = await publisher.publish_many(messages(1_000))
    assert [ack.sequence for ack in acks] == list(range(1, 1_001))
    assert await stored_numbers(log) == list(range(1_000))


async def test_a_server_killed_in_the_middle_loses_and_doubles_nothing(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        async with Publisher(log, window=500) as publisher:
            work = asyncio.create_task(publisher.publish_many(messages(5_000)))
            while (await call(log, "STREAM.INFO.weft"))["state"]["messages"] < 1_000:
                await asyncio.sleep(0)
            await server.kill()
            await server.start()
            acks = await work
        assert sorted({ack.sequence for ack in acks}) == list(range(1, 5_001))
        assert await stored_numbers(log) == list(range(5_000))
        await log.close()


async def test_a_full_stream_refuses_and_keeps_what_it_has(log: Connection) -> None:
    config = (await call(log, "STREAM.INFO.weft"))["config"]
    await call(log, "STREAM.UPDATE.weft", {**config, "max_msgs": 2})
    async with Publisher(log) as publisher:
        outcomes = await publisher.attempt_many(messages(3))
        assert outcomes[:2] == [Ack(1), Ack(2)]
        with pytest.raises(Overloaded, match="raise the stream's limits"):
            await publisher.publish(SUBJECT, b"{}", "m9")
    assert await stored_numbers(log) == [0, 1]


async def test_without_a_stream_the_outcome_is_unavailable(server: EmbeddedServer) -> None:
    connection = await connect(server.url)
    async with Publisher(connection, timeout=0.3) as publisher:
        with pytest.raises(Unavailable):
            await publisher.publish("nobody.listens", b"{}", "m1")
    await connection.close()


async def test_an_oversized_message_is_refused_before_it_is_sent(log: Connection) -> None:
    async with Publisher(log) as publisher:
        with pytest.raises(InvalidInput, match="max_payload"):
            await publisher.publish(SUBJECT, b"x" * (8 * 1024 * 1024 + 1), "big")
        assert (await publisher.publish(SUBJECT, b"{}", "m1")).sequence == 1


async def test_a_line_break_in_a_header_is_refused(log: Connection) -> None:
    async with Publisher(log) as publisher:
        with pytest.raises(InvalidInput, match="line break"):
            await publisher.publish(SUBJECT, b"{}", "m1\r\nNats-Rollup: all")


async def test_headers_over_the_servers_limit_are_refused_before_they_are_sent(log: Connection):
    async with Publisher(log) as publisher:
        with pytest.raises(InvalidInput, match="headers"):
            await publisher.publish(SUBJECT, b"{}", "x" * 64 * 1024)


async def test_a_forbidden_subject_is_said_to_be_forbidden(folder: Path) -> None:
    rules = (
        "authorization { users = [ { user: agent, password: pw, permissions: {"
        ' publish: { allow: ["weft.acme.*.in.>"] }, subscribe: { allow: ["_INBOX.>"] } } } ] }'
    )
    async with EmbeddedServer(folder, extra=rules) as server:
        agent = await connect(server.url, user="agent", password="pw")
        async with Publisher(agent, timeout=60) as publisher:
            with pytest.raises(Forbidden, match=r"weft\.other"):
                await publisher.publish(item_subject("other", "s1", "user_turn"), b"{}", "m1")
        await agent.close()
        with pytest.raises(Forbidden, match="refused the credential"):
            await connect(server.url, user="agent", password="wrong")


async def test_nobody_there_is_one_clear_line(server: EmbeddedServer) -> None:
    with pytest.raises(Unavailable, match=r"no nats-server answers at nats://127\.0\.0\.1:9"):
        await connect("nats://127.0.0.1:9", timeout=0.5)


async def test_what_comes_after_the_end_is_refused_at_once(log: Connection) -> None:
    async with Publisher(log) as publisher:
        pass
    with pytest.raises(Unavailable, match="the publisher is closed"):
        await publisher.publish(SUBJECT, b"{}", "m1")
    outcomes = await publisher.attempt_many(messages(5_000))
    assert all(isinstance(one, Unavailable) for one in outcomes)
    assert await stored_numbers(log) == []


async def test_limits_hold_from_the_start(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log, limits=LogLimits(max_bytes=100_000))
        async with Publisher(log) as publisher:
            outcomes = await publisher.attempt_many(messages(200))
        assert isinstance(outcomes[0], Ack)
        assert isinstance(outcomes[-1], Overloaded)
        await log.close()


async def test_a_callback_that_fails_stops_nothing_and_is_told(log: Connection) -> None:
    """Of a message that is answered, and of one whose time is up."""
    errors: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(type(context["exception"])))

    def fail(_: object) -> None:
        raise RuntimeError

    async with Publisher(log) as publisher:
        publisher.send([Message(SUBJECT, b"{}", "m1")], fail)
        assert await publisher.publish(SUBJECT, b"{}", "m2") == Ack(2)
    async with Publisher(log, timeout=0.5) as publisher:
        publisher.send([Message("nobody.listens", b"{}")], fail)
        with pytest.raises(Unavailable):
            await publisher.publish("nobody.listens", b"{}")
    assert errors == [RuntimeError, RuntimeError]
