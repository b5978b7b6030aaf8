"""Replicas and firewalls come and go under load: nothing is lost or doubled, every compile that
fails may be tried again, and whoever answers gives the same pack at the same sequence."""

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path

from tests.crash.checker import Attempt, faults, held_in, outcome_of
from tests.crash.test_random_kills import seed
from tests.integration.fleet import FIREWALL, REPLICA, Fleet
from tests.integration.indexer_process import folded
from tests.integration.logged import until_finished

from weft.client import Client
from weft.client.pack import Pack
from weft.log.connection import Connection
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft_schemas.errors import WeftError
from weft_schemas.items import ContextItem, ItemKind

PUBLISHERS = 6
"""Three at a time is the most firewalls that there are."""
PAUSE_SECONDS = 0.4
LONG = "a line of a long result that takes a firewall a while\n" * 2_000
MOST_SECONDS = 300.0
"""Until the test gives up; some 30 on two idle cores."""
MOST_MIB = 300
"""Of any process; at rest they have about a hundred."""
ASKED_AGAIN = 10
"""Packs of the load, at most, that each replica is asked for again."""


class Load:
    """What publishers and askers did, and were told."""

    def __init__(self, url: str, seed: int) -> None:
        self._settings = Settings(nats_url=url, tenant="acme")
        self._seed = seed
        self.stop = asyncio.Event()
        self.attempts: list[Attempt] = []
        self.packs: list[Pack] = []
        self.refusals: list[WeftError] = []

    async def publisher(self, number: int) -> None:
        """Publishes, and asks for a context that holds what it just published. The first one's
        results are long."""
        chance = random.Random(f"{self._seed}-{number}")
        session, count = f"s{number}", 0
        async with Client(self._settings) as client:
            while not self.stop.is_set():
                kind = chance.choice([ItemKind.USER_TURN, ItemKind.TOOL_RESULT])
                text = f"{session} {count}: {chance.random()}\n" * chance.randint(1, 40)
                text = text + LONG if number == 0 else text
                item = ContextItem(f"i{count}", kind, text)
                await self._publish_and_compile(client, session, item, count % 4 == 0)
                count += 1
                await asyncio.sleep(PAUSE_SECONDS * chance.uniform(0.5, 1.5))

    async def _publish_and_compile(
        self, client: Client, session: str, item: ContextItem, compiled: bool
    ) -> None:
        error: WeftError | None = None
        try:
            ack = await client.publish(session, item)
            if compiled:
                await self._compile(client, session, ack.sequence)
        except WeftError as caught:
            error = caught
        self.attempts.append(Attempt(session, item, outcome_of(error)))

    async def _compile(self, client: Client, session: str, sequence: int) -> None:
        """Until somebody answers, as an agent would; a refusal that forbids that is a fault."""
        while True:
            try:
                pack = await client.compile(session, "answer", query="line", after=sequence)
            except WeftError as error:
                self.refusals.append(error)
                if not error.retryable:
                    return
                await asyncio.sleep(0.1)
            else:
                self.packs.append(pack)
                return


async def come_and_go(fleet: Fleet) -> None:
    """Every kind of member is added, asked to end, and killed, while others go on."""
    await fleet.add("replica-b", REPLICA)
    await fleet.remove("replica-a", signal.SIGTERM)
    await fleet.add("firewall-2", FIREWALL)
    await fleet.remove("firewall-1", signal.SIGKILL)
    await fleet.add("replica-c", REPLICA)
    await fleet.remove("replica-b", signal.SIGKILL)
    await fleet.add("firewall-3", FIREWALL)
    await fleet.remove("firewall-2", signal.SIGTERM)
    await fleet.add("replica-a", REPLICA)  # on the folder that it left


async def digest_and_faults(
    fleet: Fleet, log: Connection, name: str, attempts: list[Attempt]
) -> tuple[str, list[str]]:
    with Reader(fleet.data_dir(name)) as reader:
        await folded(log, reader)
        db = reader.model().db
        return content_digest(db), faults(attempts, held_in(db))


async def compiled_otherwise(client: Client, packs: list[Pack]) -> list[str]:
    """Which of these packs whoever answers now makes otherwise at the same sequence."""
    found = []
    for pack in packs:
        again = await client.compile(
            pack.session, "answer", query="line", as_of=pack.sequence, timeout=60.0
        )
        if again.digest != pack.digest:
            found.append(f"{pack.session} at {pack.sequence}: {pack.digest} is {again.digest}")
    return found


async def test_replicas_and_firewalls_are_added_and_removed_under_load(
    server, log: Connection, tmp_path: Path, tell
):
    load = Load(server.url, chosen := seed())
    async with Fleet(server.url, tmp_path) as fleet, asyncio.timeout(MOST_SECONDS):
        await fleet.add("firewall-1", FIREWALL)
        await fleet.add("replica-a", REPLICA)
        async with asyncio.TaskGroup() as group:
            for number in range(PUBLISHERS):
                group.create_task(load.publisher(number))
            await come_and_go(fleet)
            load.stop.set()
        await until_finished(log)
        ends = [
            await digest_and_faults(fleet, log, name, load.attempts)
            for name in ("replica-a", "replica-c")
        ]
        # Most of these were answered by a replica that is gone; each that is left is asked alone.
        packs = random.Random(chosen).sample(load.packs, min(ASKED_AGAIN, len(load.packs)))
        async with Client(Settings(nats_url=server.url, tenant="acme")) as client:
            await fleet.add("replica-d", REPLICA)
            ends.append(await digest_and_faults(fleet, log, "replica-d", load.attempts))
            otherwise = await compiled_otherwise(client, packs)
            await fleet.remove("replica-a", signal.SIGTERM)
            await fleet.remove("replica-c", signal.SIGTERM)
            otherwise += await compiled_otherwise(client, packs)
    outcomes = Counter(attempt.outcome for attempt in load.attempts)
    refused = Counter(str(error) for error in load.refusals)
    tell(f"seed {chosen}: {dict(outcomes)}, {len(load.packs)} packs, {'; '.join(fleet.done)}")
    tell(f"refused and tried again: {dict(refused)}; MiB at most: {fleet.peaks}")
    assert [found for _, found in ends] == [[], [], []]
    assert len({digest for digest, _ in ends}) == 1
    assert otherwise == []
    assert all(error.retryable for error in load.refusals)
    assert {attempt.outcome for attempt in load.attempts} == {"acknowledged"}
    assert max(fleet.peaks.values()) < MOST_MIB
