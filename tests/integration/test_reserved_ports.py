"""A server's port is its own, also while it is down."""

import errno
import socket
import sys
from pathlib import Path

import pytest

from weft.log.transport import connect
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere a port can only be found"
)


def is_taken(port: int) -> bool:
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


async def test_a_server_that_is_down_keeps_its_port(folder: Path) -> None:
    async with EmbeddedServer(folder) as server:
        await server.kill()
        assert is_taken(server.port)
        await server.start()
        await (await connect(server.url)).close()


async def test_a_cluster_has_its_ports_before_it_starts(folder: Path) -> None:
    cluster = EmbeddedCluster(folder)
    assert all(is_taken(node.port) for node in cluster.nodes)
    async with cluster:
        await (await connect(cluster.url)).close()


def test_a_port_is_free_again_when_nobody_needs_it() -> None:
    ports = [Port() for _ in range(5)]
    numbers = [port.number for port in ports]
    assert all(is_taken(number) for number in numbers)
    ports.clear()
    # Any other process may be given one of them at any time.
    assert not all(is_taken(number) for number in numbers)
