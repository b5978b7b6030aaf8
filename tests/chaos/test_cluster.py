"""Three nodes with every service on them: leaders die, a node is cut off, and nobody helps."""

import asyncio
import re
import signal
import time
from pathlib import Path

import pytest

from tests.crash.killing import SERVER, kill_under_load, server_of
from tests.crash.test_random_kills import seed
from tests.integration.processes import started
from weft.audit.doctor.check import Check
from weft.audit.doctor.examine import examine
from weft.client import Client
from weft.log.api import call
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime.settings import Settings
from weft.supervision.embedded_cluster import EmbeddedCluster
from weft.supervision.up import EVERYTHING, running
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import STREAM

pytestmark = pytest.mark.slow

GAP_SECONDS = 60.0
"""No test waits longer for a cluster to find another leader."""


async def test_leaders_and_processes_die_again_and_again_under_load(tmp_path: Path, tell):
    report = await kill_under_load(
        tmp_path, seed(), sessions=8, items=200, kills=16, pause=3.0, clustered=True
    )
    tell(str(report))
    assert report.faults == []


async def test_leaders_are_cut_off_again_and_again_under_load(tmp_path: Path, tell):
    """Each comes back in the belief that it leads, and must store nothing on its own."""
    report = await kill_under_load(
        tmp_path, seed(), sessions=8, items=200, kills=4, pause=5.0, clustered=True, only=SERVER,
        cut_off=True,
    )  # fmt: skip
    tell(f"cut off, not killed: {report}")
    assert report.faults == []


async def test_one_command_starts_a_cluster_and_ends_with_all_of_it(tmp_path: Path):
    command = ("weft.cli.main", "up", "--cluster", "3", "--data", str(tmp_path))
    async with started(*command) as up:
        async with asyncio.timeout(GAP_SECONDS):
            while not any("ready" in line["message"] for line in up.log):
                assert up.process.returncode is None, up.log
                await asyncio.sleep(0.1)
        messages = " ".join(line["message"] for line in up.log)
        addresses = sorted(set(re.findall(r"nats://127\.0\.0\.1:\d+", messages)))
        assert len(addresses) == 3
        async with Client(Settings(nats_url=",".join(addresses), tenant="acme")) as client:
            await first_compile(client)
            stream = await call(client.connection, f"STREAM.INFO.{STREAM}")
            assert stream["config"]["num_replicas"] == 3
        assert await up.end(signal.SIGINT) == 0
    for address in addresses:
        with pytest.raises(Unavailable):
            await connect(address, timeout=0.5)


async def test_a_process_that_starts_without_a_leader_waits_for_one(tmp_path: Path):
    async with EmbeddedCluster(tmp_path / "cluster") as cluster:
        connection = await connect(cluster.url)
        await provision(connection, "cluster")
        await connection.close()
        for node in cluster.nodes[1:]:
            await node.kill()
        async with started("weft.cli.main", "work", "firewall", WEFT_NATS_URL=cluster.url) as one:
            async with asyncio.timeout(GAP_SECONDS):
                while not one.port or "starting" not in (await one.get("/ready"))[1]:
                    await asyncio.sleep(0.1)
            # Longer than the log's API waits for an answer: it used to end then.
            await asyncio.sleep(8)
            assert one.process.returncode is None
            await asyncio.gather(*(node.start() for node in cluster.nodes[1:]))
            await one.until_ready()
            assert await one.end(signal.SIGTERM) == 0


async def test_the_doctor_names_a_node_that_is_away(tmp_path: Path):
    async with EmbeddedCluster(tmp_path / "cluster") as cluster:
        connection = await connect(cluster.url)
        await provision(connection, "cluster")
        leader = (await call(connection, f"STREAM.INFO.{STREAM}"))["cluster"]["leader"]
        await connection.close()
        names = [f"node{number}" for number in range(3)]
        lost = next(name for name in names if name != leader)
        settings = Settings(data_dir=tmp_path, nats_url=cluster.url)

        async def cluster_check() -> Check:
            return next(one for one in await examine(settings, True) if one.name == "cluster")

        assert (await cluster_check()).state == "ok"
        await cluster.nodes[names.index(lost)].kill()
        async with asyncio.timeout(GAP_SECONDS):
            while (found := await cluster_check()).state == "ok":
                await asyncio.sleep(0.5)
        assert found.state == "note"
        assert found.found == f"2 of 3 nodes that hold the log answer, not {lost}"


@pytest.mark.parametrize("way", ["killed", "cut off"])
async def test_the_gap_that_a_lost_leader_leaves(tmp_path: Path, tell, way: str):
    """Seconds without a publish and without a compile are printed; that both come back is
    asserted."""
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, clustered=True, log_file=log_file) as up,
            Client(up.settings) as client,
        ):
            gaps: list[tuple[float, float]] = []
            await first_compile(client)
            for number in range(3):
                leader = await server_of(up)
                begun = time.perf_counter()
                if way == "killed":
                    await leader.kill()
                else:
                    leader.send_signal(signal.SIGSTOP)
                sequence = await until_published(client, number)
                published = time.perf_counter() - begun
                await until_compiled(client, sequence)
                gaps.append((published, time.perf_counter() - begun))
                leader.send_signal(signal.SIGCONT)
                await asyncio.sleep(6)
    for published, compiled in gaps:
        tell(f"leader {way}: publish after {published:.1f} s, compile after {compiled:.1f} s")


async def first_compile(client: Client) -> None:
    await until_compiled(client, await until_published(client, -1))


async def until_published(client: Client, number: int) -> int:
    item = ContextItem(f"i{number}", ItemKind.TOOL_RESULT, f"All is well in round {number}.")
    async with asyncio.timeout(GAP_SECONDS):
        while True:
            try:
                return (await client.publish("s1", item)).sequence
            except WeftError:
                await asyncio.sleep(0.05)


async def until_compiled(client: Client, sequence: int) -> None:
    async with asyncio.timeout(GAP_SECONDS):
        while True:
            try:
                pack = await client.compile("s1", "answer", after=sequence, timeout=1.0)
                if not pack.pending:
                    return
            except WeftError:
                pass
            await asyncio.sleep(0.05)
