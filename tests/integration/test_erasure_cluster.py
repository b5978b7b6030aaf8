"""Erasure on three nodes: no node's streams hold the canary, what the Raft logs may hold is said,
and a node that was away meanwhile takes the erasure over."""

import asyncio
from pathlib import Path

from tests.integration.command_line import weft
from tests.integration.indexer_process import indexer, publish
from tests.integration.test_erasure import CANARY, files_with, left_of
from tests.leader import leader_of

from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import read_matching
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft_schemas.errors import Unavailable
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import BODIES_BUCKET, STREAM

PATIENCE = 120.0


async def fill(log: Connection) -> None:
    """Two sessions in turns; the canary stands in one of them and in its body."""
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, "default").put(f"{CANARY} ".encode() * 30_000)
    await publish(log, "secret", [ContextItem("r", ItemKind.TOOL_RESULT, body=body)], "default")
    for number in range(20):
        for session, text in (("secret", f"I am {CANARY} {number}."), ("kept", f"line {number}")):
            item = ContextItem(f"u{number}", ItemKind.USER_TURN, text)
            await publish(log, session, [item], "default")


async def in_step(log: Connection) -> None:
    """Wait until both followers have all that the leader has, of every stream with contents."""
    async with asyncio.timeout(PATIENCE):
        for stream in (STREAM, f"OBJ_{BODIES_BUCKET}"):
            while not await _is_in_step(log, stream):
                await asyncio.sleep(0.1)


async def _is_in_step(log: Connection, stream: str) -> bool:
    try:
        info = await call(log, f"STREAM.INFO.{stream}")
    except Unavailable:
        return False
    followers = info["cluster"].get("replicas", [])
    return sum(one["current"] and not one.get("lag") for one in followers) == 2


def streams_with_canary(folder: Path) -> list[str]:
    """Files that hold it, but for the Raft logs, which stand under `_js_` of each node."""
    return [name for name in files_with(folder, CANARY) if "/_js_/" not in name]


async def test_all_nodes_erase_and_one_that_was_away_does_when_it_comes_back(
    tmp_path: Path,
) -> None:
    async with EmbeddedCluster(tmp_path / "nodes") as cluster:
        log = await connect(cluster.url)
        await provision(log, "cluster")
        await fill(log)
        await in_step(log)
        leader = await leader_of(cluster, PATIENCE)
        away = next(node for node in cluster.nodes if node is not leader)
        async with indexer(cluster.url, tmp_path / "replica", WEFT_LOG_LEVEL="error"):
            await away.stop()
            erased = await weft("erase", "-s", "secret", "--yes", "--json", url=cluster.url)
            assert erased.code == 0, erased.err
            assert erased.json["removed"]["events"] == 21
            assert any("Raft logs of the 3 nodes" in one for one in erased.json["unreachable"])
            await away.start()
            await in_step(log)
            async with asyncio.timeout(PATIENCE):
                # A follower has what it is sent before it does it.
                while streams_with_canary(tmp_path):
                    await asyncio.sleep(0.1)
        assert await left_of(log, "secret") == 0
        assert len([one async for one in read_matching(log, "w.*.*.default.kept.>")]) == 20
        await log.close()
    assert streams_with_canary(tmp_path) == []
