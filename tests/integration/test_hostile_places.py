"""Every byte, and random bytes, wherever a client may put any: in tenant, session and event of a
subject, in headers, in requests. Every process lives, every replica folds past it, what cannot be
read is parked under a name that can, and other sessions go on as before."""

import asyncio
import os
import random
import statistics
import time
from pathlib import Path

import msgspec
from tests.crash.lives import settled
from tests.crash.load import turns
from tests.integration.command_line import services, weft
from tests.integration.preloaded import shared_preloaded
from tests.integration.raw import publish_each, raw
from tests.integration.test_supervisor_up import until_answering

from weft.client import Client
from weft.dead_letters.reviving import dead_letters
from weft.log.following import Follower
from weft.log.publishing import Publisher
from weft.log.reading import read, read_matching
from weft.log.stream_identity import check, identify
from weft.log.transport import connect
from weft.readmodel.digest import session_digests
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.up import EVERYTHING, running
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import UNREADABLE

SEED = int(os.environ.get("WEFT_SEED") or 20_260_103)
RANDOM = 1_000 if os.environ.get("WEFT_SEED") else 500
"""Beside each byte in each place; more by `make attack` and `make fuzz`, which name their seeds."""
EVERY = 12
"""The commands of an operator meet every 12th of the hostile events: some of each sort."""
GOOD = turns(10)
PLACES = (b"weft.%b.s.in.user_turn", b"weft.acme.%b.in.user_turn", b"weft.acme.s.in.%b")
SEPARATORS = frozenset(b"\r\n\t .*>")
"""What the server itself takes for the end of a subject, of a token, or for a wildcard."""
ITEM = b'{"type":"item","id":"%d","kind":"user_turn","text":"hello"}'
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BLOCKS = (
    b"NATS/1.0 503 No Responders\r\n\r\n",
    b"NATS/1.0 404 No Messages\r\n\r\n",
    b"NATS/1.0 409 Consumer Deleted\r\n\r\n",
    b"NATS/1.0 100 Idle Heartbeat\r\nNats-Consumer-Stalled: $JS.API.STREAM.PURGE.weft\r\n\r\n",
    b"NATS/1.0\r\ntraceparent: 00\rNats-Msg-Id: x\r\n\r\n",
    b"NATS/1.0\r\ntraceparent: 00\nweft-settled: x\r\n\r\n",
    b"NATS/1.0\r\ntraceparent: \xff\xfe\x00\r\n\r\n",
    b"NATS/1.0\r\ntraceparent: " + b"0" * 65_000 + b"\r\n\r\n",
    b"NATS/1.0\r\ntraceparent: " + b"0" * 66_000 + b"\r\n\r\n",
    b"NATS/1.0\r\nNats-Msg-Id: a\nb\r\n\r\n",
    b"NATS/1.0\r\nNats-Sequence: 1\r\nNats-Subject: w.in.1.rival.s.user_turn\r\n\r\n",
    b"NATS/1.0\r\nNats-Sequence: x\r\nNats-Time-Stamp: y\r\n\r\n",
    b"NATS/1.0\r\nno colon\r\n\r\n",
    b"NATS/1.0\r\n",
    b"garbage",
    b"\xff" * 40,
)


def some_bytes(chance: random.Random) -> bytes:
    length = chance.choice([1, 2, 3, 8, 60])
    return bytes(b for b in chance.randbytes(length) if b not in SEPARATORS) or b"\xff"


def hostile(seed: int) -> list[tuple[bytes, bytes, bytes]]:
    """Subject, header block and payload."""
    chance = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256) if byte not in SEPARATORS]
    tokens += [b"a" + token + b"b" for token in tokens]
    tokens += ["\u00a0".encode(), "\u2028".encode(), "a\u2028b".encode(), b"\xed\xa0\x80"]
    found = [(place % token, b"") for token in tokens for place in PLACES]
    found += [(chance.choice(PLACES) % some_bytes(chance), b"") for _ in range(RANDOM)]
    kinds = (b"user_turn", b"tool_result", b"session_closed")
    found += [(b"weft.acme.s.in." + kind, block) for kind in kinds for block in BLOCKS]
    for _ in range(RANDOM):
        name = chance.choice([b"traceparent", b"Nats-Msg-Id", b"Weft-Settled", some_bytes(chance)])
        block = b"NATS/1.0\r\n%b: %b\r\n\r\n" % (name, some_bytes(chance))
        found.append((b"weft.acme.s.in.user_turn", block))
    chance.shuffle(found)
    return [(subject, block, ITEM % number) for number, (subject, block) in enumerate(found)]


async def latency(client: Client, session: str) -> float:
    """Median seconds of a small publish and the compile that shows it."""
    taken = []
    for number in range(8):
        begun = time.perf_counter()
        item = ContextItem(f"q{number}", ItemKind.USER_TURN, f"Is disk {number} full?")
        ack = await client.publish(session, item)
        await client.compile(session, "answer", after=ack.sequence, timeout=60)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def digest_of_good(reader: Reader) -> str:
    """Of the session that nothing hostile names."""
    found = session_digests(reader.model().db)
    return next(digest for *names, digest in found if names == ["acme", "good"])


async def test_no_byte_of_a_subject_or_a_header_holds_anybody_up(tmp_path: Path, tell):
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            ack = await c.publish("good", GOOD)
            with Reader(tmp_path) as reader:
                await settled(c.connection, reader)
                before = await c.compile("good", "answer", query="disk", after=ack.sequence)
                untouched = digest_of_good(reader)
                messages = hostile(SEED)
                stored = await publish_each(up.settings.nats_url, messages)
                await c.publish("good-after", GOOD)
                await settled(c.connection, reader)
                assert digest_of_good(reader) == untouched
            after = await c.compile("good", "answer", query="disk")
            assert after.prompt == before.prompt
            await c.compile("s", "answer")
            parked = await dead_letters(c.connection, "acme")
            states = {state.name: state.restarts for state in up.supervisor.states()}
            assert await latency(c, "quick") < 1
        # What stopped a start of the whole once, an event as the newest of the log, included.
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            again = await c.compile("good", "answer", query="disk")
            assert again.prompt == before.prompt
    tell(f"seed {SEED}: {len(messages)} hostile places, {stored} stored, {len(parked)} parked")
    assert not any(states.values()), states
    assert stored > len(messages) * 0.9
    assert len([one for one in parked if one.session == UNREADABLE]) > 500


async def stored_so_far(log) -> int:
    """The last sequence of what raw clients published: the server answers their PING before it has
    stored that, but stores in order."""
    async with Publisher(log) as publisher:
        ack = await publisher.publish("weft.acme.end.in.user_turn", b"{}")
    return ack.sequence - 1


async def test_a_message_is_the_same_however_it_is_read(log, server):
    """By a consumer, by the leader, by a page: else a checkpoint would fit none of them."""
    await publish_each(server.url, hostile(SEED)[:400])
    await publish_each(
        server.url,
        [(b"weft.acme.s.in.user_turn", block, b"{}") for block in BLOCKS],
    )
    last = await stored_so_far(log)
    paged = [record async for record in read_matching(log, ">", through=last)]
    single = [await read(log, sequence) for sequence in range(1, last + 1)]
    followed = []
    async with Follower(log) as follower:
        async for batch in follower:
            # Only a worker needs to know who has settled an event.
            followed += [msgspec.structs.replace(one, settled="") for one in batch.records]
            if batch.through >= last:
                break
    assert len(paged) == last
    assert paged == single == followed[:last]


async def test_a_checkpoint_at_an_event_of_any_bytes_is_recognised(log, server):
    for token in (b"\xff", b"\x0b", b"\x00", "\u2028".encode()):
        await publish_each(server.url, [(b"weft.acme.a%bb.in.user_turn" % token, b"", b"{}")])
        last = await stored_so_far(log)
        known = (await identify(log)).at(await read(log, last))
        other = await connect(server.url)
        try:
            await check(other, known, last)
        finally:
            await other.close()


async def test_headers_of_a_publisher_are_not_taken_for_the_servers(log, server):
    forged = (
        b"NATS/1.0\r\nNats-Subject: w.in.1.rival.s.user_turn\r\nNats-Sequence: 77\r\n"
        b"Nats-Time-Stamp: 1999-01-01T00:00:00Z\r\n\r\n"
    )
    await publish_each(server.url, [(b"weft.acme.s.in.user_turn", forged, b"{}")])
    last = await stored_so_far(log)
    (record,) = [record async for record in read_matching(log, ">", through=last)]
    assert record.sequence == 1
    assert record.address().tenant == "acme"
    assert record == await read(log, 1)


async def test_only_a_trace_in_the_form_of_w3c_is_carried_on(log, server):
    for value in (TRACE.encode(), b"00\rx", b"x" * 60_000, b"\xff"):
        block = b"NATS/1.0\r\ntraceparent: %b\r\n\r\n" % value
        await publish_each(server.url, [(b"weft.acme.s.in.user_turn", block, b"{}")])
    last = await stored_so_far(log)
    records = [record async for record in read_matching(log, ">", through=last)]
    assert [record.traceparent for record in records] == [TRACE, "", "", ""]


async def test_a_subscriber_hears_every_message_whatever_its_subject(server):
    """nats-py's own parser ends the connection at a vertical tab."""
    heard = []
    listening = await connect(server.url)
    await listening.listen("any.>", lambda subject, *_: heard.append(subject))
    await listening.flushed()
    sent = [b"any.a" + bytes([byte]) for byte in range(256) if byte not in SEPARATORS]
    async with raw(server.url) as client:
        for subject in sent:
            client.publish(subject, b"x", reply=b"any.reply\x0b")
        assert await client.answered()
    await listening.flushed()
    await listening.close()
    assert heard == sent


async def test_every_command_of_an_operator_works_beside_hostile_events(tmp_path: Path):
    folder = tmp_path / "data"
    async with services(folder) as url:
        hostile_ones = [
            (subject.replace(b"acme", b"default"), block, payload)
            for subject, block, payload in hostile(SEED)[::EVERY]
        ]
        await publish_each(url, hostile_ones)
        given = b'{"id":"a","kind":"user_turn","text":"hello"}'
        data = ("--data", str(folder))
        for command in (
            ("publish", "-", "-s", "good"),
            ("compile", "-s", "good", "-p", "answer"),
            ("status",),
            ("dlq", "list"),
            ("dlq", "drop", "--all"),
            ("export", "--tenant", "default", str(tmp_path / "tenant.jsonl")),
            ("rederive", "memory"),
            ("rederive", "firewall"),
            ("snapshot", *data),
            ("rebuild", *data),
            ("verify", *data),
            ("erase", "--session", "good", "--yes"),
            ("erase", "--tenant", "default", "--yes"),
        ):
            async with asyncio.timeout(60):
                done = await weft(*command, url=url, given=given)
            assert "Traceback" not in done.err, (command, done.err)
            # Both tell of the hostile ones by their exit code.
            tells = command[0] in ("verify", "rederive")
            assert done.code in ((0, 1) if tells else (0,)), (command, done.err)
