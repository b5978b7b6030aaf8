"""Results whose body is in the object store: their prompts are those of the same result in its
event, and the fold waits for a store that does not answer."""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path

import pytest
from tests.integration.indexer_process import PATIENCE, folded, indexer, publish
from tests.integration.snapshotted import ENCODING
from tests.retrying import patiently

import weft
from weft.bodies.masking import MAX_CLEAN_BYTES
from weft.firewall.derive import envelope_for
from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.replicas import replicas
from weft.log.topology import BODIES_STREAM, provision
from weft.log.transport import connect
from weft.readmodel.digest import content_digest
from weft.readmodel.generations import Reader
from weft.runtime.roll_call import call_roll
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Unavailable
from weft_schemas.events import EnvelopeEvent, Origin, encode_event
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import FirewallRules
from weft_schemas.subjects import item_subject

SECRET = "AKIA" + "Q3EGRNQW7TYUIOPA"
QUESTION = "Which shipments are HELD?"
ASKED = (
    ContextItem("u", ItemKind.USER_TURN, QUESTION),
    ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "list", "arguments": {}}),
)


def shipments(count: int, secret_at: int = -1) -> str:
    """A CSV of some 55 bytes a row, a few of which are HELD."""
    rows = ["number,customer,state,city,memo"]
    for n in range(count):
        state = "HELD" if n % 700 == 350 else ("OPEN", "SHIPPED", "LATE")[n % 3]
        memo = f"aws_access_key_id={SECRET}" if n == secret_at else f"crate {n % 97}"
        rows.append(f"S-{n:05d},customer {n * 7 % 4001},{state},city {n % 251},{memo}")
    return "\n".join(rows)


def result(text: str) -> ContextItem:
    return ContextItem("r", ItemKind.TOOL_RESULT, text, "c")


async def prompts(client: weft.Client, session: str, after: int) -> list[str]:
    """At a small and a large budget, and reproduced from the log."""
    found = []
    for budget in (2_000, 20_000):
        pack = await client.compile(
            session, "answer", query=QUESTION, budget=budget, after=after, timeout=60
        )
        found.append(without_keyed(pack.prompt))
        again = await client.reproduce(pack.id)  # by another key than the service's
        assert without_keyed(again.prompt) == found[-1]
        assert pack.stats.prompt_tokens > 0.8 * budget
        assert pack.stats.notes == ()
    compiles = await client.operator.compiles(session)
    each = await client.operator.reproduce([one.audit for one in compiles])
    assert sorted(without_keyed(one.prompt) for one in each) == sorted(found)
    return found


def without_keyed(prompt: str) -> str:
    """Without what depends on the deployment's key and the session: handles and fences."""
    return re.sub(r"\b(art|data):\w+|(?<=</data:)\w+", "", prompt)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_prompt_is_the_same_whatever_way_a_result_came_in(nats_url: str) -> None:
    text = shipments(24_000, secret_at=12_000)
    assert len(text) > 1_000_000
    item = result(text)
    async with weft.connect(nats_url, tenant="ways") as client, Publisher(client.connection) as own:
        await client.publish("stored", ASKED)
        stored = await client.publish("stored", item)
        await client.publish("within", ASKED)
        subject = item_subject("ways", "within", item.kind)
        within = await own.publish(subject, encode_event(item))
        one, other = (
            await prompts(client, "stored", stored.sequence),
            await prompts(client, "within", within.sequence),
        )
        assert one == other
        assert one[1].count("HELD") > 25
        whole = await client.compile("stored", "answer", query=QUESTION, budget=1_000_000)
        assert "S-23999,customer" in whole.prompt
        assert SECRET not in "".join((*one, whole.prompt))
        assert "[secret:aws_access_key" in whole.prompt


@pytest.mark.asyncio(loop_scope="module")
async def test_of_a_body_that_is_not_read_whole_the_summary_is_shown_and_no_secret(
    nats_url: str,
) -> None:
    text = shipments(100_000, secret_at=75_000)
    assert len(text[: text.index(SECRET)]) > MAX_CLEAN_BYTES * 3 // 4
    async with weft.connect(nats_url, tenant="huge") as client:
        ack = await client.publish("s", [*ASKED, result(text)])
        pack = await client.compile(
            "s",
            "answer",
            query=f"{QUESTION} {SECRET}",
            budget=64_000,
            after=ack.sequence,
            timeout=60,
        )
        assert SECRET not in pack.prompt
        assert pack.stats.prompt_tokens < 2_000
        (note,) = pack.stats.notes
        assert "prompts show no more of a result over 4 MiB" in note


async def stored_result(log: Connection, text: bytes) -> tuple[ContextItem, EnvelopeEvent]:
    """Publish a body, a result that refers to it, and its envelope, to session `s`."""
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, "t").put(text)
    item = ContextItem("r", ItemKind.TOOL_RESULT, body=body)
    (sequence,) = await publish(log, "s", [item])
    made = envelope_for(
        item,
        text,
        origin=Origin(sequence, "r", "firewall", "1"),
        rules=FirewallRules(),
        fingerprint_key=b"",
        encoding=ENCODING,
        tenant="t",
        session="s",
    )
    await publish(log, "s", [made])
    return item, made


def whole(reader: Reader) -> str:
    (row,) = reader.model().view("t", "s").recent(5)
    return row.whole


async def test_an_object_store_that_does_not_answer_is_waited_for(tmp_path: Path) -> None:
    text = shipments(8_000)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    settings = tmp_path / "nats" / "further.conf"
    settings.parent.mkdir()
    settings.write_text("")
    async with EmbeddedServer(settings.parent, extra='include "./further.conf"') as server:
        log = await connect(server.url)
        await provision(log)
        await stored_result(log, text.encode())
        away = f'mappings {{ "$JS.API.STREAM.MSG.GET.{BODIES_STREAM}": "nowhere" }}'
        settings.write_text(away)
        await server.restart()
        silent = await log.listen("nowhere", lambda *_: None)
        async with indexer(server.url, tmp_path / "a", WEFT_LOG_LEVEL="info") as process:
            await patiently(lambda: running(log))
            waits = f"waits for item 1 of session 's' of tenant 't': body {sha256}"
            async with asyncio.timeout(PATIENCE):
                while waits not in await complaint(log):
                    await asyncio.sleep(0.05)
            for _ in range(10):  # it has tried, tries again, and says so all the time
                assert waits in await complaint(log)
                assert (await replicas(log, "t"))[0].sequence < 2
            settings.write_text("")
            await server.restart()
            await silent.close()
            with Reader(tmp_path / "a") as reader:
                await folded(log, reader)
                assert whole(reader) == text
                live = content_digest(reader.model().db)
            assert process.returncode is None
        rebuilt = await rebuild(log, tmp_path / "b", ENCODING)
        assert rebuilt.digest == live
        await log.close()


async def complaint(log: Connection) -> str:
    """Of the indexer, as `weft status` tells it."""
    return "".join([one.complaint for one in await call_roll(log, "t")])


async def running(log: Connection) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await replicas(log, "t"):
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("fate", ["erased", "store gone"])
async def test_of_a_body_that_is_gone_a_rebuild_keeps_the_summary(
    log: Connection, tmp_path: Path, fate: str
) -> None:
    text = shipments(8_000).encode()
    _, made = await stored_result(log, text)
    async with Publisher(log) as publisher:
        assert await Bodies(log, publisher, "t").delete(hashlib.sha256(text).hexdigest())
    if fate == "store gone":
        await call(log, f"STREAM.DELETE.{BODIES_STREAM}")
        with pytest.raises(Unavailable, match=r"no object store .* `weft provision`"):
            await rebuild(log, tmp_path / "a", ENCODING)
        await provision(log)
    await rebuild(log, tmp_path / "a", ENCODING)
    with Reader(tmp_path / "a") as reader:
        assert whole(reader) == made.envelope.summary
