"""Requests with any bytes in their subject, reply and headers: none costs a service its connection,
none is answered into the log, and everybody else is answered meanwhile."""

import asyncio
import os
import random
import time
from pathlib import Path

from tests.crash.lives import settled
from tests.crash.load import turns
from tests.integration.preloaded import shared_preloaded
from tests.integration.raw import Raw, raw
from tests.integration.test_hostile_places import BLOCKS, SEPARATORS, some_bytes
from tests.integration.test_supervisor_up import until_answering

from weft.client import Client
from weft.log.reading import last_sequence
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, running

SEED = int(os.environ.get("WEFT_SEED") or 20_260_104)
SERVICES = (
    *(b"compile", b"drilldown", b"explain", b"route", b"hydrate", b"choose"),
    *(b"status", b"sessions"),
)
REPLIES = (
    b"weft.acme.s.in.user_turn",
    b"weft.acme.s.out.envelope",
    b"weft.acme.@tenant.out.erased",
    b"weft-audit.acme.s.compiled",
    b"$JS.API.STREAM.PURGE.weft",
    b"$JS.API.STREAM.DELETE.weft",
    b"weft-rpc.acme.s.compile",
    b"\x0b",
    b"any\xff",
    b"_INBOX.\x00",
)


def hostile(seed: int) -> list[tuple[bytes, bytes, bytes]]:
    """Subject, header block and reply subject."""
    chance = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256) if byte not in SEPARATORS]
    tokens += [some_bytes(chance) for _ in range(300)]
    places = (b"weft-rpc.%b.s.", b"weft-rpc.acme.%b.")
    found = [
        (place % token + chance.choice(SERVICES), chance.choice([b"", *BLOCKS]), b"_INBOX.asked")
        for token in tokens
        for place in places
    ]
    found += [
        (b"weft-rpc.acme.s." + service, b"", reply) for service in SERVICES for reply in REPLIES
    ]
    found += [(b"weft-rpc.acme.@tenant.replicas", b"", reply) for reply in REPLIES]
    return found


async def ask_all(client: Raw, requests: list[tuple[bytes, bytes, bytes]]) -> None:
    for subject, headers, reply in requests:
        client.publish(subject, b"{}", headers if len(headers) < 65_000 else b"", reply)
    assert await client.answered()


async def test_no_byte_of_a_request_holds_anybody_up(tmp_path: Path):
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            ack = await c.publish("good", turns(5))
            with Reader(tmp_path) as reader:
                await settled(c.connection, reader)
            before = await c.compile("good", "answer", after=ack.sequence)
            last = await last_sequence(c.connection)
            longest = 0.0
            async with raw(up.settings.nats_url) as client:
                for _ in range(3):
                    asking = asyncio.create_task(ask_all(client, hostile(SEED)))
                    begun = time.perf_counter()
                    assert (await c.compile("good", "answer")).prompt == before.prompt
                    longest = max(longest, time.perf_counter() - begun)
                    await asking
            assert (await c.compile("good", "answer")).prompt == before.prompt
            assert await last_sequence(c.connection) == last
            restarts = {state.name: state.restarts for state in up.supervisor.states()}
    written = (tmp_path / "weft.log").read_text()
    assert not any(restarts.values()), restarts
    assert "connected again" not in written
    assert "could not be taken in" not in written
    print(f"seed {SEED}: the slowest compile beside them took {longest:.2f} s")
