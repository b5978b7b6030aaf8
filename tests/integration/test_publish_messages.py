"""A history that is handed over at every step stands in the log once, whoever hands it over."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

import weft
from weft_schemas.items import ContextItem, ItemKind

pytestmark = pytest.mark.asyncio(loop_scope="module")

Chat = list[dict[str, Any]]


@pytest_asyncio.fixture(loop_scope="module")
async def client(url: str) -> AsyncIterator[weft.Client]:
    async with weft.connect(url, tenant="acme") as connected:
        yield connected


def system() -> dict[str, Any]:
    return {"role": "system", "content": "You sell lamps."}


def exchange(number: int, user: str = "yes") -> Chat:
    """What the user says, a call, its result and an answer, of which much is always the same."""
    call = {"name": "look_up", "arguments": f'{{"order": {number}}}'}
    return [
        {"role": "user", "content": user},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": "shipped"},
        {"role": "assistant", "content": "Done."},
    ]


async def logged(client: weft.Client, session: str) -> list[ContextItem]:
    """The session's items as they stand in the log, doubles and all."""
    events = [record.event() async for record in client.events(session)]
    return [event for event in events if isinstance(event, ContextItem)]


async def test_a_growing_history_is_published_once(client: weft.Client) -> None:
    chat = [system()]
    for number in range(4):
        for message in exchange(number):
            chat.append(message)
            published = await client.publish_messages("grows", chat)
            assert len(published.new) == (2 if number == 0 and len(chat) == 2 else 1)
            assert published.conflicts == ()
    items = await logged(client, "grows")
    assert [item.id for item in items] == list(published.ids)
    assert len(items) == 17
    again = await client.publish_messages("grows", chat)
    assert (again.new, again.ids) == ((), published.ids)
    results = [item for item in items if item.kind is ItemKind.TOOL_RESULT]
    calls = [item.id for item in items if item.kind is ItemKind.TOOL_CALL]
    assert [item.parent_id for item in results] == calls


async def test_another_process_at_each_step_doubles_nothing(url: str, client: weft.Client) -> None:
    """Each knows only the log, and is handed only what the framework kept."""
    chat: Chat = []
    for number in range(5):
        chat.extend(exchange(number))
        kept = [system(), *chat[-7:]]
        async with weft.connect(url, tenant="acme") as process:
            published = await process.publish_messages("restarts", kept)
            assert published.conflicts == ()
    items = await logged(client, "restarts")
    assert len({item.id for item in items}) == len(items) == 1 + 5 * 4
    assert [item.text for item in items if item.kind is ItemKind.USER_TURN] == ["yes"] * 5


async def test_processes_that_know_different_parts_give_the_same_ids(url: str) -> None:
    """One hands over a history of which another has published more meanwhile."""
    async with (
        weft.connect(url, tenant="acme") as first,
        weft.connect(url, tenant="acme") as second,
    ):
        chat = [system(), *exchange(0)]
        await first.publish_messages("turns", chat)
        chat += exchange(1)
        await second.publish_messages("turns", chat)
        chat += exchange(2)
        third = await first.publish_messages("turns", chat)
        assert third.conflicts == ()
        items = await logged(first, "turns")
        assert len({item.id for item in items}) == 13
        confirmed = await first.confirm("turns", third.ids)
        assert (confirmed.stored, confirmed.conflicts, confirmed.missing) == (13, (), ())


async def test_an_edited_past_message_is_reported_and_not_published(client: weft.Client) -> None:
    chat = [system(), *exchange(0), *exchange(1)]
    before = await client.publish_messages("edited", chat)
    chat[3] = {**chat[3], "content": "lost"}
    chat.insert(5, {"role": "user", "content": "psst"})
    chat.append({"role": "user", "content": "and now?"})
    published = await client.publish_messages("edited", chat)
    assert [(one.index, one.reason) for one in published.conflicts] == [
        (3, "edited"),
        (5, "inserted"),
    ]
    assert published.conflicts[0].item_id == before.ids[3]
    assert len(published.new) == 1
    assert [item.text for item in await logged(client, "edited")][-1] == "and now?"
    assert len(await logged(client, "edited")) == 10
    with pytest.raises(weft.Conflict, match=r"message 3 of the history differs .*2 such"):
        await client.publish_messages("edited", [*chat, system()], on_edit="raise")
    assert len(await logged(client, "edited")) == 10


async def test_what_is_left_out_is_told(client: weft.Client) -> None:
    published = await client.publish_messages(
        "media",
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "what is this?"},
                    {"type": "image", "source": {"type": "url", "url": "https://x.test/cat.png"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "a cat", "signature": "…"},
                    {"type": "text", "text": "a cat"},
                ],
            },
        ],
    )
    assert published.left_out == {"image": 1, "reasoning": 1}
    assert weft.messages.left_out_in_words(published.left_out) == "1 image and 1 part of reasoning"


async def test_a_session_reads_what_it_wrote(client: weft.Client) -> None:
    async with client.session("loop", budget=4_000, timeout=60) as s:
        s.add({"role": "user", "content": "Where is order 7?"})
        request = await s.request("openai")
        assert "order 7" in str(request["messages"])
        assert [tool["function"]["name"] for tool in request["tools"]] == ["weft_drilldown"]
        call = {"id": "a1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        s.add({"role": "assistant", "content": None, "tool_calls": [call]})
        assert await s.run(call, {"look_up": lambda: {"state": "shipped"}})
        request = await s.request("anthropic")
        assert "shipped" in str(request["messages"])
        assert s.pack is not None
        assert s.pack.pending == ()
    items = await logged(client, "loop")
    assert items[2].parent_id == items[1].id
    chat = [
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    assert (await client.publish_messages("loop", chat)).new == ()


async def test_a_tool_that_the_model_invented_gets_a_failed_result_that_names_the_others(
    client: weft.Client,
) -> None:
    async with client.session("invented", budget=4_000, timeout=60) as s:
        s.add({"role": "user", "content": "go"})
        use = {"type": "tool_use", "id": "t1", "name": "find_up", "input": {}}
        s.add({"role": "assistant", "content": [use]})
        assert await s.run(use, {"look_up": lambda: "", "book": lambda: ""})
        (result,) = (await s.request("anthropic"))["messages"][-1]["content"]
        assert result["is_error"] is True
        told = "there is no tool 'find_up'; call one of these: look_up, book, weft_drilldown"
        assert told in result["content"]


async def test_a_failing_tool_and_a_wrong_handle_are_results_that_tell_the_model(
    client: weft.Client,
) -> None:
    def breaks(order: int) -> str:
        raise RuntimeError(f"no order {order}")

    async with client.session("fails", budget=4_000, timeout=60) as s:
        s.add({"role": "user", "content": "go"})
        use = {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"order": 3}}
        look = {"handle": "art:aaaaaaaaaa", "view": "head"}
        drill = {"type": "tool_use", "id": "t2", "name": "weft_drilldown", "input": look}
        s.add({"role": "assistant", "content": [use, drill]})
        assert await s.run(use, {"look_up": breaks})
        assert await s.run(drill)
        assert not await s.run({**use, "name": "other"})
        request = await s.request("anthropic")
        results = request["messages"][-1]["content"]
        assert [one["is_error"] for one in results] == [True, True]
        assert "RuntimeError: no order 3" in results[0]["content"]
        assert "art:aaaaaaaaaa" in results[1]["content"]


async def test_the_same_without_a_loop(url: str) -> None:
    await asyncio.to_thread(without_a_loop, url)


def without_a_loop(url: str) -> None:
    with weft.connect_sync(url, tenant="acme") as client:
        published = client.publish_messages("sync", exchange(0))
        assert len(published.new) == 4
        with client.session("sync", budget=2_000, timeout=60) as s:
            s.add({"role": "user", "content": "again?"})
            assert "again?" in str(s.request("gemini")["contents"])
        assert [record.sequence for record in client.events("sync")]
    with pytest.raises(weft.Unavailable, match="closed"):
        client.status("sync")


async def test_a_blocking_client_works_within_a_running_loop(url: str) -> None:
    with weft.connect_sync(url, tenant="acme") as client:
        assert client.status().tenant == "acme"
