"""The steps by which the documents make a cluster, run word for word on one machine: only names and
ports of the three machines, and where they keep their data, are this machine's."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.data import ROOT

from weft.log.api import call
from weft.log.transport import connect
from weft.supervision.embedded_server import find_binary
from weft.supervision.reserved_ports import Port

NODES = ("nats-1", "nats-2", "nats-3")
PATIENCE = 120.0


def steps() -> dict[str, list[str]]:
    """The documented lines, by the comment that says where to run them."""
    text = (ROOT / "docs" / "operations.md").read_text()
    block = re.search(r"A cluster, from nothing.*?```sh\n(.*?)```", text, re.S)
    assert block
    found: dict[str, list[str]] = {}
    for line in block[1].splitlines():
        if line.startswith("# "):
            found[line] = []
        else:
            found[list(found)[-1]].append(line)
    return found


def script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def machines(tmp_path: Path) -> dict[str, int]:
    """Folders of three machines whose commands find one another; gives the ports of clients."""
    kept = [Port() for _ in range(9)]
    ports = [port.number for port in kept]
    clients, routes = dict(zip(NODES, ports, strict=False)), ports[3:6]
    commands = tmp_path / "bin"
    commands.mkdir()
    known = ",".join(f"nats://route:$WEFT_ROUTE_PASSWORD@127.0.0.1:{port}" for port in routes)
    for place, name in enumerate(NODES):
        machine = tmp_path / name
        shutil.copytree(ROOT / "deploy", machine / "deploy")
        config = machine / "deploy" / "nats" / "cluster.conf"
        config.write_text(config.read_text().replace("/data", str(machine / "data")))
        (machine / "bin").mkdir()
        script(
            machine / "bin" / "nats-server",
            f'exec {find_binary()} "$@" -a 127.0.0.1 -p {clients[name]} -m {ports[6 + place]} '
            f"--routes {known} --cluster nats://127.0.0.1:{routes[place]}",
        )
    there = ",".join(f"nats://127.0.0.1:{port}" for port in clients.values())
    python = f"{sys.executable} -m weft.cli.main"
    script(
        tmp_path / "nats-1" / "bin" / "weft",
        f'shift; shift; exec {python} provision "--nats={there}"',
    )
    return clients


def run(folder: Path, lines: list[str], **options: object) -> subprocess.Popen[bytes]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    environ["PATH"] = f"{folder / 'bin'}:{environ['PATH']}"
    command = ["sh", "-ec", "\n".join(lines)]
    return subprocess.Popen(command, cwd=folder, env=environ, start_new_session=True)


async def test_the_documented_steps_make_a_cluster_that_holds_the_log(
    tmp_path: Path, machines: dict[str, int]
) -> None:
    on_one, on_each, once = steps().values()
    assert run(tmp_path / "nats-1", on_one).wait(PATIENCE) == 0
    for name in NODES[1:]:
        shutil.copy(tmp_path / "nats-1" / ".env", tmp_path / name)
    nodes = [
        run(tmp_path / name, [line.replace("nats-1", name) for line in on_each]) for name in NODES
    ]
    try:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while await asyncio.to_thread(run(tmp_path / "nats-1", once).wait, PATIENCE):
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.5)  # no leader yet
        environ = dict(
            line.split("=", 1) for line in (tmp_path / "nats-1" / ".env").read_text().splitlines()
        )
        url = f"nats://127.0.0.1:{machines['nats-2']}"
        log = await connect(url, user="admin", password=environ["WEFT_ADMIN_PASSWORD"])
        try:
            info = await call(log, "STREAM.INFO.weft")
        finally:
            await log.close()
        assert info["config"]["num_replicas"] == 3
    finally:
        for node in nodes:
            os.killpg(node.pid, signal.SIGKILL)
            node.wait()
