"""A server that is away takes no agent down: what it publishes waits, and is sent once."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import empty
from tests.provider_rules import check_openai

import weft
from weft.log.topology import provision
from weft.log.transport import connect
from weft.supervision.embedded_server import MAX_PAYLOAD, EmbeddedServer
from weft_schemas.items import ContextItem, ItemKind

Chat = list[dict[str, Any]]


@pytest.fixture
async def away(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    """A server with a log, which is not running."""
    async with EmbeddedServer(tmp_path / "nats") as server:
        connection = await connect(server.url)
        await empty(connection)
        await provision(connection)
        await connection.close()
        await server.stop()
        yield server


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def spooling(client: weft.Client, folder: Path) -> weft.Session:
    return client.session("s", on_unavailable="spool", spool=folder / "spool", timeout=0.1)


async def texts(client: weft.Client) -> list[str]:
    events = [record.event() async for record in client.events("s")]
    return [event.text for event in events if isinstance(event, ContextItem)]


async def test_an_agent_starts_and_goes_on_without_a_server(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    async with weft.connect(away.url, lazily=True) as client, spooling(client, tmp_path) as s:
        s.add(said("user", "Where is order 7?"))
        call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        s.add({"role": "assistant", "content": None, "tool_calls": [call]})
        assert await s.run(call, {"look_up": lambda: "shipped"})
        with pytest.warns(weft.UnavailableWarning, match="neither scanned"):
            request = await s.request("openai", tools=[{"mine": 1}])
        assert request.pop("tools") == [{"mine": 1}]
        check_openai(request)
        assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool"]
        with pytest.warns(weft.UnavailableWarning):
            request = await s.request("anthropic", fallback=[said("user", "as it is")])
        assert request["messages"] == [said("user", "as it is")]
        with pytest.raises(weft.Unavailable):
            await s.compile()
        assert s.pack is None
    assert [path.stat().st_mode & 0o77 for path in (tmp_path / "spool").iterdir()] == [0, 0]
    await away.start()
    async with weft.connect(away.url) as client, spooling(client, tmp_path) as s:
        s.add(said("assistant", "It is here."))
        await s.flush()
        assert await texts(client) == [
            "Where is order 7?",
            "look_up({})",
            "shipped",
            "It is here.",
        ]
        items = [record.event() async for record in client.events("s")]
        assert isinstance(items[2], ContextItem)
        assert items[2].parent_id == items[1].id  # type: ignore[union-attr]
        assert not list((tmp_path / "spool").glob("*.jsonl"))


async def test_a_history_that_was_handed_over_meanwhile_is_sent_once(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    """Whether the process knew the log before, or starts without it."""
    chat: Chat = [said("user", "yes"), said("assistant", "ok")]
    await away.start()
    async with weft.connect(away.url) as client, spooling(client, tmp_path) as s:
        await s.publish(chat)
        await away.stop()
        chat += [said("user", "yes"), said("assistant", "ok"), said("user", "yes")]
        first = await s.publish(chat)
        assert (first.spooled, first.new, first.conflicts) == (True, (), ())
        assert (await s.publish(chat)).spooled
    async with weft.connect(away.url, lazily=True) as client, spooling(client, tmp_path) as s:
        chat.append(said("assistant", "done"))
        assert (await s.publish(chat)).spooled
        chat.append(said("user", "thanks"))
        assert (await s.publish(chat)).spooled
        await away.start()
        published = await until_sent(s, chat)
        assert await texts(client) == [message["content"] for message in chat]
        assert s.after == published.sequence == len(chat)


@pytest.mark.parametrize("knows_log", [True, False])
async def test_a_message_that_was_sent_again_with_another_file_is_sent_once(
    away: EmbeddedServer, tmp_path: Path, knows_log: bool
) -> None:
    def asked(*totals: int) -> Chat:
        files = [
            {"type": "document", "source": {"type": "text", "data": f"Total {total}"}}
            for total in totals
        ]
        return [{"role": "user", "content": [*files, {"type": "text", "text": "Summarise"}]}]

    chat: Chat = [said("user", "Hello"), said("assistant", "Hi")]
    await away.start()
    async with weft.connect(away.url) as client, spooling(client, tmp_path) as s:
        await s.publish(chat)
    await (away.stop() if not knows_log else asyncio.sleep(0))
    async with weft.connect(away.url, lazily=True) as client, spooling(client, tmp_path) as s:
        if knows_log:
            await s.publish(chat)
            await away.stop()
        for totals in ((), (100,), (999,)):
            spooled = await s.publish(chat + asked(*totals))
            assert (spooled.spooled, spooled.conflicts) == (True, ())
        await away.start()
        published = await until_sent(s, chat + asked(999))
        expected = ["Hello", "Hi", "Summarise", "100", "Summarise", "999", "Summarise"]
        found = await texts(client)
        assert [text.split()[-1] for text in found] == expected
        again = await client.publish_messages("s", chat + asked(999), on_edit="raise")
        assert (again.new, again.ids) == ((), published.ids)


async def until_sent(session: weft.Session, chat: Chat) -> weft.PublishedMessages:
    """Hand it over until somebody takes it."""
    async with asyncio.timeout(30):
        while (published := await session.publish(chat)).spooled:
            await asyncio.sleep(0.1)
    return published


async def test_a_session_that_waits_goes_on_when_the_server_is_back(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    async with weft.connect(away.url, lazily=True) as client:
        impatient = client.session("s", on_unavailable="wait", wait_timeout=0.0)
        impatient.add(said("user", "lost?"))
        with pytest.raises(weft.Unavailable):
            await impatient.flush()
        async with client.session("s", on_unavailable="wait", wait_timeout=60) as s:
            s.add(said("user", "there?"))
            flushing = asyncio.create_task(s.flush())
            await asyncio.sleep(0.2)
            await away.start()
            await flushing
            assert await texts(client) == ["there?"]
        await impatient.flush()
        assert await texts(client) == ["there?", "lost?"]


async def test_a_malformed_item_is_refused_when_it_is_added(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    await away.start()
    async with weft.connect(away.url) as client, spooling(client, tmp_path) as s:
        with pytest.raises(weft.InvalidInput, match=r"\$\.id is 300 bytes"):
            s.add(ContextItem("x" * 300, ItemKind.USER_TURN, "hi"))
        await s.flush()
    assert not (tmp_path / "spool").exists()


TOO_LARGE = "x" * (MAX_PAYLOAD + 1)
"""Metadata stands in the message itself, unlike a text."""


async def refused_first(away: EmbeddedServer, folder: Path) -> weft.Client:
    """A client whose spool holds an item that no server of this deployment takes, and two more."""
    async with weft.connect(away.url, lazily=True) as client, spooling(client, folder) as s:
        s.add(ContextItem("big", ItemKind.USER_TURN, "too large", metadata={"raw": TOO_LARGE}))
        s.add(said("user", "Where is order 7?"))
        s.add(said("assistant", "It is here."))
        await s.flush()
    await away.start()
    return weft.connect(away.url)


async def test_an_item_that_the_server_refuses_holds_up_nothing_behind_it(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    async with await refused_first(away, tmp_path) as client, spooling(client, tmp_path) as s:
        s.add(said("user", "thanks"))
        with pytest.warns(weft.ParkedWarning, match=r"'big'.*parked in.*max_payload"):
            await s.flush()
        assert await texts(client) == ["Where is order 7?", "It is here.", "thanks"]
        [parked] = s.parked
        assert (parked.item.id, parked.code) == ("big", "invalid_input")
        assert "max_payload" in parked.reason
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            s.add(said("assistant", "Welcome."))
            await s.flush()
    assert {path.stat().st_mode & 0o77 for path in (tmp_path / "spool").iterdir()} == {0}


async def test_what_is_parked_can_be_sent_again(away: EmbeddedServer, tmp_path: Path) -> None:
    async with await refused_first(away, tmp_path) as client, spooling(client, tmp_path) as s:
        with pytest.warns(weft.ParkedWarning):
            await s.publish([])
        assert await s.send_parked() == s.parked != ()
        [file] = (tmp_path / "spool").glob("*.parked")
        file.write_bytes(file.read_bytes().replace(TOO_LARGE.encode(), b"x"))
        assert await s.send_parked() == s.parked == ()
        assert not file.exists()
        assert (await texts(client))[-1] == "too large"


async def test_what_the_credential_may_not_publish_is_parked(tmp_path: Path) -> None:
    rules = (
        "authorization { users = [ { user: agent, password: pw, permissions: {"
        ' publish: { allow: [">"], deny: ["weft.default.s.in.policy"] } } } ] }'
    )
    async with EmbeddedServer(tmp_path / "nats", extra=rules) as server:
        connection = await connect(server.url, user="agent", password="pw")
        await empty(connection)
        await provision(connection)
        await connection.close()
        await server.stop()
        agent = {"user": "agent", "password": "pw"}
        async with weft.connect(server.url, lazily=True, **agent) as client:
            s = spooling(client, tmp_path)
            s.add(said("system", "Be brief."), said("user", "Where is order 7?"))
            await s.flush()
        await server.start()
        async with weft.connect(server.url, **agent) as client, spooling(client, tmp_path) as s:
            with pytest.warns(weft.ParkedWarning, match="does not allow"):
                await s.publish([])
            assert await texts(client) == ["Where is order 7?"]
            assert [(one.item.text, one.code) for one in s.parked] == [("Be brief.", "forbidden")]


async def test_a_spool_that_cannot_be_written_loses_nothing_that_is_handed_over_again(
    away: EmbeddedServer, tmp_path: Path
) -> None:
    """As on a full disk: the error says so, and what was not kept does not count as kept."""
    chat: Chat = [said("user", "yes"), said("assistant", "ok")]
    folder = tmp_path / "spool"
    async with weft.connect(away.url, lazily=True) as client, spooling(client, tmp_path) as s:
        folder.touch()
        for _ in range(2):
            with pytest.raises(weft.Unavailable, match=r"spool: File exists.*`spool=…`"):
                await s.publish(chat)
        folder.unlink()
        assert (await s.publish(chat)).spooled
        [file] = folder.glob("*.jsonl")
        chat += [said("user", "yes"), said("assistant", "done")]
        kept = file.rename(tmp_path / "kept")
        file.mkdir()
        with pytest.raises(weft.Unavailable, match="Is a directory"):
            await s.publish(chat)
        file.rmdir()
        kept.rename(file)
        assert (await s.publish(chat)).spooled
        await away.start()
        await until_sent(s, chat)
        assert await texts(client) == [message["content"] for message in chat]
