"""Every service ends cleanly when it is told to, though the server says nothing any more."""

import asyncio
import contextlib
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from nats.aio.transport import TcpTransport
from tests.integration.processes import PATIENCE, Running, started

from weft.cli.services import SERVICES
from weft.log.api import NO_LEADER
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime import application
from weft.runtime.process import Process
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.subjects import STREAM


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL], ids=["frozen", "gone"])
async def test_a_service_that_is_told_to_end_does_so_without_its_server(folder: Path, how):
    async with EmbeddedServer(folder / "nats") as server, AsyncExitStack() as stack:
        log = await connect(server.url)
        await provision(log)
        await log.close()
        environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
        running: dict[str, Running] = {}
        is_forked = how == signal.SIGKILL  # the other time they are started for real
        for service in SERVICES:
            process = started("weft.cli.main", "work", service, is_forked=is_forked, **environ)
            running[service] = await stack.enter_async_context(process)
        await asyncio.gather(*(process.until_ready() for process in running.values()))
        server.send_signal(how)
        codes = await asyncio.gather(*(process.end() for process in running.values()))
        server.send_signal(signal.SIGCONT)
        said = {name: process.log[-3:] for name, process in running.items()}
        assert codes == [0] * len(running), said


async def test_what_was_not_sent_does_not_keep_a_connection_from_closing(folder: Path):
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await server.kill()
        while log.is_connected:
            await asyncio.sleep(0.01)
        await log.publish("weft.acme.s1.in.user_turn", b"kept by nats-py until there is a server")
        await log.close()
        assert log.is_closed


async def test_a_connection_closes_though_a_wait_for_its_socket_was_cancelled(folder: Path):
    """As happens when it is closed just as its attempt to reconnect begins: both wait for the same
    future of asyncio's."""
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        attempt = asyncio.create_task(log._transport.wait_closed())
        await asyncio.sleep(0)
        attempt.cancel()
        await log.close()
        assert log.is_closed


async def test_a_connection_that_is_closed_looks_for_no_server_any_more(folder: Path, monkeypatch):
    """Though the cancellation of its attempts comes as one of them ends, and is lost there."""
    tried, lost = asyncio.Event(), asyncio.Event()

    async def refused(*_: object, **__: object) -> None:
        tried.set()
        if not lost.is_set():
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                lost.set()
        raise ConnectionRefusedError

    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        monkeypatch.setitem(log.options, "reconnect_time_wait", 0.0)
        monkeypatch.setattr(TcpTransport, "connect", refused)
        await server.kill()
        await tried.wait()
        await log.close()
        async with asyncio.timeout(PATIENCE):
            await lost.wait()
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)


async def test_a_service_that_loses_a_cancellation_ends_too(server, monkeypatch):
    monkeypatch.setattr(application, "DRAIN_SECONDS", 0.1)
    monkeypatch.setattr(application, "CANCEL_SECONDS", 0.1)

    async def never_ending(_: application.Process) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)
        await asyncio.sleep(600)

    process = application.Process("firewall", Settings(nats_url=server.url))
    runner = application._Runner(process, never_ending)
    await runner.connect()
    await runner.begin()
    await asyncio.wait_for(runner.finish(), PATIENCE)
    await runner.close()
    assert runner.failure is None


MAPPED = (
    f'mappings = {{ "$JS.API.STREAM.INFO.{STREAM}": "test.info", '
    f'"$JS.API.STREAM.MSG.GET.{STREAM}": "test.get" }}\n'
)
"""With these, a test answers as the server's API."""
ELECTING = {"error": {"code": 503, "err_code": NO_LEADER, "description": "unavailable"}}


async def test_a_service_begins_once_the_log_is_read_and_not_only_known(folder: Path):
    """While the nodes of a cluster elect their leaders, one of them tells of the stream, and none
    reads from it: services that began then ended with that error."""
    answers = iter([ELECTING, ELECTING, {"error": {"code": 404, "err_code": 10037}}])
    info = {"config": {"metadata": {}}, "state": {"last_seq": 7}}
    asked: list[bytes] = []

    async def known(message: Msg) -> None:
        await message.respond(json.dumps(info).encode())

    async def read(message: Msg) -> None:
        asked.append(message.data)
        await message.respond(json.dumps(next(answers)).encode())

    async def service(process: Process) -> None:
        assert next(answers, None) is None
        asked.append(b"begun")

    async with EmbeddedServer(folder, extra=MAPPED) as server:
        settings = Settings(nats_url=server.url, fingerprint_key=b"key", http_port=0)
        log = await connect(server.url)
        await log.subscribe("test.info", cb=known)
        await log.subscribe("test.get", cb=read)
        await log.flushed()
        runner = application._Runner(Process("some", settings), service)
        await runner.connect()
        await runner.begin()
        await asyncio.wait_for(runner._task, PATIENCE)
        await runner.close()
        await log.close()
    assert runner.failure is None
    assert asked == [b'{"seq":8}'] * 3 + [b"begun"]
