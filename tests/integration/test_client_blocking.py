"""The client without an event loop: threads, forks, and tools that use it in the middle of a
call."""

import asyncio
import multiprocessing
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from nats.aio.msg import Msg

import weft
from weft.log.connection import Connection
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.items import ContextItem, ItemKind

ENOUGH_SECONDS = 30.0


def item(name: str) -> ContextItem:
    return ContextItem(name, ItemKind.USER_TURN, "hello")


@pytest.fixture
async def silent(log: Connection) -> AsyncIterator[asyncio.Event]:
    """Services that take every request and answer none; set once they have one."""
    asked = asyncio.Event()

    async def keep(_: Msg) -> None:
        asked.set()

    service = await log.subscribe("weft-rpc.>", cb=keep)
    await log.flush()
    yield asked
    await service.unsubscribe()


@pytest.fixture
def client(server: EmbeddedServer, log: Connection) -> Iterator[weft.SyncClient]:
    with weft.connect_sync(server.url, tenant="acme") as connected:
        yield connected


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(8)
    yield pool
    pool.shutdown(wait=False)


async def told(call: "Future[Any]") -> BaseException | None:
    """The error that a call in another thread ends with."""
    return await asyncio.to_thread(call.exception, ENOUGH_SECONDS)


CALLS: dict[str, Callable[[weft.SyncClient], Any]] = {
    "compile": lambda client: client.compile("s", "answer", timeout=60),
    "status": lambda client: client.status("s"),
    "first of a session": lambda client: client.publish_messages(
        "s", [{"role": "user", "content": "hello"}]
    ),
    "session": lambda client: client.session("s", timeout=60).request("openai"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_that_another_thread_closes_ends_and_says_so(
    name: str,
    client: weft.SyncClient,
    silent: asyncio.Event,
    others: ThreadPoolExecutor,
) -> None:
    calling = others.submit(CALLS[name], client)
    await silent.wait()
    await asyncio.to_thread(client.close)
    error = await told(calling)
    assert isinstance(error, weft.Unavailable)
    assert "closed" in str(error)
    assert "connect again" in str(error)


async def test_a_reader_that_follows_a_session_ends_with_the_client(
    client: weft.SyncClient, others: ThreadPoolExecutor
) -> None:
    client.publish("s", item("m1"))
    read: asyncio.Queue[Any] = asyncio.Queue()
    here = asyncio.get_running_loop()

    def follow() -> None:
        for record in client.events("s", follow=True):
            here.call_soon_threadsafe(read.put_nowait, record)

    following = others.submit(follow)
    await read.get()
    await asyncio.to_thread(client.close)
    assert isinstance(await told(following), weft.Unavailable)


async def test_a_publish_without_a_server_ends_with_the_client(
    tmp_path: Any, others: ThreadPoolExecutor
) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        client = weft.connect_sync(server.url).__enter__()
        await server.stop()
        publishing = others.submit(client.publish, "s", item("m1"))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(client.close)
        error = await told(publishing)
    assert isinstance(error, weft.Unavailable)
    assert "publish" in str(error)


async def test_a_client_is_usable_without_with(server: EmbeddedServer, log: Connection) -> None:
    client = weft.connect_sync(server.url, tenant="acme")
    assert client.publish("s", item("m1")).count == 1
    client.close()
    with pytest.raises(weft.Unavailable, match="closed"):
        client.publish("s", item("m2"))


def test_a_client_that_was_never_used_can_be_closed() -> None:
    weft.connect_sync().close()


def test_an_iterator_of_items_that_uses_its_client_is_refused(client: weft.SyncClient) -> None:
    def items() -> Iterator[ContextItem]:
        client.publish("s", item("inner"))
        yield item("outer")

    with pytest.raises(weft.InvalidInput, match="called by something that it runs itself"):
        client.publish("s", items())
    assert client.publish("s", item("after")).sequence == 1


def in_a_forked_process(work: Callable[[], Any]) -> str:
    """What the work says in a child of this process: its result, or its error."""
    context = multiprocessing.get_context("fork")
    said = context.SimpleQueue()

    def run() -> None:
        try:
            said.put(repr(work()))
        except BaseException as error:
            said.put(f"{type(error).__name__}: {error}")

    child = context.Process(target=run)
    child.start()
    child.join(ENOUGH_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
        return "it hangs"
    return str(said.get())


async def test_a_forked_process_is_told_to_connect_itself(
    client: weft.SyncClient, server: EmbeddedServer
) -> None:
    def fork() -> str:
        client.publish("s", item("m1"))
        told = in_a_forked_process(lambda: client.publish("s", item("m2")))
        assert in_a_forked_process(client.close) == "None"
        return told

    told = await asyncio.to_thread(fork)
    assert "forked" in told
    assert "connect again in this process" in told
    assert client.publish("s", item("m3")).sequence == 2, "the parent's client goes on"


CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


async def test_no_tool_runs_for_a_client_that_cannot_be_used(
    client: weft.SyncClient, server: EmbeddedServer
) -> None:
    def fork() -> str:
        with client.session("s") as session:
            return in_a_forked_process(lambda: session.run(CALL, {"look_up": lambda: 1 / 0}))

    assert "connect again in this process" in await asyncio.to_thread(fork)
    runs: list[str] = []
    session = client.session("s")
    client.close()
    with pytest.raises(weft.Unavailable, match="closed"):
        session.run(CALL, {"look_up": lambda: runs.append("ran")})
    assert not runs


def test_an_argument_of_a_tool_may_have_any_name(client: weft.SyncClient) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"self": 1}'}}
    with client.session("s") as session:
        session.run(call, {"f": lambda **given: given})
    [result] = [record.event() for record in client.events("s")]
    assert result.text == '{"self":1}'


def test_a_tool_runs_in_the_thread_that_asked_for_it(client: weft.SyncClient) -> None:
    """So it may use this very client, and whatever belongs to a thread."""
    rows = sqlite3.connect(":memory:")

    def look_up() -> list[Any]:
        client.publish("other", item("from within"))
        return rows.execute("select 7").fetchall()

    with client.session("s") as session:
        session.add({"role": "user", "content": "Where?"})
        session.add({"role": "assistant", "content": None, "tool_calls": [CALL]})
        assert session.run(CALL, {"look_up": look_up})
    texts = [record.event() for record in client.events("s")]
    assert texts[-1].text == "[[7]]"
    rows.close()


@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_that_fails_fails_once(client: weft.SyncClient, is_async: bool) -> None:
    runs: list[threading.Thread] = []

    def look_up() -> None:
        runs.append(threading.current_thread())
        raise ValueError("no such order")

    async def look_up_slowly() -> None:
        await asyncio.sleep(0)
        look_up()

    with client.session("s") as session:
        session.add({"role": "user", "content": "Where?"})
        session.add({"role": "assistant", "content": None, "tool_calls": [CALL]})
        assert session.run(CALL, {"look_up": look_up_slowly if is_async else look_up})
        assert not session.run(CALL)
    texts = [record.event() for record in client.events("s")]
    assert texts[-1].text == "ValueError: no such order"
    assert len(runs) == 1
