"""What one item's fault costs: that item's long part, and nothing that was added with it."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.client.parking import publish_accepted
from weft.client.refusals import ItemRefused
from weft.integrations.shared_session import SharedSession
from weft.log.connection import Connection
from weft.supervision.embedded_server import MAX_PAYLOAD, EmbeddedServer
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

TOO_LONG = "y" * (MAX_PAYLOAD + 1)


def item(name: str) -> ContextItem:
    return ContextItem(name, ItemKind.USER_TURN, name)


def call(name: str, **arguments: str) -> dict[str, Any]:
    function = {"name": f"f_{name}", "arguments": json.dumps(arguments)}
    return {"id": name, "type": "function", "function": function}


HISTORY = [
    {"role": "user", "content": "Write it down."},
    {
        "role": "assistant",
        "content": "I call three.",
        "tool_calls": [call("c1"), call("c2", text=TOO_LONG), call("c3")],
    },
    *({"role": "tool", "tool_call_id": one, "content": f"r{one}"} for one in ("c1", "c2", "c3")),
    {"role": "assistant", "content": "Done."},
]


async def logged(client: weft.Client) -> list[ContextItem]:
    events = [record.event() async for record in client.events("s")]
    return [one for one in events if isinstance(one, ContextItem)]


async def test_of_a_call_that_is_too_long_a_note_is_stored_and_its_result_keeps_it(
    server: EmbeddedServer, log: Connection
) -> None:
    async with weft.connect(server.url) as client:
        session = client.session("s")
        session.add(*HISTORY)
        told = r"\$\.metadata\.arguments has .* bytes.*without what is too long.*else .*published"
        with pytest.raises(InvalidInput, match=told):
            await session.flush()
        assert session.unsent == 0
        items = await logged(client)
        assert [one.kind for one in items] == [
            *[ItemKind.USER_TURN, ItemKind.AGENT_MSG],
            *[ItemKind.TOOL_CALL] * 3,
            *[ItemKind.TOOL_RESULT] * 3,
            ItemKind.AGENT_MSG,
        ]
        calls, results = items[2:5], items[5:8]
        assert [one.parent_id for one in results] == [one.id for one in calls]
        note = calls[1].metadata["arguments"]["left_out"]
        assert "bytes left out" in note
        assert calls[1].text == f"f_c2({note})"
        assert calls[1].reserved.call_id == "c2"
        again = await session.publish(HISTORY)
        assert (again.new, again.conflicts) == ((), ())
    async with weft.connect(server.url) as another:
        again = await another.publish_messages("s", HISTORY)
        assert (again.new, again.conflicts) == ((), ())


async def test_with_a_spool_it_is_the_same_as_long_as_the_server_is_there(
    server: EmbeddedServer, log: Connection, tmp_path: Path
) -> None:
    async with weft.connect(server.url) as client:
        session = client.session("s", on_unavailable="spool", spool=tmp_path)
        session.add(*HISTORY)
        session.add(ContextItem("big", ItemKind.USER_TURN, "", metadata={"raw": TOO_LONG}))
        with pytest.raises(InvalidInput, match="first of 2 such"):
            await session.flush()
        assert session.parked == ()
        assert len(await logged(client)) == 9


async def test_a_message_keeps_its_text_when_something_else_is_too_long() -> None:
    from weft.client.refusals import shortened

    said = ContextItem("a1", ItemKind.AGENT_MSG, "Yes.", metadata={"raw": TOO_LONG, "author": "x"})
    shorter = shortened(said)
    assert shorter is not None
    assert shorter.text.startswith("Yes.\n… 8,")
    assert shorter.metadata == {"author": "x"}
    cut = shortened(ContextItem("u1", ItemKind.USER_TURN, "word " * 1_000))
    assert cut is not None
    assert "4,000 bytes left out" in cut.text
    assert shortened(cut) is None


@pytest.mark.parametrize("way", ["raise", "spool"])
async def test_in_another_event_loop_nothing_that_was_added_is_lost(
    server: EmbeddedServer, log: Connection, way: Any, tmp_path: Path
) -> None:
    async with weft.connect(server.url) as client:
        session = client.session("s", on_unavailable=way, spool=tmp_path)
        shared = SharedSession(session)
        await shared.publish([item("a")])

        async def elsewhere() -> None:
            session.add({"role": "user", "content": "precious"})
            for _ in range(2):
                with pytest.raises(InvalidInput, match="opened in another event loop"):
                    await shared.publish([item("b")])

        await asyncio.to_thread(asyncio.run, elsewhere())
        assert session.unsent == 2
        await shared.publish([item("b")])
        assert [one.text for one in await logged(client)] == ["a", "precious", "b"]
    assert not list(os.scandir(tmp_path))


async def test_only_what_is_about_one_item_is_parked() -> None:
    async def publish(items: Any) -> None:
        if any(one.id == "b" for one in items):
            raise ItemRefused("too long")

    parked = await publish_accepted([item("a"), item("b"), item("c")], publish)
    assert [one.item.id for one in parked] == ["b"]

    async def fail(_: Any) -> None:
        raise InvalidInput("of another event loop")

    with pytest.raises(InvalidInput, match="another event loop"):
        await publish_accepted([item("a")], fail)


async def test_an_item_counts_as_added_once_it_is() -> None:
    async with weft.testing.in_memory() as client:
        session = client.session("s")
        shared = SharedSession(session)
        add, session.add = session.add, _fails  # type: ignore[method-assign]
        with pytest.raises(InvalidInput, match="of something else"):
            await shared.publish([item("a")])
        session.add = add  # type: ignore[method-assign]
        bad = ContextItem("b", ItemKind.USER_TURN, "half a \ud83d")
        with pytest.raises(ItemRefused, match="item 'b'"):
            await shared.publish([item("a"), bad])
        await shared.publish([item("a"), bad])
        await shared.publish([item("a"), item("b")])
        assert [one.id for one in await logged(client)] == ["a", "b"]


def _fails(*_: Any, **__: Any) -> None:
    raise InvalidInput("of something else")
