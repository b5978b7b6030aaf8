"""A steady load with kills for as many minutes as you give it: `make soak MINUTES=30`.

In the first half every process is killed, the server too; in the second only one of the two
firewalls, so that the others grow old. Prints the memory of each process and the size of the files
as it goes, at the end how they grew over the second half, and whether every promise was kept. Ends
with 1 where one was not.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

from tests.crash.checker import Attempt, faults, held_in, outcome_of
from tests.crash.killing import COUNTS, SERVER
from tests.crash.lives import settled
from tests.integration.test_supervisor_up import until_answering
from tests.soak.levels import MIB, Sample, levels, resident_bytes, size
from weft.client import Client
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import Up, running
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

PUBLISHERS = 8
PAUSE_SECONDS = 0.1
"""Of each publisher between two items: some 70 items a second in all."""
SESSION_ITEMS = 400
"""Then a publisher begins another session, as agents do."""
ASKERS = 3
KILL_SECONDS = 20.0
ONLY_VICTIM = "firewall-2"
"""In the second half."""
SAMPLE_SECONDS = 5.0
REPORTS = 20
STREAMS = {"log": "weft", "audit": "weft_audit"}


class Soak:
    """One run, and what it saw."""

    def __init__(self, up: Up, client: Client, folder: Path, minutes: float, seed: int) -> None:
        self._up, self._client, self._folder, self._seed = up, client, folder, seed
        self._begun = time.monotonic()
        self._seconds = minutes * 60
        self._sessions = [f"s{number}" for number in range(PUBLISHERS)]
        self.attempts: list[Attempt] = []
        self.samples: list[Sample] = []
        self.kills: Counter[str] = Counter()
        self.compiles: Counter[str] = Counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(PUBLISHERS):
                group.create_task(self._publish(number, random.Random(f"{self._seed}-{number}")))
            for number in range(ASKERS):
                group.create_task(self._ask(number))
            group.create_task(self._kill(random.Random(self._seed)))
            group.create_task(self._watch())

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _goes_on(self) -> bool:
        return self._elapsed() < self._seconds

    async def _publish(self, publisher: int, chance: random.Random) -> None:
        for number in count():
            if not self._goes_on():
                return
            session = f"s{publisher}-{number // SESSION_ITEMS}"
            self._sessions[publisher] = session
            kind = chance.choice([ItemKind.USER_TURN, ItemKind.TOOL_RESULT])
            text = f"{session} {number}: {chance.random()}\n" * chance.randint(1, 60)
            item = ContextItem(f"i{number}", kind, text)
            error: WeftError | None = None
            try:
                await self._client.publish(session, item)
            except WeftError as caught:
                error = caught
            self.attempts.append(Attempt(session, item, outcome_of(error)))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _ask(self, first: int) -> None:
        """Compile one session after the other; a service that was killed answers later."""
        for number in count(first):
            if not self._goes_on():
                return
            session = self._sessions[number % PUBLISHERS]
            try:
                await self._client.compile(session, "answer", query="what", timeout=0.5)
                self.compiles["answered"] += 1
            except WeftError:
                self.compiles["refused"] += 1
                await asyncio.sleep(1)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _kill(self, chance: random.Random) -> None:
        names = [SERVER, *(state.name for state in self._up.supervisor.states())]
        while self._elapsed() + KILL_SECONDS < self._seconds:
            await asyncio.sleep(KILL_SECONDS)
            early = self._elapsed() < self._seconds / 2
            name = chance.choice(names) if early else ONLY_VICTIM
            self.kills[name] += 1
            if name != SERVER:
                self._up.supervisor.kill(name)
            elif self._up.server is not None:
                await self._up.server.kill()

    async def _watch(self) -> None:
        every = max(1, round(self._seconds / REPORTS / SAMPLE_SECONDS))
        while self._goes_on():
            await asyncio.sleep(SAMPLE_SECONDS)
            self.samples.append(await asyncio.to_thread(self._sample))
            if len(self.samples) % every == 0:
                print(described(self.samples[-1]), flush=True)

    def _sample(self) -> Sample:
        pids = {state.name: state.pid for state in self._up.supervisor.states()}
        pids[SERVER] = self._up.server.pid if self._up.server else None
        memory = {name: (pid or 0, resident_bytes(pid)) for name, pid in pids.items()}
        streams = self._folder / "nats" / "jetstream" / "$G" / "streams"
        files = {name: size(streams / stream) for name, stream in STREAMS.items()}
        files["replica"] = size(self._folder / "replica")
        return Sample(self._elapsed(), len(self.attempts), memory, files)


async def soak(folder: Path, minutes: float, seed: int) -> list[str]:
    """What the checker found wrong after so many minutes."""
    with (folder / "weft.log").open("wb") as log_file:
        settings = Settings(data_dir=folder, tenant="acme")
        async with running(settings, COUNTS, log_file=log_file) as up, Client(up.settings) as c:
            await until_answering(c)
            run = Soak(up, c, folder, minutes, seed)
            await run.run()
            with Reader(folder) as reader:
                await settled(c.connection, reader)
                outcomes = Counter(attempt.outcome for attempt in run.attempts)
                print(f"publishes {dict(outcomes)}; compiles {dict(run.compiles)}")
                print(f"killed {dict(run.kills)}; over the second half:")
                print("\n".join(map(str, levels(run.samples))))
                return faults(run.attempts, held_in(reader.model().db))


def described(sample: Sample) -> str:
    """Items published, MiB of memory per process, MiB of files."""
    memory = " ".join(f"{name} {held // MIB}" for name, (_, held) in sorted(sample.memory.items()))
    files = " ".join(f"{name} {held // MIB}" for name, held in sample.files.items())
    return f"{sample.items} items; MiB of memory: {memory}; of files: {files}"


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
