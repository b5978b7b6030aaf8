"""Thousands of hostile events from bare NATS on every subject: every process lives, nobody else's
session is touched, and what is no event is parked or counted as a fault."""

import itertools
import json
import os
import random
from functools import partial
from pathlib import Path

from tests.crash.checker import Attempt, faults, held_in
from tests.crash.lives import settled
from tests.crash.load import turns
from tests.folded import session_digest
from tests.integration.hostile import events, spoilt
from tests.integration.preloaded import shared_preloaded
from tests.integration.test_supervisor_up import until_answering
from tests.retrying import patiently

from weft.client import Client
from weft.log.connection import Connection
from weft.log.message import Ack, Message
from weft.log.publishing import Publisher
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, running

SEED = int(os.environ.get("WEFT_SEED") or 20_260_101)
COUNT = 7_000 if os.environ.get("WEFT_SEED") else 3_500
"""Twice as many by `make attack` and `make fuzz`, which name their seeds."""
HOSTS = [f"acme.hostile-{number}" for number in range(36)] + ["rival.@tenant"] * 4
"""Tenant and session; what a tenant says of itself is none of another's business."""
GOOD = turns(10)


def hostile(seed: int, target: int) -> list[Message]:
    chance = random.Random(seed)
    messages = []
    for place, event in itertools.islice(events(chance, target), COUNT):
        payload = spoilt(event, chance) if chance.random() < 0.7 else json.dumps(event).encode()
        subject = f"weft.{chance.choice(HOSTS)}.{place}"
        messages.append(Message(subject, payload, f"hostile-{len(messages)}"))
    messages += [
        Message(f"weft.acme.{session}.in.tool_result", b'{"type":"item"}', f"odd-{session}")
        for session in ("=", "=!!", "=AA", "x" * 200, "-", "=" + "A" * 300)
    ]
    return messages


async def publish_all(log: Connection, messages: list[Message]) -> list[Ack]:
    async with Publisher(log) as publisher:
        outcomes = await publisher.attempt_many(messages)
    return [outcome for outcome in outcomes if isinstance(outcome, Ack)]


async def test_thousands_of_hostile_events_touch_no_other_session(tmp_path: Path, tell):
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            ack = await c.publish("good", GOOD)
            with Reader(tmp_path) as reader:
                # What memory and summaries add comes in its own time.
                await settled(c.connection, reader)
                before = await c.compile("good", "answer", query="disk", after=ack.sequence)
                assert before.pending == ()
                untouched = session_digest(reader.model().db, "acme", "good")
                messages = hostile(SEED, target=ack.first + 2)
                stored = await publish_all(c.connection, messages)
                await patiently(partial(c.publish, "good-after", GOOD))
                await settled(c.connection, reader)
                db = reader.model().db
                assert session_digest(db, "acme", "good") == untouched
                held = [one for one in held_in(db) if one.session.startswith("good")]
                parked = db.execute("SELECT count(*) FROM parked").fetchone()[0]
                known = db.execute("SELECT count(*) FROM faults").fetchone()[0]
            after = await c.compile("good", "answer", query="disk")
            states = {state.name: state.restarts for state in up.supervisor.states()}
    tell(
        f"seed {SEED}: {len(messages)} hostile events, {len(stored)} stored by the server, "
        f"{known} faults in the read model, {parked} parked, restarts: {sum(states.values())}"
    )
    assert not any(states.values()), states
    assert after.prompt == before.prompt
    sent = [Attempt(one, item, "acknowledged") for one in ("good", "good-after") for item in GOOD]
    assert faults(sent, held) == []
    assert known > COUNT // 4
