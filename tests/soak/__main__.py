"""A steady load with kills for as many minutes as you give it: `make soak MINUTES=30`.

Prints, every so often, the memory of each process and the size of the files; at the end whether
every promise was kept. Ends with 1 where one was not.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tests.crash.checker import Attempt, faults, held_in, outcome_of
from tests.crash.killing import COUNTS, SERVER
from tests.crash.lives import settled
from tests.integration.test_supervisor_up import until_answering
from weft.client import Client
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.runtime.up import Up, running
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

SESSIONS = 8
PAUSE_SECONDS = 0.1
"""Of each session's publisher between two items: some 80 items a second in all."""
KILL_SECONDS = 20.0
REPORTS = 20
MIB = 1024 * 1024


async def soak(folder: Path, minutes: float, seed: int) -> list[str]:
    """What the checker found wrong after so many minutes."""
    attempts: list[Attempt] = []
    end = time.monotonic() + minutes * 60
    with (folder / "weft.log").open("wb") as log_file:
        settings = Settings(data_dir=folder, tenant="acme")
        async with running(settings, COUNTS, log_file=log_file) as up, Client(up.settings) as c:
            await until_answering(c)
            chance = random.Random(seed)
            async with asyncio.TaskGroup() as group:
                for number in range(SESSIONS):
                    own = random.Random(f"{seed}-{number}")
                    group.create_task(publish(c, f"s{number}", own, attempts, end))
                group.create_task(ask(c, end))
                group.create_task(kill(up, chance, end))
                group.create_task(report(up, folder, lambda: len(attempts), minutes, end))
            with Reader(folder) as reader:
                await settled(c.connection, reader)
                print(figures(up, folder, len(attempts)))
                return faults(attempts, held_in(reader.model().db))


async def publish(
    client: Client, session: str, chance: random.Random, attempts: list[Attempt], end: float
) -> None:
    for number in count():
        if time.monotonic() > end:
            return
        kind = chance.choice([ItemKind.USER_TURN, ItemKind.TOOL_RESULT])
        text = f"{session} {number}: {chance.random()}\n" * chance.randint(1, 60)
        item = ContextItem(f"i{number}", kind, text)
        error: WeftError | None = None
        try:
            await client.publish(session, item)
        except WeftError as caught:
            error = caught
        attempts.append(Attempt(session, item, outcome_of(error)))
        await asyncio.sleep(PAUSE_SECONDS)


async def ask(client: Client, end: float) -> None:
    """Compile one session after the other; a service that was killed answers later."""
    for number in count():
        if time.monotonic() > end:
            return
        try:
            await client.compile(f"s{number % SESSIONS}", "answer", query="what", timeout=0.5)
        except WeftError:
            await asyncio.sleep(1)
        await asyncio.sleep(PAUSE_SECONDS)


async def kill(up: Up, chance: random.Random, end: float) -> None:
    names = [SERVER, *(state.name for state in up.supervisor.states())]
    while time.monotonic() + KILL_SECONDS < end:
        await asyncio.sleep(KILL_SECONDS)
        name = chance.choice(names)
        print(f"  killed {name}", flush=True)
        if name != SERVER:
            up.supervisor.kill(name)
        elif up.server is not None:
            await up.server.kill()


async def report(up: Up, folder: Path, done: Callable[[], int], minutes: float, end: float) -> None:
    while time.monotonic() < end:
        await asyncio.sleep(minutes * 60 / REPORTS)
        print(figures(up, folder, done()), flush=True)


def figures(up: Up, folder: Path, items: int) -> str:
    """Items published, MiB of memory per process, MiB of files."""
    pids = {state.name: state.pid for state in up.supervisor.states()}
    pids[SERVER] = up.server.pid if up.server else None
    memory = " ".join(f"{name} {resident_mib(pid)}" for name, pid in sorted(pids.items()))
    files = " ".join(f"{name} {size_mib(folder / name)}" for name in ("nats", "replica"))
    return f"{items} items; MiB of memory: {memory}; of files: {files}"


def resident_mib(pid: int | None) -> int | str:
    """What a process has in memory, `-` where there is none at the moment."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return "-"
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), "-")


def size_mib(folder: Path) -> int:
    """Of all files under a folder; one that vanishes meanwhile counts for nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total // MIB


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1_000_000)
    print(f"{minutes:g} minutes, seed {seed}")
    with tempfile.TemporaryDirectory(prefix="weft-soak-") as name:
        found = asyncio.run(soak(Path(name), minutes, seed))
    print("\n".join(found) or "no fault")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
