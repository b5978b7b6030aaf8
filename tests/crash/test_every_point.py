"""Every process dies at every point between two of its steps; afterwards the read model is that
of a run that nobody disturbed."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from tests.crash import load
from tests.crash.lives import PATIENCE, SERVICES, die, hurry, living, settled
from tests.integration.conftest import empty
from weft.log.connection import Connection
from weft.log.topology import provision
from weft.readmodel.digest import content_digest, session_digests
from weft.readmodel.generations import Reader
from weft.runtime.crashpoints import POINTS

PUBLISHER = "publisher"


def deaths() -> dict[str, list[str]]:
    """Process → the points at which it dies."""
    return {
        process: [point for point in POINTS if point.startswith(f"{process}.")]
        for process in (*SERVICES, PUBLISHER)
    }


class Left(NamedTuple):
    """What a run left: where two runs differ, its parts say in what."""

    parked: list[tuple]
    sessions: list[tuple[str, str, str]]
    digest: str


async def left_of_a_run(url: str, log: Connection, data_dir: Path, planned: dict) -> Left:
    """Publish the load while every process dies as planned; what is left of it."""
    await hurry(log)
    for point in planned.get(PUBLISHER, ()):
        await die(("tests.crash.load", url), point, 1, {})
    await load.publish(url)
    expected = sorted(point for name in SERVICES for point in planned.get(name, ()))
    async with living(url, data_dir, planned) as hit:
        while sorted(hit) != expected:
            await next_death(hit)
        with Reader(data_dir) as reader:
            await settled(log, reader)
            db = reader.model().db
            parked = db.execute("SELECT * FROM parked").fetchall()
            return Left(parked, session_digests(db), content_digest(db))


async def next_death(hit: list[str]) -> None:
    """A process starts again for each, and all of them share the machine."""
    before = len(hit)
    async with asyncio.timeout(PATIENCE):
        while len(hit) == before:
            await asyncio.sleep(0.1)


async def test_a_crash_at_every_point_leaves_the_read_model_of_an_undisturbed_run(
    server, log: Connection, tmp_path: Path, tell
):
    undisturbed = await left_of_a_run(server.url, log, tmp_path / "undisturbed", {})
    await empty(log)
    await provision(log)
    planned = deaths()
    assert sorted(point for points in planned.values() for point in points) == sorted(POINTS)
    crashed = await left_of_a_run(server.url, log, tmp_path / "crashed", planned)
    tell(f"{len(POINTS)} crash points, each passed and died at; digest {crashed.digest[:12]}")
    assert crashed == undisturbed
