"""The shipped cluster configuration: three nodes that find one another, with its permissions."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.guarded import install, password

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import find_binary
from weft.supervision.reserved_ports import Port
from weft_schemas.errors import NotFound, Overloaded, Unavailable
from weft_schemas.subjects import item_subject

NODES = ("nats-1", "nats-2", "nats-3")
PATIENCE = 120.0


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Three nodes on loopback from `cluster.conf`; only addresses and folders differ from it."""
    install(tmp_path, monkeypatch)
    monkeypatch.setenv("WEFT_ROUTE_PASSWORD", "p-route")
    kept = [Port() for _ in range(9)]
    ports = [port.number for port in kept]
    clients, routes, monitors = ports[:3], ports[3:6], ports[6:]
    known = ",".join(f"nats://route:p-route@127.0.0.1:{port}" for port in routes)
    shipped = (tmp_path / "cluster.conf").read_text()
    nodes = []
    for place, name in enumerate(NODES):
        config = tmp_path / f"{name}.conf"
        config.write_text(shipped.replace("/data", str(tmp_path / name)))
        command = [find_binary(), "-c", config, "-a", "127.0.0.1"]
        command += ["-p", str(clients[place]), "-m", str(monitors[place])]
        command += ["--routes", known, "--cluster", f"nats://127.0.0.1:{routes[place]}"]
        with (tmp_path / f"{name}.log").open("wb") as log:
            environ = os.environ | {"WEFT_NODE": name}
            nodes.append(subprocess.Popen(command, env=environ, stderr=log))
    yield ",".join(f"nats://127.0.0.1:{port}" for port in clients)
    for node in nodes:
        node.kill()
        node.wait()


async def provision_when_led(admin: Connection) -> None:
    """Provision, once the nodes have a leader."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            await provision(admin, "cluster")
            return
        except (Unavailable, Overloaded, NotFound):
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.2)


async def placed(admin: Connection) -> dict[str, Any]:
    """The log's stream, once it has a leader and two followers."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(Unavailable):
                info = await call(admin, "STREAM.INFO.weft")
                cluster = info.get("cluster", {})
                if cluster.get("leader") and len(cluster.get("replicas") or ()) == 2:
                    return info
            await asyncio.sleep(0.2)


async def answering(url: str, user: str) -> Connection:
    """A connection, once a node answers."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while True:
        try:
            return await connect(url, user=user, password=password(user))
        except Unavailable:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.2)


async def test_three_nodes_hold_the_log_and_keep_its_permissions(cluster):
    admin, agent = await answering(cluster, "admin"), await answering(cluster, "acme-agent")
    try:
        await provision_when_led(admin)
        async with Publisher(agent) as publisher:
            ack = await publisher.publish(item_subject("acme", "s1", "user_turn"), b"{}", "m1")
        info = await placed(admin)
    finally:
        await agent.close()
        await admin.close()
    assert ack.sequence == 1
    assert info["config"]["num_replicas"] == 3
    assert {info["cluster"]["leader"], *(node["name"] for node in info["cluster"]["replicas"])} == {
        *NODES
    }
