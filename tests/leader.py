"""The node of a cluster that leads the log's stream."""

import asyncio

from weft.log.api import call
from weft.log.transport import connect
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import WeftError
from weft_schemas.subjects import STREAM


async def leader_of(cluster: EmbeddedCluster, seconds: float) -> EmbeddedServer:
    """The leader, once there is one that runs. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                name = await _leader(cluster.url)
            except WeftError:
                name = ""
            for node in cluster.nodes:
                if node.name == name and node.pid is not None:
                    return node
            await asyncio.sleep(0.1)


async def _leader(url: str) -> str:
    connection = await connect(url)
    try:
        info = await call(connection, f"STREAM.INFO.{STREAM}")
    finally:
        await connection.close()
    return str(info.get("cluster", {}).get("leader", ""))
