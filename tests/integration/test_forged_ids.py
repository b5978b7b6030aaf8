"""Message ids are what the server takes for a message: nobody can take another's beforehand, and
where one is taken, what would have vanished is stored and told of."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.crash.lives import settled
from tests.crash.load import turns
from tests.guarded import guarded_server, password, signed_in
from tests.integration.preloaded import shared_preloaded
from tests.integration.test_supervisor_up import until_answering

from weft.client import Client
from weft.firewall.derive import FIREWALL_VERSION
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read, read_session
from weft.memory.derive import VERSION as MEMORY_VERSION
from weft.readmodel.generations import Reader
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import EVERYTHING, running
from weft_schemas.events import encode_event
from weft_schemas.ids import derived_key, derived_message_id, item_message_id
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import derived_subject, item_subject

ITEM = ContextItem("u1", ItemKind.USER_TURN, "Is disk 3 full?")
ENVELOPE = derived_subject("acme", "s1", "envelope")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    async with guarded_server(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest_asyncio.fixture
async def admin(guarded: EmbeddedServer) -> AsyncIterator[Connection]:
    """The administrator, over an emptied log."""
    async with signed_in(guarded, "admin") as connection:
        await call(connection, "STREAM.PURGE.weft", {})
        yield connection


def client(server: EmbeddedServer, user: str) -> Client:
    tenant = user.partition("-")[0]
    return Client(Settings(nats_url=server.url, tenant=tenant, user=user, password=password(user)))


async def take(connection: Connection, subject: str, *ids: str) -> None:
    async with Publisher(connection) as publisher:
        # Well-formed, so that nothing is parked and the log grows by these alone.
        await publisher.publish_many(
            [
                Message(subject, encode_event(ContextItem(one, ItemKind.USER_TURN, "hello")), one)
                for one in ids
            ]
        )


async def test_an_agents_item_is_stored_whatever_another_tenant_published_before(guarded, admin):
    known = item_message_id("acme", "s1", ITEM.id, encode_event(ITEM))
    async with signed_in(guarded, "rival-agent") as rival:
        await take(rival, item_subject("rival", "s1", "user_turn"), known)
    async with client(guarded, "acme-agent") as agent:
        ack = await agent.publish("s1", ITEM)
        assert ack.duplicates == 0
        again = await agent.publish("s1", ITEM)
    async with client(guarded, "acme-agent") as another:
        after_a_restart = await another.publish("s1", ITEM)
    stored = [record async for record in read_session(admin, "acme", "s1")]
    assert [record.payload for record in stored] == [encode_event(ITEM)]
    assert (again.duplicates, again.sequence) == (1, ack.sequence)
    assert (after_a_restart.duplicates, after_a_restart.sequence) == (1, ack.sequence)


async def test_two_agents_have_other_ids_for_the_same_item(guarded, admin):
    async with client(guarded, "rival-agent") as one, client(guarded, "rival-operator") as two:
        await one.publish("s1", ITEM)
        await two.publish("s1", ITEM)
    ids = {record.message_id async for record in read_session(admin, "rival", "s1")}
    assert len(ids) == 2


@pytest.mark.parametrize("user", ["firewall", "worker", "admin"])
async def test_what_a_worker_derives_is_stored_under_another_id_where_one_was_taken(
    guarded, admin, user, caplog
):
    subject = derived_subject("acme", "s1", "summary" if user == "worker" else "envelope")
    async with signed_in(guarded, "rival-agent") as rival:
        await take(rival, item_subject("rival", "s1", "user_turn"), "guessed")
    async with signed_in(guarded, user) as connection, Publisher(connection) as publisher:
        with caplog.at_level(logging.WARNING):
            ack = await publisher.publish(subject, b"{}", "guessed")
    assert not ack.duplicate
    stored = await read(admin, ack.sequence)
    assert (stored.address().tenant, stored.payload) == ("acme", b"{}")
    assert "published under a new id" in caplog.text


async def test_ones_own_event_published_again_is_a_duplicate(guarded, admin):
    async with signed_in(guarded, "firewall") as connection, Publisher(connection) as publisher:
        first = await publisher.publish(ENVELOPE, b"{}", "own")
        again = await publisher.publish_many([Message(ENVELOPE, b"{}", "own")] * 50)
    assert {(ack.sequence, ack.duplicate) for ack in again} == {(first.sequence, True)}
    assert await last_sequence(admin) == first.sequence


async def test_of_several_with_one_taken_id_each_is_stored(guarded, admin):
    subject = item_subject("acme", "s1", "user_turn")
    async with signed_in(guarded, "admin") as connection, Publisher(connection) as publisher:
        await publisher.publish(subject, b"one", "same")
        acks = await publisher.publish_many(
            [Message(subject, payload, "same") for payload in (b"two", b"three", b"one")]
        )
    assert [ack.duplicate for ack in acks] == [False, False, True]
    stored = {record.payload async for record in read_session(admin, "acme", "s1")}
    assert stored == {b"one", b"two", b"three"}


async def test_every_result_gets_its_envelope_though_all_ids_that_can_be_told_were_taken(
    tmp_path: Path,
):
    settings = Settings(data_dir=tmp_path, tenant="acme")
    with (tmp_path / "weft.log").open("wb") as log_file:
        async with (
            running(settings, EVERYTHING, log_file=log_file, preloaded=shared_preloaded()) as up,
            Client(up.settings) as c,
        ):
            await until_answering(c)
            guesses = [
                derived_message_id(sequence, worker, version, 0, "", part)
                for sequence in range(1, 600)
                for worker, version, part in (
                    ("firewall", FIREWALL_VERSION, "envelope"),
                    ("memory", MEMORY_VERSION, "fact"),
                )
            ]
            await take(c.connection, item_subject("rival", "s", "user_turn"), *guesses)
            # Keyed with a secret that leaked, they can be told; then they are looked at.
            key = derived_key(up.settings.fingerprint_key.encode(), "message ids")
            with Reader(tmp_path) as reader:
                await settled(c.connection, reader)
            last = await last_sequence(c.connection)
            leaked = [
                derived_message_id(last + n, "firewall", FIREWALL_VERSION, 0, "", "envelope", key)
                for n in range(60, 121)
            ]
            await take(c.connection, item_subject("rival", "s", "user_turn"), *leaked)
            ack = await c.publish("good", turns(10))
            with Reader(tmp_path) as reader:
                await settled(c.connection, reader)
            pack = await c.compile("good", "answer", after=ack.sequence)
    assert pack.pending == ()
    assert "published under a new id" in (tmp_path / "weft.log").read_text()
