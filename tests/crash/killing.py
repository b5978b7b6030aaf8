"""Load and random SIGKILLs side by side, and what the publishers were told."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path

from tests.crash.checker import Attempt, faults, held_in, outcome_of
from tests.crash.lives import settled
from tests.integration.preloaded import shared_preloaded
from tests.leader import leader_of
from weft.client import Client
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.transport import connect
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import EVERYTHING, Up, running
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

SERVER = "nats-server"
COUNTS = {**EVERYTHING, "firewall": 2}
ELECTION_SECONDS = 60.0
"""A test gives up where there is no leader after so long."""
CUT_OFF_SECONDS = 8.0
"""Above the six seconds after which a client leaves a silent server, and any election."""


class Report:
    """What was done and what came of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.kills: dict[str, int] = {}
        self.attempts: list[Attempt] = []
        self.refusals: Counter[str] = Counter()
        self.faults: list[str] = []
        self.longest_wait = 0.0
        """Seconds from the storing of an item to that of what settled it, at most."""

    def __str__(self) -> str:
        outcomes = [attempt.outcome for attempt in self.attempts]
        counted = ", ".join(f"{outcomes.count(one)} {one}" for one in sorted(set(outcomes)))
        counted += f" {dict(self.refusals)}" if self.refusals else ""
        killed = ", ".join(f"{name} {count}x" for name, count in sorted(self.kills.items()))
        verdict = f"{len(self.faults)} faults" if self.faults else "no fault"
        waited = f"an item waited {self.longest_wait:.1f} s at most"
        return f"seed {self.seed}: {counted}; killed {killed}; {waited}: {verdict}"


async def kill_under_load(
    folder: Path,
    seed: int,
    *,
    sessions: int,
    items: int,
    kills: int,
    pause: float,
    clustered: bool = False,
    only: str = "",
    cut_off: bool = False,
) -> Report:
    """Publish `items` into each of so many sessions at once while `kills` processes are killed
    (`only` those of this name), `pause` seconds apart on average; then wait until all is settled,
    and check. With `cut_off` a server is not killed but frozen for `CUT_OFF_SECONDS`."""
    report, chance = Report(seed), random.Random(seed)
    settings = Settings(data_dir=folder, tenant="acme")
    with (folder / "weft.log").open("wb") as log_file:
        async with running(
            settings, COUNTS, clustered=clustered, log_file=log_file, preloaded=shared_preloaded()
        ) as up:
            log = await connect(up.settings.nats_url)
            # A publisher that finds no server when it starts is told so, which nobody doubts.
            connected = asyncio.Barrier(sessions + 1)
            async with asyncio.TaskGroup() as group:
                for number in range(sessions):
                    own = random.Random(f"{seed}-{number}")
                    rate = kills * pause / items
                    publishing = publish(up, report, f"s{number}", items, rate, own, connected)
                    group.create_task(publishing)
                await connected.wait()
                group.create_task(kill(up, report, chance, kills, pause, only, cut_off))
            with Reader(folder) as reader:
                await settled(log, reader)
                report.faults = faults(report.attempts, held_in(reader.model().db))
            report.longest_wait = await longest_wait(log)
            await log.close()
    return report


async def publish(
    up: Up,
    report: Report,
    session: str,
    items: int,
    rate: float,
    chance: random.Random,
    connected: asyncio.Barrier,
) -> None:
    """One publisher of one session, which takes what it is told and never tries again itself."""
    kinds = [ItemKind.USER_TURN, ItemKind.TOOL_RESULT]
    async with Client(up.settings) as client:
        await connected.wait()
        for number in range(items):
            text = f"{session} {number}: {chance.random()}\n" * chance.randint(1, 40)
            item = ContextItem(f"i{number}", chance.choice(kinds), text)
            error: WeftError | None = None
            try:
                await client.publish(session, item)
            except WeftError as caught:
                error = caught
                report.refusals[str(caught)] += 1
            report.attempts.append(Attempt(session, item, outcome_of(error)))
            await asyncio.sleep(rate * chance.uniform(0.5, 1.5))


async def kill(
    up: Up,
    report: Report,
    chance: random.Random,
    kills: int,
    pause: float,
    only: str,
    cut_off: bool,
) -> None:
    """SIGKILL all processes in random order, the nats-server among them, again and again."""
    names = [only] if only else [SERVER, *(state.name for state in up.supervisor.states())]
    for number in range(kills):
        if number % len(names) == 0:
            chance.shuffle(names)
        name = names[number % len(names)]
        await asyncio.sleep(pause * chance.uniform(0.5, 1.5))
        report.kills[name] = report.kills.get(name, 0) + 1
        if name == SERVER and cut_off:
            await cut(await server_of(up))
        elif name == SERVER:
            await (await server_of(up)).kill()
        else:
            up.supervisor.kill(name)


async def cut(server: EmbeddedServer) -> None:
    """As a broken network does: its sockets stay, it answers nobody, and comes back as it was."""
    server.send_signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(CUT_OFF_SECONDS)
    finally:
        server.send_signal(signal.SIGCONT)


async def longest_wait(log: Connection) -> float:
    """Seconds from an item to its first envelope, by the server's clock."""
    stored: dict[int, int] = {}
    longest = 0
    async for record in read_matching(log, ">"):
        stored[record.sequence] = record.published_ns
        if record.subject.endswith(".envelope"):
            # The first takes it out; a second, of a crash, settles nothing.
            source = record.event().origin.sequence
            begun = stored.pop(source, record.published_ns)
            longest = max(longest, record.published_ns - begun)
    return longest / 1e9


async def server_of(up: Up) -> EmbeddedServer:
    """The server; of a cluster the node that leads the log, when one does."""
    if up.cluster is None:
        assert up.server is not None
        return up.server
    return await leader_of(up.cluster, ELECTION_SECONDS)
