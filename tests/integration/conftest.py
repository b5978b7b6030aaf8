"""A real nats-server for each test module, and the log provisioned on it."""

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from tests.integration.command_line import COMPILES, services
from tests.integration.serving import everything, serving

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.topology import desired, provision
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    """An embedded server on a free port of loopback; one per test module."""
    async with EmbeddedServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest_asyncio.fixture
async def log(server: EmbeddedServer) -> AsyncIterator[Connection]:
    """A connection to an empty, provisioned log."""
    connection = await connect(server.url)
    try:
        await empty(connection)
        await provision(connection)
        yield connection
    finally:
        await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_log(server: EmbeddedServer) -> AsyncIterator[Connection]:
    """A connection to the provisioned log that all tests of a module share."""
    connection = await connect(server.url)
    await provision(connection)
    yield connection
    await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server with firewall, indexer and compiler, for all tests of a module."""
    async with services(tmp_path_factory.mktemp("up") / "data", *COMPILES) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nats_url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server with every service, for all tests of a module."""
    async with everything(tmp_path_factory.mktemp("http")) as url:
        yield url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(nats_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `weft serve` on it."""
    async with (
        serving(nats_url, "--max-body", "1", "--rate", "100000") as address,
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        yield client


TENANTS = count(1)


@pytest.fixture
def tenant() -> str:
    """One of the test's own, where all tests of a module share a log and its services."""
    return f"tenant-{next(TENANTS)}"


async def empty(connection: Connection) -> None:
    """Delete every stream of the log, whatever a test before left of it."""
    names = (await call(connection, "STREAM.NAMES"))["streams"] or []
    for name in set(names) & set(desired().streams):
        await call(connection, f"STREAM.DELETE.{name}")


async def stored_payloads(connection: Connection) -> list[bytes]:
    """The payload of every message in the log, in order."""
    return [record.payload async for record in read_matching(connection, ">")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for a server or a read model of the test's own."""
    return tmp_path / "data"
