"""Publishing through the client: stored once, in order, whole or not at all."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
from tests.integration.logged import PATIENCE

import weft
import weft.testing
from weft.client import lazy_connection
from weft.client.sending import FEW
from weft.log.bodies import Bodies
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.reading import last_sequence, read_session
from weft.log.transport import connect
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import InvalidInput
from weft_schemas.events import SessionClosedEvent
from weft_schemas.items import BodyRef, ContextItem, ItemKind


def items(count: int, text: str = "hello") -> list[ContextItem]:
    return [ContextItem(f"m{n}", ItemKind.USER_TURN, f"{text} {n}") for n in range(count)]


@pytest.fixture
async def client(server: EmbeddedServer, log: Connection) -> AsyncIterator[weft.Client]:
    async with weft.connect(server.url, tenant="acme") as connected:
        yield connected


async def stored(log: Connection, session: str) -> list[object]:
    return [record.event() async for record in read_session(log, "acme", session)]


async def test_one_item_is_acknowledged_with_its_sequence(
    client: weft.Client, log: Connection
) -> None:
    ack = await client.publish("s1", items(1)[0])
    assert (ack.sequence, ack.count, ack.duplicates) == (1, 1, 0)
    assert await stored(log, "s1") == items(1)


async def test_many_stand_in_their_order(client: weft.Client, log: Connection) -> None:
    ack = await client.publish("s1", items(3_000))
    assert (ack.first, ack.sequence, ack.count) == (1, 3_000, 3_000)
    assert ack.ids == tuple(item.id for item in items(3_000))
    assert await stored(log, "s1") == items(3_000)


async def test_iterators_of_both_kinds_are_taken(client: weft.Client, log: Connection) -> None:
    def lazily() -> Iterator[ContextItem]:
        yield from items(5)

    async def slowly() -> AsyncIterator[ContextItem]:
        for item in items(5):
            yield item

    assert (await client.publish("s1", lazily())).count == 5
    assert (await client.publish("s2", slowly())).count == 5
    assert await stored(log, "s2") == items(5)


@pytest.mark.parametrize("count", [1, 10, FEW, FEW + 1, 2_000])
async def test_the_same_again_adds_nothing(
    client: weft.Client, log: Connection, count: int
) -> None:
    first = await client.publish("s1", items(count))
    assert (first.first, first.sequence) == (1, count)
    again = await client.publish("s1", items(count))
    assert (again.first, again.sequence, again.count) == (count + 1, count, count)
    assert await last_sequence(log) == count


async def test_many_at_once_share_one_inbox_for_batches(
    client: weft.Client, log: Connection
) -> None:
    await asyncio.gather(*(client.publish(f"s{n}", items(2 * FEW)) for n in range(3)))
    inboxes = len(client.connection._subs)
    await client.publish("s3", items(2 * FEW))
    assert len(client.connection._subs) == inboxes == 3, "of publisher, batches and requests"


async def test_a_session_that_grew_says_from_where_it_is_new(
    client: weft.Client, log: Connection
) -> None:
    await client.publish("s1", items(1_000))
    grown = await client.publish("s1", items(3_000))
    assert (grown.first, grown.sequence, grown.count) == (1_001, 3_000, 3_000)
    assert await stored(log, "s1") == items(3_000)


async def test_two_sessions_may_use_the_same_ids(client: weft.Client, log: Connection) -> None:
    await client.publish("s1", items(2))
    ack = await client.publish("s2", items(2))
    assert ack.duplicates == 0


async def test_one_bad_item_in_a_list_keeps_all_from_being_sent(
    client: weft.Client, log: Connection
) -> None:
    bad = ContextItem("bad", ItemKind.USER_TURN, "lone \ud800")
    with pytest.raises(weft.InvalidInput, match=r"item 'bad': \$\.text has a lone surrogate"):
        await client.publish("s1", [*items(3), bad])
    with pytest.raises(weft.InvalidInput, match="expected a ContextItem, got dict"):
        await client.publish("s1", [*items(3), {"id": "x"}])  # type: ignore[list-item]
    assert await last_sequence(log) == 0


async def test_a_large_text_goes_to_the_object_store(client: weft.Client, log: Connection) -> None:
    text = "größer " * 60_000
    await client.publish("s1", ContextItem("big", ItemKind.TOOL_RESULT, text))
    (item,) = await stored(log, "s1")
    assert isinstance(item, ContextItem)
    assert item.text == ""
    assert item.body is not None
    assert item.body.size == len(text.encode())
    again = await client.publish("s1", ContextItem("big", ItemKind.TOOL_RESULT, text))
    assert again.duplicates == 1


async def test_of_an_item_that_no_message_takes_the_longest_field_is_named(
    client: weft.Client, log: Connection
) -> None:
    long = "y" * log.max_payload
    call = ContextItem(
        "huge",
        ItemKind.TOOL_CALL,
        "f()",
        metadata={"tool_name": "f", "arguments": {"x": long}},
    )
    told = (
        r"item 'huge': \$\.metadata\.arguments has 8,388,628 bytes of .*: shorten it, or give it as"
    )
    with pytest.raises(InvalidInput, match=told):
        await client.publish("s1", [*items(2), call])
    with pytest.raises(InvalidInput, match=told):
        await client.publish("s1", msgspec.structs.replace(call, text=long * 2))
    assert await stored(log, "s1") == []
    assert (await client.publish("s1", ContextItem("a", ItemKind.TOOL_RESULT, long))).count == 1


async def test_a_body_reference_is_published_as_it_is_where_the_body_is_the_tenants(
    client: weft.Client, log: Connection
) -> None:
    async with Publisher(log) as publisher:
        body = await Bodies(log, publisher, client.tenant).put(b"x" * 300_000)
        rivals = await Bodies(log, publisher, "rival").put(b"y" * 300_000)
    item = ContextItem("b", ItemKind.TOOL_RESULT, body=body)
    await client.publish("s1", item)
    for unknown in (rivals, BodyRef("0" * 64, 10)):
        with pytest.raises(InvalidInput, match="has no such body"):
            await client.publish("s1", ContextItem("c", ItemKind.TOOL_RESULT, body=unknown))
    assert await stored(log, "s1") == [item]


async def test_the_tenants_own_session_takes_no_items(client: weft.Client, log: Connection) -> None:
    with pytest.raises(InvalidInput, match="carries the tenant's own events"):
        await client.publish("@tenant", items(1))
    with pytest.raises(InvalidInput, match="carries the tenant's own events"):
        await client.close_session("@tenant")
    assert await last_sequence(log) == 0


async def test_closing_a_session_is_an_event(client: weft.Client, log: Connection) -> None:
    await client.publish("s1", items(1))
    await client.close_session("s1")
    assert (await stored(log, "s1"))[1] == SessionClosedEvent(0, "closed")


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ("", "session '' is 0 bytes; give 1 to 256"),
        (None, "session None is of type NoneType; give a str"),
        (5, "session 5 is of type int; give a str"),
        ("\ud800", "session .* is not valid Unicode; rename it"),
    ],
)
async def test_a_session_that_is_no_name_is_refused_as_a_session(
    client: weft.Client, log: Connection, session: Any, told: str
) -> None:
    for asked in (
        client.publish(session, items(1)),
        client.publish_messages(session, [{"role": "user", "content": "hello"}]),
        client.close_session(session),
        client.compile(session, "answer"),
    ):
        with pytest.raises(InvalidInput, match=told):
            await asked
    async with weft.testing.in_memory() as memory:
        with pytest.raises(InvalidInput, match=told):
            await memory.publish(session, items(1))


@pytest.mark.parametrize("given", [{"id": "a", "kind": "user_turn"}, "hello", b"x", None, 5])
async def test_what_is_no_item_is_refused_with_what_to_give(
    client: weft.Client, log: Connection, given: Any
) -> None:
    told = f"expected a ContextItem or several, got a value of type {type(given).__name__}; make"
    with pytest.raises(InvalidInput, match=told):
        await client.publish("s1", given)
    async with weft.testing.in_memory() as memory:
        with pytest.raises(InvalidInput, match=told):
            await memory.publish("s1", given)


async def test_names_of_any_kind_are_kept(client: weft.Client, log: Connection) -> None:
    await client.publish("s/1 ü.*>", items(1))
    assert await stored(log, "s/1 ü.*>") == items(1)


async def test_events_are_read_from_a_sequence_and_followed(
    client: weft.Client, log: Connection
) -> None:
    await client.publish("s1", items(3))
    await client.publish("other", items(1))
    seen = [record.sequence async for record in client.events("s1", first=2)]
    assert seen == [2, 3]
    followed = client.events("s1", first=3, follow=True)
    assert (await anext(followed)).sequence == 3
    await client.publish("s1", ContextItem("new", ItemKind.USER_TURN, "x"))
    assert (await anext(followed)).sequence == 5
    await followed.aclose()


async def test_without_services_a_compile_says_what_to_do(
    client: weft.Client, log: Connection
) -> None:
    with pytest.raises(weft.Unavailable, match="start the services with `weft up`"):
        await client.compile("s1", phase="answer")
    with pytest.raises(weft.InvalidInput, match="phase 'dream' is unknown; use route, call"):
        await client.compile("s1", phase="dream")


async def test_without_a_server_connecting_says_so() -> None:
    with pytest.raises(weft.Unavailable, match="no nats-server answers at nats://127"):
        async with weft.connect("nats://127.0.0.1:1"):
            pass


async def test_a_closed_client_says_so_at_every_call(
    server: EmbeddedServer, log: Connection
) -> None:
    async with weft.connect(server.url, tenant="acme") as client:
        await client.publish("s1", items(1))
    calls = [
        lambda: client.publish("s1", items(1)),
        lambda: client.publish("s1", items(2 * FEW)),
        lambda: client.publish_messages("s1", [{"role": "user", "content": "hello"}]),
        lambda: client.close_session("s1"),
        lambda: client.compile("s1", "answer"),
        lambda: client.status("s1"),
        lambda: anext(client.events("s1")),
    ]
    async with asyncio.timeout(PATIENCE):
        for one in calls:
            with pytest.raises(weft.Unavailable, match="this client is closed; connect again"):
                await one()
    with pytest.raises(weft.Unavailable, match="this client is closed"):
        _ = client.operator


async def test_a_client_that_is_closed_while_it_connects_leaves_no_connection(
    server: EmbeddedServer, log: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Connection] = []
    client = weft.connect(server.url, tenant="acme")

    async def connect_and_close(**options: Any) -> Connection:
        made.append(await connect(**options))
        await client.__aexit__()
        return made[0]

    monkeypatch.setattr(lazy_connection, "connect", connect_and_close)
    before = asyncio.all_tasks()
    with pytest.raises(weft.Unavailable, match="this client is closed"):
        await client.__aenter__()
    assert made[0].is_closed
    assert not client.is_up
    async with asyncio.timeout(PATIENCE):
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("count", [1, 2 * FEW])
async def test_a_publish_whose_client_is_closed_says_that_it_may_be_stored(
    server: EmbeddedServer, log: Connection, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with weft.connect(server.url, tenant="acme") as client:
        # What goes over the wire in a batch, or alone, is lost.
        await client.publish("s1", items(1))
        write, sent = client.connection.write_soon, asyncio.Event()

        def lose(data: bytes) -> None:
            if count == 1 or b".$FI" in data:
                sent.set()
            else:
                write(data)

        monkeypatch.setattr(client.connection, "write_soon", lose)
        publishing = asyncio.create_task(client.publish("s1", items(count, "other")))
        await sent.wait()
    with pytest.raises(weft.Unavailable, match=r"may be stored; connect again.*stored once"):
        await asyncio.wait_for(publishing, PATIENCE)


async def test_in_another_event_loop_a_client_says_where_it_lives(
    client: weft.Client, log: Connection
) -> None:
    calls = [
        lambda: client.publish("s1", items(1)),
        lambda: client.publish_messages("s1", [{"role": "user", "content": "hello"}]),
        lambda: client.status("s1"),
        lambda: anext(client.events("s1")),
    ]
    for one in calls:

        async def call(made: Any = one) -> Any:
            return await made()

        with pytest.raises(InvalidInput, match=r"another event loop.*connect in each"):
            await asyncio.to_thread(asyncio.run, call())
    assert (await client.publish("s1", items(1))).count == 1


async def test_a_client_that_found_no_server_in_one_loop_may_try_in_the_next() -> None:
    client = weft.connect("nats://127.0.0.1:9", lazily=True)
    for _ in range(2):
        with pytest.raises(weft.Unavailable):
            await asyncio.to_thread(asyncio.run, client.status("s1"))


async def test_a_trace_is_carried_along(client: weft.Client, log: Connection) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await client.publish("s1", items(1), traceparent=parent)
    (record,) = [record async for record in read_session(log, "acme", "s1")]
    assert record.traceparent == parent
