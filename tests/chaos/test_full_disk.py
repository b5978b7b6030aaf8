"""The disk of the log is full: publishers are told so, what is stored stays, and when
there is room again all goes on without a hand."""

import asyncio
import contextlib
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.checker import Attempt, Outcome, faults, held_in, outcome_of
from tests.crash.lives import settled
from tests.integration.test_supervisor_up import until_answering
from weft.client import Client
from weft.log.bodies import Bodies
from weft.log.publishing import Publisher
from weft.log.reading import state
from weft.log.topology import BODIES_STREAM, provision
from weft.log.transport import connect
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import EVERYTHING, running
from weft_schemas.errors import Overloaded, Unavailable, WeftError
from weft_schemas.items import ContextItem, ItemKind

pytestmark = pytest.mark.slow

DISK_MIB = 64
BALLAST_MIB = 40
PATIENCE = 120.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own for the log, `DISK_MIB` large."""
    folder = tmp_path / "nats"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_a_full_disk_refuses_and_keeps_and_passes(tmp_path: Path, small_disk: Path, tell):
    ballast = small_disk / "ballast"
    attempts: list[Attempt] = []
    refusals: list[WeftError] = []
    waited: list[float] = []
    with (tmp_path / "weft.log").open("wb") as log_file:
        settings = Settings(data_dir=tmp_path, tenant="acme")
        async with running(settings, EVERYTHING, log_file=log_file) as up, Client(up.settings) as c:
            await until_answering(c)
            ballast.write_bytes(b"x" * BALLAST_MIB * 1024 * 1024)

            async def publish(number: int) -> Outcome:
                item = ContextItem(f"i{number}", ItemKind.TOOL_RESULT, f"{number} " * 50_000)
                error: WeftError | None = None
                begun = time.monotonic()
                try:
                    await asyncio.wait_for(c.publish("s1", item), 30)
                except WeftError as caught:
                    error = caught
                    refusals.append(caught)
                    waited.append(time.monotonic() - begun)
                attempts.append(Attempt("s1", item, outcome_of(error)))
                return attempts[-1].outcome

            number = 0
            while await publish(number) == "acknowledged":
                number += 1
            folded = (await c.status("s1")).items
            compiled = await compile_or_refusal(c)
            ballast.unlink()
            async with asyncio.timeout(PATIENCE):
                while await publish(number := number + 1) != "acknowledged":
                    await asyncio.sleep(0.5)
            with Reader(tmp_path) as reader:
                await settled(c.connection, reader)
                found = faults(attempts, held_in(reader.model().db))
    outcomes = [attempt.outcome for attempt in attempts]
    tell(f"{outcomes.count('acknowledged')} acknowledged, then refused:")
    for error, seconds in zip(refusals, waited, strict=True):
        tell(f"after {seconds:.1f} s: {error}")
    assert folded
    assert compiled
    assert found == []
    assert all(error.retryable for error in refusals)
    # It is told the likely cause, before the time is up after which a publish is only unknown.
    assert "no space left on device" in str(refusals[0])


async def test_a_log_larger_than_what_is_free_goes_on_after_a_restart(small_disk: Path) -> None:
    """Left to itself the server takes three quarters of what is free when it starts, its own log
    not counted: half a disk of events would be refused every further one."""
    megabyte = random.Random(40)
    async with EmbeddedServer(small_disk) as server:
        log = await connect(server.url)
        await provision(log)
        async with Publisher(log) as publisher:
            bodies = Bodies(log, publisher, "acme")
            for _ in range(DISK_MIB // 2):
                await bodies.put(megabyte.randbytes(1 << 20))
            await server.restart()
            for _ in range(DISK_MIB // 4):
                await bodies.put(megabyte.randbytes(1 << 20))
        assert (await state(log, BODIES_STREAM)).bytes > DISK_MIB * 3 / 4 * (1 << 20)
        await log.close()


async def test_a_server_does_not_start_on_a_full_disk_and_says_why(small_disk: Path) -> None:
    async with EmbeddedServer(small_disk) as server:
        port = server.port
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    with pytest.raises(Unavailable, match=r"the disk of .* is full: make room"):
        await EmbeddedServer(small_disk, port).start()
    ballast.unlink()
    async with EmbeddedServer(small_disk, port):
        pass


async def compile_or_refusal(client: Client) -> bool:
    """Each compile is recorded, so without room for that it is refused, as retryable."""
    try:
        return (await client.compile("s1", "answer", timeout=0.5)).sequence > 0
    except (Overloaded, Unavailable):
        return True
