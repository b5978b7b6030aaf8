"""What permissions must hold beyond single subjects: an agent's work across accounts, and the ways
around a refusal that a server offers (reply subjects, inboxes, the stream API)."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import nats.errors
import pytest
import pytest_asyncio
from nats.aio.msg import Msg
from tests.guarded import TENANT_USERS, answered, guarded_server, signed_in
from tests.integration.logged import until_finished

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.consuming import Consumer
from weft.log.following import Follower
from weft.log.message import Message
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import Forbidden, WeftError
from weft_schemas.subjects import item_subject

PATIENCE = 60.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedServer]:
    async with guarded_server(tmp_path_factory.mktemp("guarded")) as server:
        yield server


async def state(admin: Connection) -> dict[str, int]:
    """Stored subject → events under it."""
    answer = await call(admin, "STREAM.INFO.weft", {"subjects_filter": ">"})
    return dict(answer["state"].get("subjects", {}))


@pytest_asyncio.fixture
async def admin(guarded: EmbeddedServer) -> AsyncIterator[Connection]:
    """The administrator, over an emptied log."""
    async with signed_in(guarded, "admin") as connection:
        await call(connection, "STREAM.PURGE.weft", {})
        yield connection


def stored(subjects: dict[str, int]) -> set[str]:
    """Without the partition number."""
    return {re.sub(r"\.\d+\.", ".", subject, count=1) for subject in subjects}


async def test_an_agents_item_is_stored_and_acknowledged_across_accounts(guarded, admin):
    async with signed_in(guarded, "acme-agent") as agent, Publisher(agent) as publisher:
        messages = [
            Message(item_subject("acme", "s1", "user_turn"), b"{}", f"id-{n}") for n in range(500)
        ]
        acks = await publisher.publish_many([*messages, *messages])
        assert [ack.sequence for ack in acks[:500]] == [ack.sequence for ack in acks[500:]]
        assert all(ack.duplicate for ack in acks[500:])
    assert stored(await state(admin)) == {"w.in.acme.s1.user_turn"}


async def test_naming_another_tenant_is_forbidden_in_words(guarded, admin):
    subject = item_subject("rival", "s1", "user_turn")
    async with signed_in(guarded, "acme-agent") as agent, Publisher(agent) as publisher:
        with pytest.raises(Forbidden, match=f"does not allow .*{subject}"):
            await publisher.publish(subject, b"{}")
    assert await state(admin) == {}


@pytest.mark.parametrize(
    "reply",
    [
        "weft.rival.s1.in.user_turn",
        "weft.acme.s1.out.envelope",
        "weft.acme.@tenant.out.context_policy",
        "w.in.3.rival.s1.user_turn",
        "$JS.API.STREAM.PURGE.weft",
        "$JS.API.STREAM.DELETE.weft",
        "$JS.API.CONSUMER.DELETE.weft.firewall",
        "$JS.ACK.weft.firewall.1.1.1.1.0",
        "weft-rpc.rival.s1.compile",
    ],
)
async def test_an_acknowledgement_cannot_be_sent_where_its_publisher_may_not_write(
    guarded, admin, reply
):
    async with signed_in(guarded, "acme-agent") as agent:
        for subject in ("weft.acme.s1.in.user_turn", "weft-rpc.acme.s1.compile"):
            await agent.publish(subject, b"{}", reply=reply)
        await answered(agent)
        await agent.request("weft.acme.s1.in.user_turn", b"{}", timeout=PATIENCE)
    assert stored(await state(admin)) == {"w.in.acme.s1.user_turn"}
    assert await call(admin, "CONSUMER.INFO.weft.firewall")


async def test_a_reply_reaches_who_asked_and_no_listener_of_another_account(guarded, admin):
    users = ("acme-agent", "acme-reader", "acme-operator", "rival-agent")
    heard: dict[str, list[bytes]] = {user: [] for user in users}
    async with AsyncExitStack() as stack:
        replica = await stack.enter_async_context(signed_in(guarded, "replica"))
        people = {user: await stack.enter_async_context(signed_in(guarded, user)) for user in users}

        async def answer(request: Msg) -> None:
            await replica.publish(request.reply, b"compiled for " + request.subject.encode())

        await replica.subscribe("weft-rpc.*.*.compile", queue="compiler", cb=answer)
        await replica.flush()
        for user, person in people.items():

            async def hear(message: Msg, user: str = user) -> None:
                heard[user].append(message.data)

            await person.subscribe("_INBOX.>", cb=hear)
            await person.flush()
        reply = await people["acme-operator"].request(
            "weft-rpc.acme.s1.compile", b"{}", timeout=PATIENCE
        )
        for person in people.values():
            await answered(person)
    assert reply.data == b"compiled for weft-rpc.acme.s1.compile"
    assert {user for user, messages in heard.items() if messages} <= {"acme-operator"}


async def test_a_tenant_cannot_read_a_stored_body_by_any_request(guarded, admin):
    await admin.request("weft.acme.s1.in.tool_result", b"a raw body", timeout=PATIENCE)
    requests = {
        "$JS.API.STREAM.MSG.GET.weft": b'{"seq":1}',
        "$JS.API.DIRECT.GET.weft": b'{"seq":1}',
        "$JS.API.CONSUMER.MSG.NEXT.weft.firewall": b"1",
    }
    subject = next(iter(await state(admin)))
    requests[f"$JS.API.DIRECT.GET.weft.{subject}"] = b""
    for user in TENANT_USERS:
        async with signed_in(guarded, user) as connection:
            for request, body in requests.items():
                with pytest.raises((nats.errors.NoRespondersError, nats.errors.TimeoutError)):
                    await connection.request(request, body, timeout=0.1)


@pytest.mark.parametrize("path", ["", ".firewall", ".firewall.w.in.>", ".mine", ".mine.w.none"])
@pytest.mark.parametrize("name", [{"durable_name": "firewall"}, {"name": "firewall"}])
async def test_a_process_that_may_follow_cannot_change_a_workers_consumer(
    guarded, admin, path, name
):
    before = (await call(admin, "CONSUMER.INFO.weft.firewall"))["config"]
    config = name | {"ack_policy": "explicit", "filter_subject": "w.none"}
    body = {"stream_name": "weft", "config": config}
    async with signed_in(guarded, "replica") as replica:
        # Where the subject names another consumer, the server makes that one.
        with suppress(WeftError):
            await call(replica, f"CONSUMER.CREATE.weft{path}", body, timeout=0.2)
    assert (await call(admin, "CONSUMER.INFO.weft.firewall"))["config"] == before


async def test_a_replica_follows_the_log_to_its_end(guarded, admin):
    for _ in range(3):
        await admin.request("weft.acme.s1.in.user_turn", b"{}", timeout=PATIENCE)
    last = await last_sequence(admin)
    async with signed_in(guarded, "replica") as replica, Follower(replica) as follower:
        async for followed in follower:
            if followed.through >= last:
                break
    assert followed.through == last


@pytest.mark.parametrize(
    ("user", "durable"), [("firewall", "firewall"), ("worker", "summarizer"), ("worker", "memory")]
)
async def test_a_worker_takes_and_settles_its_events(guarded, admin, user, durable):
    ack = await admin.request("weft.acme.s1.in.tool_result", b"{}", timeout=PATIENCE)
    async with signed_in(guarded, user) as person, Consumer(person, durable) as consumer:
        async for batch in consumer:
            for delivery in batch:
                delivery.ack()
            if batch[-1].record.sequence == json.loads(ack.data)["seq"]:
                break
    # The server takes acknowledgements in some time after it has them.
    await until_finished(admin, durable)
