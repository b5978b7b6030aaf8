"""What happens to the log itself under every service: its server dies again and again,
its consumers are deleted, its stream is purged, recreated or put back from an older copy."""

import asyncio
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.crash.checker import Attempt, faults, held_in
from tests.crash.killing import SERVER, kill_under_load
from tests.crash.lives import settled
from tests.crash.load import turns
from tests.crash.test_random_kills import seed
from tests.integration.test_supervisor_up import until_answering
from weft.client import Client
from weft.log.api import call
from weft.log.topology import WORKERS, provision
from weft.log.transport import connect
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.supervisor import Supervisor, work_children
from weft.supervision.up import EVERYTHING
from weft_schemas.errors import WeftError
from weft_schemas.subjects import STREAM

pytestmark = pytest.mark.slow

PATIENCE = 120.0


@asynccontextmanager
async def services(folder: Path, server: EmbeddedServer) -> AsyncIterator[tuple[Client, Reader]]:
    """Every service on a server that the test itself keeps."""
    log = await connect(server.url)
    await provision(log)
    await log.close()
    environ = {"WEFT_NATS_URL": server.url, "WEFT_DATA_DIR": str(folder)}
    settings = Settings(nats_url=server.url, data_dir=folder, tenant="acme")
    with (folder / "weft.log").open("ab") as log_file:
        async with (
            Supervisor(work_children(EVERYTHING, environ), log_file),
            Client(settings) as client,
        ):
            await until_answering(client)
            await until_working(client)
            with Reader(folder) as reader:
                yield client, reader


async def until_working(client: Client) -> None:
    """Return when every worker asks for events."""
    async with asyncio.timeout(PATIENCE):
        for durable in WORKERS:
            while not (await call(client.connection, f"CONSUMER.INFO.{STREAM}.{durable}"))[
                "num_waiting"
            ]:
                await asyncio.sleep(0.1)


def missing(reader: Reader, *sessions: str) -> list[str]:
    """What the read model lacks of ten turns in each of these sessions, and of them alone."""
    sent = [Attempt(session, item, "acknowledged") for session in sessions for item in turns(10)]
    return faults(sent, held_in(reader.model().db))


async def test_the_server_is_killed_again_and_again_under_load(tmp_path: Path, tell):
    report = await kill_under_load(
        tmp_path, seed(), sessions=12, items=300, kills=8, pause=2.5, only=SERVER
    )
    tell(str(report))
    assert report.faults == []


async def test_deleted_consumers_are_made_again_and_nothing_is_missed(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        services(tmp_path, server) as (client, reader),
    ):
        await client.publish("before", turns(10))
        for durable in WORKERS:
            await call(client.connection, f"CONSUMER.DELETE.{STREAM}.{durable}")
        await client.publish("after", turns(10))
        async with asyncio.timeout(PATIENCE):
            while missing(reader, "before", "after"):
                await asyncio.sleep(0.1)


async def test_a_purged_stream_keeps_what_is_folded_and_takes_what_is_new(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        services(tmp_path, server) as (client, reader),
    ):
        await client.publish("before", turns(10))
        await settled(client.connection, reader)
        await call(client.connection, f"STREAM.PURGE.{STREAM}")
        await client.publish("after", turns(10))
        async with asyncio.timeout(PATIENCE):
            while missing(reader, "before", "after"):
                await asyncio.sleep(0.1)


async def test_a_recreated_stream_is_noticed_and_the_read_model_is_of_the_new_one(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        services(tmp_path, server) as (client, reader),
    ):
        await client.publish("before", turns(10))
        await settled(client.connection, reader)
        await call(client.connection, f"STREAM.DELETE.{STREAM}")
        await provision(client.connection)
        await client.publish("after", turns(10))
        async with asyncio.timeout(PATIENCE):
            while missing_or_replaced(reader, "after"):
                await asyncio.sleep(0.1)


async def test_a_log_put_back_from_an_older_copy_is_noticed_and_followed(tmp_path: Path):
    """As after a power cut that lost the tail: what came after the copy is gone, everywhere."""
    copy = tmp_path / "copy"
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        services(tmp_path, server) as (client, reader),
    ):
        await client.publish("kept", turns(10))
        await settled(client.connection, reader)
        await server.stop()
        shutil.copytree(tmp_path / "nats", copy)
        await server.start()
        await client.publish("lost", turns(10))
        await settled(client.connection, reader)
        await server.kill()
        shutil.rmtree(tmp_path / "nats")
        shutil.copytree(copy, tmp_path / "nats")
        await server.start()
        await client.publish("after", turns(10))
        async with asyncio.timeout(PATIENCE):
            while missing_or_replaced(reader, "kept", "after"):
                await asyncio.sleep(0.1)


def missing_or_replaced(reader: Reader, *sessions: str) -> list[str]:
    try:
        return missing(reader, *sessions)
    except (WeftError, sqlite3.Error) as error:  # between two generations
        return [str(error)]


async def test_a_frozen_server_is_left_and_found_again(tmp_path: Path):
    async with (
        EmbeddedServer(tmp_path / "nats") as server,
        services(tmp_path, server) as (client, reader),
    ):
        await client.publish("before", turns(10))
        server.send_signal(signal.SIGSTOP)
        await asyncio.sleep(8)
        server.send_signal(signal.SIGCONT)
        await client.publish("after", turns(10))
        async with asyncio.timeout(PATIENCE):
            while missing(reader, "before", "after"):
                await asyncio.sleep(0.1)
