"""Thousands of hostile requests from bare NATS to every service: one clear error each, every
process lives, and everybody else's answers stay as they were."""

import asyncio
import json
import os
import random
from collections import Counter
from pathlib import Path

import msgspec
import nats
from tests.crash.lives import settled
from tests.crash.load import turns
from tests.integration.hostile import spoilt
from tests.integration.preloaded import shared_preloaded
from tests.integration.test_supervisor_up import until_answering

from weft.client import Client
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, running
from weft_schemas.compile import ErrorReply
from weft_schemas.errors import ERROR_HEADER
from weft_schemas.routing import Catalog, SelectableItem

SEED = int(os.environ.get("WEFT_SEED") or 20_260_102)
COUNT = 3_000
AT_ONCE = 100
INNER = {
    "phase": "answer",
    "query": "disk",
    "timeout": 0.05,
    "budget": 500,
    "after": 0,
    "tools": [],
}
ENDLESS = {"phase": "answer", "after": 2**62, "timeout": 1e12}
GOOD: dict[str, dict] = {
    "compile": INNER,
    "explain": {"item_id": "r0", "request": INNER},
    "status": {"after": 0, "first": 0, "last": 0, "ids": ["r0"], "timeout": 0.05},
    "sessions": {"beyond": "a", "limit": 3},
    "drilldown": {"handle": "art:x", "view": "lines", "args": {"start": 1}, "max_tokens": 10},
    "route": {"query": "logs", "catalog": "c", "top_k": 3, "tags": [], "after": 0, "timeout": 0.05},
    "hydrate": {"tool": "logs", "catalog": "c", "query": "", "after": 0, "timeout": 0.05},
    "choose": {"decision": "x", "item": "logs"},
}
CODES = {
    "invalid_input", "unknown_version", "not_found", "forbidden", "unavailable", "overloaded",
}  # fmt: skip
SESSIONS = ("good", "nobody", "@tenant", "=", "=!!", "x" * 200, "=AA")
NO_AUDITS = ("odd-0", "odd-1", "odd-2")
"""Message ids in the audit stream under which there is something else than a recorded compile."""
KEPT = frozenset({"timeout", "request"})
"""A longer wait that is well-formed would be granted; what is in `request` is asked by compile."""


def requests(chance: random.Random) -> list[tuple[str, bytes]]:
    names = sorted(GOOD)
    found = []
    for number in range(COUNT):
        service = names[number % len(names)]
        subject = f"weft-rpc.acme.{chance.choice(SESSIONS)}.{service}"
        found.append((subject, spoilt(GOOD[service], chance, KEPT)))
    for number in range(COUNT // 30):
        asked = json.dumps({**INNER, "stable_from": NO_AUDITS[number % len(NO_AUDITS)]}).encode()
        found.append(("weft-rpc.acme.good.compile", asked))
        found.append(("weft-rpc.acme.@tenant.replicas", spoilt(INNER, chance)))
        within = chance.choice([spoilt(INNER, chance, KEPT), json.dumps(ENDLESS).encode()])
        asked = b'{"item_id": "r0", "request": %b}' % within
        found.append(("weft-rpc.acme.good.explain", asked))
    return found


async def publish_no_audits(log: Connection, chance: random.Random) -> None:
    """By bare NATS, which nothing forbids where there are no permissions."""
    async with Publisher(log) as publisher:
        for name in NO_AUDITS:
            payload = spoilt({"type": "compiled", **INNER}, chance)
            await publisher.publish("weft-audit.acme.good.compiled", payload, name)


async def ask(client: nats.NATS, subject: str, payload: bytes) -> tuple[str, str]:
    """The error's code and text, both empty where there was none."""
    reply = await client.request(subject, payload, timeout=30)
    code = (reply.headers or {}).get(ERROR_HEADER, "")
    if not code:
        json.loads(reply.data)
        return "", ""
    error = msgspec.json.decode(reply.data, type=ErrorReply)
    assert error.code == code
    return code, error.message


async def test_three_thousand_hostile_requests_get_one_clear_error_each(tmp_path: Path, tell):
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            ack = await c.publish("good", turns(5))
            with Reader(tmp_path) as reader:
                # What memory and summaries add comes in its own time.
                await settled(c.connection, reader)
            tool = SelectableItem("logs", "logs", "Reads the logs of a worker.")
            version = (await c.publish_catalog(Catalog("c", (tool,)))).sequence
            await c.route("logs", "c", after=version, timeout=60)
            before = await c.compile("good", "answer", after=ack.sequence)
            assert before.pending == ()
            await publish_no_audits(c.connection, random.Random(SEED))
            bare = await nats.connect(up.settings.nats_url)
            room = asyncio.Semaphore(AT_ONCE)

            async def one(subject: str, payload: bytes) -> tuple[str, str, str]:
                async with room:
                    return (subject, *await ask(bare, subject, payload))

            made = requests(random.Random(SEED))
            answers = await asyncio.gather(*(one(*request) for request in made))
            await bare.close()
            after = await c.compile("good", "answer", after=ack.sequence)
            assert (await c.route("logs", "c")).cards[0].name == "logs"
            restarts = {state.name: state.restarts for state in up.supervisor.states()}
    codes = Counter(code or "answered" for _, code, _ in answers)
    counted = ", ".join(f"{count} {code}" for code, count in codes.most_common())
    tell(f"seed {SEED}: {len(answers)} hostile requests: {counted}")
    unclear = [answer for answer in answers if answer[1] and answer[1] not in CODES]
    assert unclear == []
    assert all(text for _, code, text in answers if code)
    assert codes["invalid_input"] > COUNT // 2
    assert not any(restarts.values()), restarts
    assert after.prompt == before.prompt
