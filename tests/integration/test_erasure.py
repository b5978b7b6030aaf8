"""Erasure on a whole weft: a canary that went everywhere is found nowhere afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.command_line import services, weft

import weft as weft_client
from weft.client import erasure_check
from weft.erasure import session as erasing
from weft.erasure.tombstones import KNOWN_SECONDS, tombstones
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_matching
from weft.log.transport import connect
from weft.readmodel.generations import Reader
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.events import ErasureReceiptEvent, decode_event, encode_event
from weft_schemas.ids import item_message_id
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.subjects import AUDIT_STREAM, STREAM, item_subject

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANARY = "zanzibarquetzal"
PATIENCE = 120.0


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[Connection, Publisher]]:
    connection = await connect(url)
    try:
        async with Publisher(connection) as publisher:
            yield connection, publisher
    finally:
        await connection.close()


def files_with(folder: Path, text: str) -> list[str]:
    """Files below the folder that hold the text anywhere, in any case."""
    needle = text.encode()
    while True:
        found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        with contextlib.suppress(FileNotFoundError):  # renamed or removed meanwhile: look again
            holding = [path for path in found if needle in path.read_bytes().lower()]
            return [str(path.relative_to(folder)) for path in holding]


def clean_bodies(folder: Path) -> int:
    """How many results the replica shows more of than their summaries."""
    with Reader(folder) as reader:
        count: int = reader.model().db.execute("SELECT count(*) FROM bodies").fetchone()[0]
    return count


async def put(publisher: Publisher, session: str, item: ContextItem) -> int:
    payload = encode_event(item)
    subject = item_subject("default", session, item.kind)
    id = item_message_id("default", session, item.id, payload)
    return (await publisher.publish(subject, payload, id)).sequence


async def canaries_everywhere(url: str, session: str) -> tuple[BodyRef, BodyRef]:
    """A session whose canary stands in items, bodies, derived events, dead letters and audits.

    Returns its own body, and one that session `kept` refers to as well.
    """
    long = "".join(f"Line {n} of {CANARY} was shipped to Rotterdam.\n" for n in range(12_000))
    shared = "".join(f"line {n} is shared\n" for n in range(20_000))
    async with connected(url) as (connection, publisher):
        bodies = Bodies(connection, publisher, "default")
        own, other = await bodies.put(long.encode()), await bodies.put(shared.encode())
        items = [
            ContextItem("u1", ItemKind.USER_TURN, f"My name is {CANARY} and my city is {CANARY}."),
            ContextItem("a1", ItemKind.AGENT_MSG, long[:20_000]),
            ContextItem("r1", ItemKind.TOOL_RESULT, json.dumps({"owner": CANARY, "age": 3})),
            ContextItem("r2", ItemKind.TOOL_RESULT, body=own),
            ContextItem("r3", ItemKind.TOOL_RESULT, body=other),
        ]
        for item in items:
            await put(publisher, session, item)
        await put(publisher, "kept", ContextItem("k", ItemKind.TOOL_RESULT, body=other))
        await put(publisher, "kept", ContextItem("k2", ItemKind.USER_TURN, "What is shared?"))
        broken = b'{"type":"item","id":"' + CANARY.encode() + b'","kind":"no such kind"}'
        last = await publisher.publish(item_subject("default", session, "tool_result"), broken)
        await publisher.publish(
            item_subject("default", session, "session_closed"), b'{"type":"session_closed"}'
        )
        await derived(connection, session, {"envelope", "fact", "summary", "episode", "parked"})
    asked = ["-p", "answer", "-q", CANARY, "--after", str(last.sequence), "--timeout", "60"]
    assert (await weft("compile", "-s", session, *asked, url=url)).code == 0
    return own, other


async def derived(connection: Connection, session: str, wanted: set[str]) -> None:
    """Wait until a session has derived events of all these types."""
    async with asyncio.timeout(PATIENCE):
        while wanted - {
            record.subject.rpartition(".")[2]
            async for record in read_matching(connection, f"w.out.*.default.{session}.>")
        }:
            await asyncio.sleep(0.1)


async def left_of(connection: Connection, session: str) -> int:
    events = [r async for r in read_matching(connection, f"w.*.*.default.{session}.>")]
    audits = read_matching(connection, f"weft-audit.default.{session}.>", stream=AUDIT_STREAM)
    return len(events) + len([record async for record in audits])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def up(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Path, str]]:
    """A folder and the server's address; each test has a tenant of its own."""
    folder = tmp_path_factory.mktemp("up") / "data"
    async with services(folder, "--router", "0") as url:
        yield folder, url


async def test_no_byte_of_an_erased_session_is_left_and_others_go_on(up: tuple[Path, str]) -> None:
    folder, url = up
    own, shared = await canaries_everywhere(url, "secret")
    async with connected(url) as (connection, publisher):
        copy = ContextItem(
            "u1",
            ItemKind.USER_TURN,
            f"I am {CANARY}.",
            metadata={"forked_from": {"session": "secret"}},
        )
        await put(publisher, "copy", copy)
        assert clean_bodies(folder) == 3  # `r2`, `r3` and `k`, whose bodies are in the object store
        done = await weft("snapshot", "--data", str(folder), "--json", url=url)
        assert done.code == 0, done.err
        seen = " ".join(files_with(folder, CANARY))
        for part in ("replica/generation", "streams/weft/", "OBJ_weft_bodies", "weft_audit"):
            assert part in seen
        assert "OBJ_weft_snapshots" in seen

        done = await weft("erase", "--session", "secret", "--yes", "--json", url=url)
        assert done.code == 0, done.err
        assert files_with(folder, CANARY) == []
        assert clean_bodies(folder) == 1

        assert done.json["forks"] == ["copy"]
        removed = done.json["removed"]
        assert (removed["bodies"], removed["snapshots"], removed["replicas"]) == (1, 1, 1)
        assert removed["events"] >= 12
        assert removed["audit_events"] == 1
        assert not [one for one in done.json["unreachable"] if "replica " in one]
        assert await left_of(connection, "secret") == await left_of(connection, "copy") == 0
        bodies = Bodies(connection, publisher, "default")
        assert not await bodies.exists(own.sha256)
        assert await bodies.exists(shared.sha256)
        receipts = [
            decode_event(record.payload)
            async for record in read_matching(connection, "w.out.*.*.@tenant.erasure_receipt")
        ]
        assert [one.session for one in receipts] == ["copy", "secret"]
        assert isinstance(receipts[1], ErasureReceiptEvent)
        assert receipts[1].removed == removed

        kept = await weft("compile", "-s", "kept", "-p", "answer", "--json", url=url)
        assert "k2" in kept.json["stats"]["included_items"]
        gone = await weft("compile", "-s", "secret", "-p", "answer", url=url)
        assert "was erased by event" in gone.err
        assert gone.code == 4
        rebuilt = await weft("rebuild", "--data", str(folder), "--verify", url=url)
        assert rebuilt.code == 0, rebuilt.err

        await put(publisher, "secret", ContextItem("late", ItemKind.USER_TURN, CANARY))
        looked = await weft("doctor", "--data", str(folder), "--json", url=url)
        (late,) = [one for one in looked.json if one["name"] == "erasures"]
        assert "session 'secret'" in late["found"]
        assert late["do"].startswith("`weft erase --session secret --tenant default`")
        again = await weft("erase", "--session", "secret", "--yes", "--json", url=url)
        assert again.json["removed"]["events"] == 1
        assert files_with(folder, CANARY) == []
        looked = await weft("doctor", "--data", str(folder), "--json", url=url)
        assert "erasures" not in [one["name"] for one in looked.json]


async def test_publishing_to_an_erased_session_is_refused_where_anybody_can_tell(
    up: tuple[Path, str],
) -> None:
    _, url = up
    hello = ContextItem("u", ItemKind.USER_TURN, "hello")
    async with weft_client.connect(url, tenant="gone") as client:
        ack = await client.publish("s", hello)
        await client.confirm("s", ack)
        await client.check_not_erased("s")
        await client.operator.erase("s")
        said = [{"role": "user", "content": "hello"}]
        with pytest.raises(weft_client.Conflict, match="'s' of tenant 'gone' was erased"):
            await client.confirm("s", ack)
        with pytest.raises(weft_client.Conflict, match="give another name"):
            await client.publish_messages("s", said)
        session = client.session("s")
        session.add(*said)
        with pytest.raises(weft_client.Conflict, match="was erased"):
            await session.flush()
        before = (await client.status()).sequence
        given = b'{"id":"a","kind":"user_turn","text":"hello"}'
        done = await weft("publish", "-", "-s", "s", "--tenant", "gone", url=url, given=given)
        assert (done.code, "was erased" in done.err) == (6, True)
        assert (await client.status()).sequence == before


async def test_what_is_published_to_an_erased_session_is_not_stored(
    log: Connection, server: EmbeddedServer
) -> None:
    hello = ContextItem("u", ItemKind.USER_TURN, "hello")
    async with (
        weft_client.connect(server.url, tenant="gone") as client,
        weft_client.connect(server.url, tenant="gone") as other,
        weft_client.connect(server.url, tenant="there") as neighbour,
    ):
        for one in (client, other, neighbour):
            await one.publish("s", hello)
        await client.operator.erase("s")
        before = await last_sequence(client.connection)
        for one in (client, other):
            with pytest.raises(weft_client.Conflict, match="'s' of tenant 'gone' was erased"):
                await one.publish("s", hello)
            with pytest.raises(weft_client.Conflict, match="was erased"):
                await one.publish("s", (hello for _ in range(2)))
            with pytest.raises(weft_client.Conflict, match="was erased"):
                await one.close_session("s")
        assert await last_sequence(client.connection) == before
        await other.publish("t", hello)
        await neighbour.publish("s", hello)
        await client.operator.erase(None)
        with pytest.raises(weft_client.Conflict, match="was erased"):
            await other.publish("t", hello)


async def test_what_comes_before_clients_know_the_tombstone_is_removed_by_the_same_erasure(
    log: Connection, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert erasing.LATE_SECONDS > KNOWN_SECONDS
    monkeypatch.setattr(erasing, "LATE_SECONDS", 5 * KNOWN_SECONDS)  # however busy the machine is
    hello = ContextItem("u", ItemKind.USER_TURN, "hello")
    late = ContextItem("v", ItemKind.USER_TURN, "I did not know")
    async with (
        weft_client.connect(server.url) as client,
        connected(server.url) as (connection, publisher),
    ):
        await client.publish("s", hello)
        erased = asyncio.create_task(client.operator.erase("s"))
        async with asyncio.timeout(PATIENCE):
            while not await tombstones(connection, "default"):
                await asyncio.sleep(0.001)
        await asyncio.sleep(KNOWN_SECONDS)
        await put(publisher, "s", late)
        await erased
        assert await left_of(connection, "s") == 0


async def test_knowing_of_erasures_takes_one_request_for_many_publishes(
    log: Connection, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_check, "KNOWN_SECONDS", 600.0)
    monkeypatch.setattr(
        erasure_check, "_TIMEOUT_SECONDS", 60.0
    )  # else it gives up on a busy machine
    asked: list[bytes] = []
    async with (
        connected(server.url) as (watching, _),
        weft_client.connect(server.url) as client,
    ):
        await watching.listen("$JS.API.>", lambda subject, *_: asked.append(subject))
        await watching.flush()
        for number in range(50):
            item = ContextItem(f"i{number}", ItemKind.USER_TURN, "hello")
            await client.publish(f"s{number}", item)
        await watching.flush()
        assert asked == [b"$JS.API.STREAM.MSG.GET.weft"]


async def test_without_a_service_the_log_tells_that_a_session_was_erased(
    server: EmbeddedServer, log: Connection
) -> None:
    async with weft_client.connect(server.url, tenant="gone") as client:
        await client.publish("s", ContextItem("u", ItemKind.USER_TURN, "hello"))
        await client.operator.erase("s")
        with pytest.raises(weft_client.Conflict, match="was erased"):
            await client.publish_messages("s", [{"role": "user", "content": "hello"}])


async def test_erasing_what_never_was_or_nothing_in_particular_is_refused(
    up: tuple[Path, str],
) -> None:
    _, url = up
    unknown = await weft("erase", "--session", "nobody", "--yes", url=url)
    assert (unknown.code, "nobody" in unknown.err) == (4, True)
    everything = await weft("erase", "--yes", url=url)
    assert everything.code == 2
    assert "--tenant" in everything.err
    unasked = await weft("erase", "--tenant", "default", url=url)
    assert unasked.code in (1, 4)


async def test_a_tenant_goes_whole_and_another_stays(up: tuple[Path, str]) -> None:
    folder, url = up
    given = b'{"id":"a","kind":"user_turn","text":"' + CANARY.encode() + b'"}'
    for session in ("s1", "s2"):
        done = await weft("publish", "-", "-s", session, "--tenant", "acme", url=url, given=given)
        assert done.code == 0, done.err
    other = given.replace(CANARY.encode(), b"hello")
    await weft("publish", "-", "-s", "s1", "--tenant", "rival", url=url, given=other)
    done = await weft("erase", "--tenant", "acme", "--yes", "--json", url=url)
    assert done.code == 0, done.err
    assert files_with(folder, CANARY) == []
    asked = ["compile", "-s", "s1", "-p", "answer", "--tenant"]
    assert (await weft(*asked, "acme", url=url)).code == 4
    assert (await weft(*asked, "rival", url=url)).code == 0
    async with connected(url) as (connection, _):
        left = {
            record.subject.rpartition(".")[2]
            async for record in read_matching(connection, "w.*.*.acme.>", stream=STREAM)
        }
        assert left == {"erased", "erasing", "erasure_receipt"}
