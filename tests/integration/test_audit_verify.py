"""The auditor finds each planted fault, names it, says how to mend it, and finds nothing in a log
that is sound."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from tests.audited import answer, call, turn
from tests.integration.command_line import weft
from tests.integration.folding import folding
from tests.integration.logged import publish, publish_raw, until, until_finished
from tests.integration.test_worker_services import working

from weft.audit.checks import AuditFinding
from weft.audit.verify import Verification, verify
from weft.log.api import call as ask_server
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_matching
from weft.log.secure_delete import erase
from weft.log.topology import provision
from weft.readmodel import store
from weft.readmodel.generations import Generations
from weft_schemas.envelope import ResultEnvelope
from weft_schemas.events import (
    EnvelopeEvent,
    FactsEvent,
    Origin,
    ParkedEvent,
    encode_event,
)
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.subjects import STREAM, derived_subject, item_subject


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted faults do not pass by waiting."""
    monkeypatch.setattr("weft.audit.verify.SETTLE_SECONDS", 0.3)


@pytest.fixture
async def sound(server, log: Connection) -> Connection:
    """A question, a call and its enveloped result in session s1: events 1 to 4."""
    items = [turn("u1", "Which invoice is open?"), call("c1", "u1", n=1), answer("r1", "c1", "ok")]
    await publish(log, "s1", items)
    async with working(server.url, "firewall"):
        await until(log, bool)
    return log


async def folded(log: Connection, data_dir: Path) -> None:
    """A read model of the log as it is, that nobody follows any more."""
    async with folding(log, data_dir) as follower:
        last = await last_sequence(log)
        while follower.through < last:
            await asyncio.sleep(0.02)


def kinds(done: Verification) -> list[str]:
    return [finding.kind for finding in done.faults]


def only(done: Verification, kind: str) -> AuditFinding:
    assert kinds(done) == [kind], done.findings
    assert done.faults[0].mend
    return done.faults[0]


async def derived(log: Connection, event, session: str = "s1") -> int:
    name = str(type(event).__struct_config__.tag)
    return (
        await publish_raw(log, derived_subject("acme", session, name), encode_event(event))
    ).sequence


async def test_the_event_loop_never_waits_for_sqlite(
    sound: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await folded(sound, tmp_path)
    threads: set[str] = set()
    opening = store.sqlite3.connect

    def traced(*args, **named) -> sqlite3.Connection:
        db = opening(*args, **named)
        db.set_trace_callback(lambda _: threads.add(threading.current_thread().name))
        return db

    monkeypatch.setattr(store.sqlite3, "connect", traced)
    assert not (await verify(sound, tmp_path, "o200k_base")).faults
    assert threads
    assert threading.main_thread().name not in threads


async def test_a_sound_log_and_its_read_model_have_no_fault(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    done = await verify(sound, tmp_path, "o200k_base")
    assert done.findings == []
    assert (done.sequence, done.compared) == (4, 4)
    assert done.digest


async def test_an_item_without_an_envelope(sound: Connection, tmp_path: Path):
    [ack] = await publish(sound, "s1", [answer("r2", "c1", "never worked")])
    finding = only(await verify(sound, tmp_path, "o200k_base"), "waiting")
    assert (finding.sequence, finding.item_id) == (ack.sequence, "r2")
    assert "weft rederive firewall --session s1" in finding.mend


async def test_a_parked_item_is_a_note_and_no_fault(sound: Connection, tmp_path: Path):
    [ack] = await publish(sound, "s1", [answer("r2", "c1", "poison")])
    origin = Origin(ack.sequence, "r2", "firewall", "1")
    await derived(sound, ParkedEvent(origin, "work_died", "the work ended its process", 6))
    done = await verify(sound, tmp_path, "o200k_base")
    assert kinds(done) == []
    assert "parked" in [finding.kind for finding in done.findings]


async def test_an_item_that_was_enveloped_twice(sound: Connection, tmp_path: Path):
    again = await derived(sound, EnvelopeEvent(Origin(3, "r1", "firewall"), ResultEnvelope("no")))
    finding = only(await verify(sound, tmp_path, "o200k_base"), "enveloped_twice")
    assert finding.what == f"events 4 and {again} are both its envelope"
    other_run = EnvelopeEvent(Origin(3, "r1", "firewall", run="firewall/2/0"), ResultEnvelope("b"))
    await derived(sound, other_run)
    assert kinds(await verify(sound, tmp_path, "o200k_base")) == ["enveloped_twice"]


async def test_a_parent_that_is_not_there(sound: Connection, tmp_path: Path):
    await publish(sound, "s1", [ContextItem("u2", ItemKind.USER_TURN, "Hm?", "nobody")])
    finding = only(await verify(sound, tmp_path, "o200k_base"), "unknown_parent")
    assert "'nobody'" in finding.what


async def test_an_envelope_of_nothing(sound: Connection, tmp_path: Path):
    event = EnvelopeEvent(Origin(2, "r9", "firewall"), ResultEnvelope("of what?"))
    at = await derived(sound, event)
    assert only(await verify(sound, tmp_path, "o200k_base"), "unknown_source").sequence == at


async def test_what_is_derived_of_an_item_that_was_published_twice_is_no_fault(
    sound: Connection, tmp_path: Path
):
    """A publisher that died publishes again, after the server's window: the item is stored twice,
    and the firewall works on both."""
    item = answer("r1", "c1", "ok")
    subject = item_subject("acme", "s1", item.kind)
    again = await publish_raw(sound, subject, encode_event(item))
    other = await publish_raw(sound, subject, encode_event(answer("r1", "c1", "not ok")))
    async with working(sound.connected_url.geturl(), "firewall", "memory"):
        await until(sound, lambda events: len(events) >= 3)
        await until_finished(sound, "memory")
    await derived(sound, FactsEvent(Origin(other.sequence + 1, "r1", "memory"), "session:s1", ()))
    done = await verify(sound, tmp_path, "o200k_base")
    assert kinds(done) == [], done.faults
    uncounted = [one.what for one in done.findings if one.kind == "uncounted_source"]
    assert len(uncounted) == 3
    assert f"event {again.sequence}," in uncounted[0]


async def test_an_event_of_an_unknown_version(sound: Connection, tmp_path: Path):
    future = b'{"type":"item","v":99,"id":"f","kind":"user_turn","text":"from the future"}'
    ack = await publish_raw(sound, item_subject("acme", "s1", "user_turn"), future)
    finding = only(await verify(sound, tmp_path, "o200k_base"), "undecodable")
    assert "unknown_version" in finding.what
    origin = Origin(ack.sequence, "", "firewall", "1")
    await derived(sound, ParkedEvent(origin, "unknown_version", "version 99", 1))
    assert kinds(await verify(sound, tmp_path, "o200k_base")) == []


async def test_a_message_that_somebody_deleted(sound: Connection, tmp_path: Path):
    await publish(sound, "s2", [turn("u1", "one"), turn("u2", "two")])
    await erase(sound, STREAM, 5)
    finding = only(await verify(sound, tmp_path, "o200k_base"), "gap")
    assert "1 messages are missing (5)" in finding.what


async def test_bodies_that_are_missing_or_damaged(sound: Connection, tmp_path: Path):
    async with Publisher(sound) as publisher:
        store = Bodies(sound, publisher, "acme")
        whole, damaged = await store.put(b"a" * 300_000), await store.put(b"b" * 300_000)
        missing = BodyRef("0" * 64, 5)
        documents = [
            ContextItem(name, ItemKind.DOC_SNIPPET, body=body)
            for name, body in (("whole", whole), ("damaged", damaged), ("missing", missing))
        ]
        await publish(sound, "s1", documents)
        chunks = [
            record.sequence
            async for record in read_matching(sound, "$O.weft_bodies.C.>", stream="OBJ_weft_bodies")
            if record.payload[:1] == b"b"
        ]
        await erase(sound, "OBJ_weft_bodies", chunks[0])
    done = await verify(sound, tmp_path, "o200k_base")
    assert {(one.kind, one.item_id) for one in done.faults} == {
        ("body_damaged", "damaged"),
        ("body_missing", "missing"),
    }
    assert done.bodies == 3


async def test_a_read_model_that_lost_a_row(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    tamper(tmp_path, "DELETE FROM items WHERE id = 'u1'")
    finding = only(await verify(sound, tmp_path, "o200k_base"), "digest")
    assert (finding.session, finding.what) == (
        "s1",
        "the read model lacks items of the log: u1 (1)",
    )
    assert "weft rebuild" in finding.mend


async def test_a_read_model_whose_text_was_altered(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    tamper(tmp_path, "UPDATE items SET text = 'other' WHERE id = 'u1'")
    finding = only(await verify(sound, tmp_path, "o200k_base"), "digest")
    assert finding.what == "the read model's rows differ from the log's"


async def test_a_read_model_that_skipped_events(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    await publish(sound, "s1", [turn("u2", "skipped")])
    tamper(tmp_path, "UPDATE meta SET value = 5 WHERE name = 'checkpoint'")
    finding = only(await verify(sound, tmp_path, "o200k_base"), "digest")
    assert "lacks items of the log: u2 (5)" in finding.what


async def test_a_read_model_of_a_log_that_lost_its_tail(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    await ask_server(sound, f"STREAM.DELETE.{STREAM}")
    await provision(sound)
    await publish(sound, "s1", [turn("u1", "another log")])
    finding = only(await verify(sound, tmp_path, "o200k_base"), "other_log")
    assert finding.mend == "weft rebuild"


async def test_a_read_model_behind_is_compared_where_it_stands(sound: Connection, tmp_path: Path):
    await folded(sound, tmp_path)
    await publish(sound, "s1", [turn("u2", "later")])
    done = await verify(sound, tmp_path, "o200k_base")
    assert (kinds(done), done.compared, done.sequence) == ([], 4, 5)
    assert [finding.kind for finding in done.findings] == ["behind"]


async def test_the_command_exits_with_1_and_prints_each_fault(
    sound: Connection, server, tmp_path: Path
):
    arguments = ["verify", "--data", str(tmp_path)]
    ran = await weft(*arguments, "--json", url=server.url)
    assert (ran.code, ran.json["ok"]) == (0, True), ran.err
    await publish(sound, "s1", [ContextItem("u2", ItemKind.USER_TURN, "Hm?", "nobody")])
    ran = await weft(*arguments, "--json", url=server.url)
    assert ran.code == 1
    [fault] = ran.json["faults"]
    assert (fault["kind"], fault["item_id"]) == ("unknown_parent", "u2")
    shown = await weft(*arguments, url=server.url)
    assert shown.code == 1
    assert shown.out.splitlines()[:5] == [
        "faults",
        f"unknown_parent  {fault['tenant']}/s1  event {fault['sequence']}  item u2",
        f"  {fault['what']}",
        f"  mend: {fault['mend']}",
        "notes",
    ]
    assert "\n1 fault up to" in shown.err


def tamper(data_dir: Path, sql: str) -> None:
    """Alter the current generation, as damage or a fault of the indexer would."""
    path = Generations(data_dir).current()
    assert path is not None
    db = sqlite3.connect(path)
    db.execute(sql)
    db.commit()
    db.close()
