"""A replica takes requests when it has caught up with the log, and another answers meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.integration.fleet import REPLICA, Fleet, descendants, service_of
from tests.integration.folding import folding
from tests.integration.logged import PATIENCE, publish

from weft.client import Client
from weft.log.connection import Connection
from weft.replica_service.request_group import RequestGroup
from weft.runtime.process import Process
from weft.runtime.replica import Replica
from weft.runtime.request_server import RequestServer
from weft.runtime.settings import Settings
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

EVENTS = 12_000
"""Some three seconds to fold."""
SESSIONS = 12


def turns(count: int, first: int = 0) -> list[ContextItem]:
    return [
        ContextItem(f"i{first + n}", ItemKind.USER_TURN, f"turn {first + n} of a long session")
        for n in range(count)
    ]


async def test_a_replica_that_builds_takes_no_requests(server, log: Connection, tmp_path: Path):
    """Every answer, of requests that wait for nothing, is of the whole log."""
    async with (
        Fleet(server.url, tmp_path) as fleet,
        Client(Settings(nats_url=server.url, tenant="acme")) as client,
    ):
        await fleet.add("replica-a", REPLICA)
        acks = [await client.publish(f"s{n}", turns(EVENTS // SESSIONS)) for n in range(SESSIONS)]
        last = acks[-1].sequence
        for n in range(SESSIONS):
            await client.compile(f"s{n}", "answer", after=last, timeout=PATIENCE / 2)
        answers: list[int] = []
        refusals: list[str] = []
        adding = asyncio.create_task(fleet.add("replica-b", REPLICA))
        asked = 0
        while not adding.done():
            asked += 1
            try:
                name = f"s{asked % SESSIONS}"
                pack = await client.compile(name, "route", budget=500, timeout=0.0)
            except WeftError as error:
                refusals.append(str(error))
            else:
                answers.append(pack.sequence)
            await asyncio.sleep(0.01)
        await adding
        assert refusals == []
        assert len(answers) > 20
        assert min(answers) >= last
        # Alone it answers, of the whole log as well.
        await fleet.remove("replica-a", signal.SIGTERM)
        assert (await client.compile("s1", "answer")).sequence >= last


async def test_one_is_ready_once_it_takes_requests(log: Connection, tmp_path: Path):
    await publish(log, "s", turns(3))
    process = Process("compiler", Settings(data_dir=tmp_path))
    process.connection = log
    requests = RequestServer(process, "compiler", joins=False)
    async with folding(log, tmp_path), Replica(tmp_path) as replica:
        keeping = asyncio.create_task(RequestGroup(process, replica, requests).keep())
        async with asyncio.timeout(PATIENCE):
            while process.complaint() is not None:
                assert not keeping.done()
                await asyncio.sleep(0)
        assert process.answers
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_one_that_falls_behind_leaves_the_requests_to_another_and_comes_back(
    server, log: Connection, tmp_path: Path
):
    async with (
        Fleet(server.url, tmp_path) as fleet,
        Client(Settings(nats_url=server.url, tenant="acme")) as client,
    ):
        await client.publish("s", turns(10))
        await fleet.add("replica-a", REPLICA)
        held_up = await fleet.add("replica-b", REPLICA)
        pids = descendants(held_up.process.pid)
        running = {service_of(pid): pid for pid in pids}
        await _until(client, running["weft-compiler"], answers=True)
        os.kill(running["weft-indexer"], signal.SIGSTOP)
        try:
            last = (await client.publish("s", turns(10, 10))).sequence
            await _until(client, running["weft-compiler"], answers=False)
            packs = [await client.compile("s", "answer") for _ in range(30)]
            assert min(pack.sequence for pack in packs) >= last
        finally:
            os.kill(running["weft-indexer"], signal.SIGCONT)
        await _until(client, running["weft-compiler"], answers=True)


async def _until(client: Client, compiler: int, answers: bool) -> None:
    """Wait until this process itself says whether it takes requests: on a busy machine its reply to
    a roll call may come too late."""
    async with asyncio.timeout(PATIENCE):
        while (compiler, answers) not in [
            (one.pid, one.answers) for one in await client.processes()
        ]:
            await asyncio.sleep(0.2)
