"""The contract of a connection, by both of its implementations: on nats-py's internals, and on its
public API alone."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import AsyncIterator
from pathlib import Path

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport
from nats.protocol.parser import Parser
from tests.integration.conftest import empty

from weft.log import connection as connecting
from weft.log.api import call, replied
from weft.log.bulk_publishing import BatchMode, BulkPublisher
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.message import Message
from weft.log.nats_internals import FastConnection, missing_internals
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect, implementation
from weft.log.wire import block_of, commands_in, headers_of, publish_command, status
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError
from weft_schemas.subjects import STREAM

PATIENCE = 60


@pytest.fixture(params=[FastConnection, Connection], ids=["fast", "plain"])
async def log(request: pytest.FixtureRequest, server: EmbeddedServer) -> AsyncIterator[Connection]:
    connection = await connect(server.url, kind=request.param)
    await empty(connection)
    await provision(connection)
    yield connection
    await connection.close()


def messages(count: int) -> list[Message]:
    headers = {"ce-id": "7", "traceparent": "00-0"}
    return [
        Message(f"weft.acme.s{n % 5}.in.user_turn", b'{"n": %d}' % n, f"id-{n}", headers)
        for n in range(count)
    ]


async def test_what_is_published_is_acknowledged_once(log: Connection) -> None:
    async with Publisher(log) as publisher:
        acks = await publisher.publish_many(messages(500))
        again = await publisher.publish_many(messages(500))
    assert sorted(ack.sequence for ack in acks) == list(range(1, 501))
    assert all(ack.duplicate for ack in again)


async def test_bulk_is_stored_in_order(log: Connection) -> None:
    async with Publisher(log) as publisher, BulkPublisher(publisher, BatchMode.FAST) as bulk:
        ack = await bulk.publish(messages(2_000))
    state = (await call(log, f"STREAM.INFO.{STREAM}"))["state"]
    assert (ack.count, state["messages"]) == (2_000, 2_000)


async def test_a_consumer_gets_everything_and_its_acks_count(log: Connection) -> None:
    async with Publisher(log) as publisher:
        await publisher.publish_many(messages(300))
    seen: list[int] = []
    async with asyncio.timeout(PATIENCE), Consumer(log, "firewall") as consumer:
        async for batch in consumer:
            seen += [one.record.sequence for one in batch]
            assert batch[0].record.message_id.startswith("id-")
            for one in batch:
                one.ack()
            if len(seen) == 300:
                consumer.stop()
    info = await call(log, f"CONSUMER.INFO.{STREAM}.firewall")
    assert seen == list(range(1, 301))
    assert (info["num_pending"], info["num_redelivered"]) == (0, 0)


async def test_a_request_has_its_reply_or_is_told_that_nobody_answers(log: Connection) -> None:
    def echo(subject: bytes, reply: bytes, payload: bytes, headers: bytes | None) -> None:
        log.write_soon(publish_command(reply.decode(), "", b"", payload + b"!"))

    listener = await log.listen("weft-rpc.t.s.echo", echo, "group")
    reply = await replied(log, "weft-rpc.t.s.echo", b"hello", PATIENCE)
    assert reply.data == b"hello!"
    await listener.close()
    with pytest.raises(nats.errors.NoRespondersError):
        await replied(log, "weft-rpc.t.s.echo", b"hello", PATIENCE)


async def test_a_reconnect_is_told_and_publishing_goes_on(
    log: Connection, server: EmbeddedServer
) -> None:
    reconnected = asyncio.Event()
    log.on_reconnect(reconnected.set)
    async with Publisher(log) as publisher:
        await publisher.publish("weft.acme.s1.in.user_turn", b"{}", "one")
        await server.restart()
        await asyncio.wait_for(reconnected.wait(), PATIENCE)
        ack = await publisher.publish("weft.acme.s1.in.user_turn", b"{}", "two")
    assert ack.sequence == 2


async def test_what_a_handler_raises_ends_nothing(log: Connection) -> None:
    seen: list[bytes] = []
    done = asyncio.Event()

    def take(subject: bytes, reply: bytes, payload: bytes, headers: bytes | None) -> None:
        seen.append(payload)
        if payload == b"1":
            raise ValueError("a bad message")
        if payload == b"2":
            done.set()

    await log.listen("some.subject", take)
    for number in range(3):
        log.write_soon(publish_command("some.subject", "", b"", b"%d" % number))
    await asyncio.wait_for(done.wait(), PATIENCE)
    assert seen == [b"0", b"1", b"2"]


def test_this_nats_py_is_the_one_that_is_asked_for() -> None:
    version = importlib.metadata.version("nats-py")
    asked = os.environ.get("WEFT_NATS_PY", version)
    assert version == asked or version.startswith(f"{asked}.")
    folder = Path(str(importlib.metadata.distribution("nats-py").locate_file("nats")))
    assert Path(nats.__file__).parent.samefile(folder)


def test_this_nats_py_has_what_the_fast_one_needs() -> None:
    assert missing_internals() == []
    assert implementation() is FastConnection


def _nothing(self: object, *_: object) -> None:
    """A method or a constructor of another nats-py, with other arguments."""


@pytest.mark.parametrize(
    ("owner", "name", "missing"),
    [
        (Subscription, "__init__", "Subscription._id"),
        (TcpTransport, "__init__", "TcpTransport._io_writer"),
        (Client, "_process_msg", "Client._process_msg(sid,subject,reply,data,headers)"),
        (Client, "_connect_to_server", "Client._connect_to_server(s)"),
        (Client, "_close", "Client._close(status,do_cbs)"),
        (Parser, "parse", "Parser.parse(data)"),
    ],
)
def test_without_an_internal_the_plain_one_is_chosen(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, missing: str
) -> None:
    monkeypatch.setattr(owner, name, _nothing)
    assert missing_internals() == [missing]
    assert implementation() is Connection


def test_a_method_that_is_gone_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Client, "_process_err")
    assert missing_internals() == ["Client._process_err(err_msg)"]
    assert implementation() is Connection


def test_a_constructor_that_wants_more_is_no_fault_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subscription, "__init__", lambda self, connection, more: None)
    assert implementation() is Connection


async def test_the_plain_one_sends_no_credential_where_it_cannot_tell_of_tls() -> None:
    with pytest.raises(ConfigurationError, match="TLS needs"):
        await connect("tls://127.0.0.1:1", kind=Connection)


def test_the_plain_one_rests_on_nothing_private() -> None:
    own = set(vars(Connection)) | set(vars(Connection(False))) - set(vars(Client()))
    used = {name for name in _names(connecting.__file__) if name.startswith("_")}
    private = {name for name in dir(Client()) if name.startswith("_") and not name.endswith("__")}
    assert (used - own) & private == set()


def _names(file: str) -> set[str]:
    import ast
    from pathlib import Path

    tree = ast.parse(Path(file).read_text())
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_commands_and_headers_survive_the_way_there_and_back() -> None:
    block = b"NATS/1.0\r\nNats-Msg-Id: a\r\ntraceparent: b\r\n\r\n"
    written = publish_command("a.b", "", block, b"x\r\ny") + publish_command("c", "r", b"", b"")
    one, two = commands_in(written + b"PUB d 1\r\n.\r\n")[:2]
    assert (one.subject, one.reply, one.payload) == ("a.b", "", b"x\r\ny")
    assert one.headers == {"Nats-Msg-Id": "a", "traceparent": "b"}
    assert (two.subject, two.reply, two.headers, two.payload) == ("c", "r", None, b"")
    assert headers_of(block_of(one.headers)) == one.headers
    assert status(block_of({"Status": "408", "Description": "Request Timeout"}))[0] == 408
