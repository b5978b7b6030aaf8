"""Processes that die where they are told to, one point after the other, and then live."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.crash.load import TENANT
from tests.integration.indexer_process import folded
from tests.integration.logged import unfinished
from tests.integration.processes import started
from weft.client import Client
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import last_sequence
from weft.log.topology import SECOND, WORKERS, desired
from weft.readmodel.generations import Reader
from weft.runtime.crashpoints import VARIABLE
from weft.runtime.settings import Settings
from weft_schemas.errors import Unavailable, WeftError
from weft_schemas.subjects import STREAM

PATIENCE = 600.0
"""Seconds that a test waits for what has to come. All services share the machine, and some wait for
another's lives: nothing is compiled before the indexer outlives its last death."""
SERVICES = ("firewall", "summarizer", "memory", "indexer", "compiler")
ACK_WAIT_SECONDS = 2
"""Instead of ten, so that what a dead process held comes soon. It is less than a living process
needs to say that it is alive, so only for tests in which each event meets few deaths."""

Command = tuple[str, ...]


def work(service: str) -> Command:
    return ("weft.cli.main", "work", service)


async def die(command: Command, point: str, hits: int, environ: Mapping[str, str]) -> None:
    """Run until the process kills itself at the point; fails where it never passes there."""
    armed = {VARIABLE: f"{point}:{hits}"}
    async with started(*command, **environ, **armed) as process:
        try:
            async with asyncio.timeout(PATIENCE):
                await process.process.wait()
        except TimeoutError:
            pytest.fail(f"{point} was passed less than {hits} times: {process.log[-6:]}")
        assert await process.gone() == -signal.SIGKILL, (point, process.log[-3:])


async def live(
    command: Command,
    deaths: Sequence[str],
    environ: Mapping[str, str],
    hit: list[str],
    is_forked: bool,
) -> None:
    """Die at each of the points, then run until cancelled. `hit` gets the points as they are."""
    for point in deaths:
        await die(command, point, 1 if point.startswith(("indexer", "compiler")) else 4, environ)
        hit.append(point)
    async with started(*command, is_forked=is_forked, **environ) as process:
        await process.process.wait()
        pytest.fail(f"{command} ended: {process.log[-3:]}")


@contextlib.asynccontextmanager
async def living(
    url: str,
    data_dir: Path,
    deaths: Mapping[str, Sequence[str]],
    commands: Mapping[str, Command] = {},
    is_forked: bool = False,
) -> AsyncIterator[list[str]]:
    """Every service over its lives, and somebody who asks for a compile all the time; gives the
    list of points that killed, as it grows. One that does not die is started for real, with a hash
    seed of its own, unless `is_forked`."""
    environ = {"WEFT_NATS_URL": url, "WEFT_DATA_DIR": str(data_dir)}
    hit: list[str] = []
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                live(
                    commands.get(service, work(service)),
                    points := deaths.get(service, ()),
                    environ,
                    hit,
                    is_forked or bool(points),
                )
            )
            for service in SERVICES
        ]
        tasks.append(group.create_task(asking(url)))
        yield hit
        for task in tasks:
            task.cancel()


async def asking(url: str) -> None:
    """Ask for compiles for ever; while nobody answers, ask again."""
    async with Client(Settings(nats_url=url, tenant=TENANT)) as client:
        while True:
            with contextlib.suppress(WeftError):
                await client.compile("tools", "answer", timeout=0.2)
            await asyncio.sleep(0.1)


async def hurry(log: Connection) -> None:
    """Redeliver soon what a dead process held."""
    for durable in WORKERS:
        config = desired().consumers[durable] | {"ack_wait": ACK_WAIT_SECONDS * SECOND}
        verb = f"CONSUMER.CREATE.{STREAM}.{durable}.{config['filter_subject']}"
        await call(log, verb, {"stream_name": STREAM, "config": config})


async def settled(log: Connection, reader: Reader) -> None:
    """Wait until every worker has finished everything and the read model has it all."""
    async with asyncio.timeout(PATIENCE):
        while not await finished(log):
            await asyncio.sleep(0.1)
    await folded(log, reader)


async def finished(log: Connection) -> bool:
    """Whether every worker has finished everything; not while nobody answers for the log."""
    try:
        last = await last_sequence(log)
        left = [await unfinished(log, durable) for durable in WORKERS]
        return not any(left) and await last_sequence(log) == last
    except Unavailable:
        return False
