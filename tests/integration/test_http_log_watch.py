"""Whoever runs `weft serve` is told when its credential does not reach the log, and at each
change."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest
from tests.integration.preloaded import program
from tests.integration.serving import PATIENCE

from weft.http import log_watch, service
from weft.http.callers import open_grant
from weft.http.clients import Clients
from weft.http.log_watch import watch_log
from weft.log.timeouts import cancelled
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer


def signed(password: str) -> str:
    return f'authorization {{ user: "agent", password: "{password}" }}\n'


async def test_every_change_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watch, "POLL_SECONDS", 0.05)
    told: asyncio.Queue[str] = asyncio.Queue()
    async with EmbeddedServer(tmp_path / "a", extra=signed("another")) as refusing:
        settings = Settings(nats_url=refusing.url, user="agent", password="right")
        async with Clients(settings) as clients, asyncio.timeout(PATIENCE):
            watching = asyncio.create_task(watch_log(clients, open_grant("t"), told.put_nowait))
            first = await told.get()
            assert "requests do not reach the log" in first
            assert "refused the credential; check user" in first
            await refusing.stop()
            assert "no nats-server answers" in await told.get()
            letting = EmbeddedServer(tmp_path / "b", refusing.port, extra=signed("right"))
            async with letting:
                assert await told.get() == "requests reach the log again"
                await letting.stop()
                assert "the connection to its server is lost" in await told.get()
                await letting.start()
                assert await told.get() == "requests reach the log again"
            watching.cancel()
    assert told.qsize() <= 1  # the end of the last server


async def test_a_closed_client_is_told_and_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "POLL_SECONDS", 0.05)
    told: asyncio.Queue[str] = asyncio.Queue()
    async with EmbeddedServer(tmp_path) as server:
        async with Clients(Settings(nats_url=server.url)) as clients:
            await clients.of(open_grant("t"))
        watching = asyncio.create_task(watch_log(clients, open_grant("t"), told.put_nowait))
        async with asyncio.timeout(PATIENCE):
            assert "this client is closed" in await told.get()
        assert not watching.done()
        await cancelled(watching)


async def test_the_watch_ends_with_a_server_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object) -> None:
        await asyncio.sleep(0)  # so that the watch begins
        raise OSError("no more files")

    monkeypatch.setattr(service.WebServer, "serve", fails)
    monkeypatch.setattr(service, "set_up_logging", lambda *_: None)
    before = asyncio.all_tasks()
    with pytest.raises(OSError, match="no more files"):
        await service.serve(
            Settings(nats_url="nats://127.0.0.1:1"),
            "127.0.0.1",
            0,
            None,
            most_bytes=1_000,
            rate=1.0,
            listening=lambda _: None,
            tell=lambda _: None,
        )
    assert asyncio.all_tasks() == before


async def test_a_wrong_password_is_told_at_the_start(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    async with EmbeddedServer(tmp_path, extra=signed("another")) as server:
        process = await program(
            *("weft.cli.main", "serve", "--nats", server.url, "--port", "0", "--user", "agent"),
            env=kept | {"WEFT_PASSWORD": "wrong"},
            stdin=DEVNULL,
            stderr=PIPE,
        )
        said = ""
        async with asyncio.timeout(PATIENCE):
            while "weft serve: requests do not reach the log" not in said:
                line = await process.stderr.readline()
                assert line, said
                said += line.decode()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    assert "weft at http://127.0.0.1:" in said
    assert said.count("refused the credential") == 1
