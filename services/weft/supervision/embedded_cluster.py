"""Three embedded servers on loopback as one cluster, to try out replication and its failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Self

from weft.log.api import call
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.reserved_ports import Port
from weft_schemas.errors import Unavailable, WeftError

NODES = 3
QUORUM_SECONDS = 60.0
"""Until the nodes have elected a leader; measured 1 to 3 s, 7 with a node that was held up."""


class EmbeddedCluster:
    """`async with EmbeddedCluster(folder) as cluster:`, then `connect(cluster.url)`.

    Each node has its own data folder under `data_dir`. Raises as `EmbeddedServer` does.
    """

    def __init__(self, data_dir: Path | str) -> None:
        # The nodes must know each other's before any of them runs.
        self._ports = [Port() for _ in range(2 * NODES)]
        numbers = [port.number for port in self._ports]
        clients, routes = numbers[:NODES], numbers[NODES:]
        self.nodes = [
            EmbeddedServer(
                Path(data_dir) / f"node{number}",
                clients[number],
                "cluster",
                name=f"node{number}",
                extra=_cluster_configuration(routes[number], routes),
            )
            for number in range(NODES)
        ]

    @property
    def url(self) -> str:
        """Of all nodes, separated by commas."""
        return ",".join(node.url for node in self.nodes)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start all nodes and wait until they have a leader."""
        try:
            await asyncio.gather(*(node.start() for node in self.nodes))
            await self.until_quorum()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all nodes."""
        await asyncio.gather(*(node.stop() for node in self.nodes))

    async def until_quorum(self) -> None:
        """Wait until the JetStream API answers. Raises `Unavailable`."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + QUORUM_SECONDS
        connection = await connect(self.url)
        try:
            while True:
                try:
                    await call(connection, "STREAM.NAMES", timeout=1.0)
                    return
                except WeftError:
                    if clock() > deadline:
                        raise Unavailable(
                            f"the cluster found no leader in {QUORUM_SECONDS:.0f} s; see the log "
                            f"files under {self.nodes[0].data_dir.parent}"
                        ) from None
                    await asyncio.sleep(0.1)
        finally:
            await connection.close()


def _cluster_configuration(own: int, routes: list[int]) -> str:
    urls = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
    return f'cluster {{ name: weft, listen: "127.0.0.1:{own}", routes: [ {urls} ] }}\n'
