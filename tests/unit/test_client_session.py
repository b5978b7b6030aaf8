"""What is added to a session is published, whatever fails or overlaps."""

import asyncio
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import weft
from weft.client.histories import Histories
from weft.client.refusals import ItemRefused
from weft_schemas.errors import (
    InvalidInput,
    Overloaded,
    TooCostly,
    Unavailable,
    UnknownVersion,
    WeftError,
)
from weft_schemas.items import BodyRef, ContextItem, ItemKind


async def test_flushes_that_overlap_lose_nothing_that_is_not_published() -> None:
    async with weft.testing.in_memory() as client:
        publish = client.publish
        waiting: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()
        is_away = False

        async def publish_later(*said: Any) -> Any:
            if is_away:
                raise Unavailable("away")
            allowed = asyncio.get_running_loop().create_future()
            waiting.put_nowait(allowed)
            await allowed
            return await publish(*said)

        client.publish = publish_later  # type: ignore[method-assign]
        session, flushes, allowed = client.session("s"), [], []
        for name in "abc":
            session.add(ContextItem(name, ItemKind.USER_TURN, name))
            flushes.append(asyncio.create_task(session.flush()))
            allowed.append(await waiting.get())
        is_away = True
        for at in (1, 0):
            allowed[at].set_result(None)
            await asyncio.wait([flushes[at]])
        allowed[2].set_exception(Unavailable("away"))
        await asyncio.gather(*flushes, return_exceptions=True)
        client.publish = publish  # type: ignore[method-assign]
        await session.flush()
        events = [record.event() async for record in client.events("s")]
    assert [event.id for event in events if isinstance(event, ContextItem)] == ["a", "b", "c"]


async def test_what_the_server_never_takes_is_left_out_and_named() -> None:
    async with weft.testing.in_memory() as client:
        publish, sent = client.publish, []

        async def refuse_long(session: str, items: Any, **said: Any) -> Any:
            sent.append(len(items))
            for index, item in enumerate(items):
                if len(item.text) > 10:
                    error = ItemRefused(f"item {item.id!r} is too long: shorten it")
                    error.index = index
                    raise error
            return await publish(session, items, **said)

        client.publish = refuse_long  # type: ignore[method-assign]
        client.histories = Histories(refuse_long, client._message_ids)
        session = client.session("s")
        for name in "abcd":
            session.add(ContextItem(name, ItemKind.USER_TURN, name * (20 if name in "bd" else 1)))
        session.add({"role": "user", "content": "short"}, {"role": "user", "content": "long" * 9})
        told = r"item 'b' is too long.*first of 3 such.*left out of the session, to be added again"
        with pytest.raises(InvalidInput, match=told):
            await session.flush()
        assert session.unsent == 0
        del sent[:]
        session.add(ContextItem("e", ItemKind.USER_TURN, "e"))
        await session.flush()
        assert sent == [1]
        events = [record.event() async for record in client.events("s")]
    assert [one.text for one in events if isinstance(one, ContextItem)] == ["a", "c", "short", "e"]


async def test_a_request_tells_how_many_pictures_it_only_names() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    said = [{"type": "text", "text": "Which of these is older?"}, picture, picture]
    async with weft.testing.in_memory() as client:
        session = client.session("s", budget=2_000)
        session.add({"role": "user", "content": said})
        request = await session.request("openai")
        assert "image left out" in str(request)
        assert session.pack is not None
        assert session.pack.left_out == {"image": 2}
        assert (await client.compile("s", "answer")).left_out == {"image": 2}


@pytest.mark.parametrize("way", ["raise", "wait", "spool"])
@pytest.mark.parametrize("error", [InvalidInput("of the session"), UnknownVersion("a future one")])
async def test_an_error_that_is_not_about_an_item_leaves_everything_added(
    way: Any, error: WeftError, tmp_path: Path
) -> None:
    async with weft.testing.in_memory() as client:

        async def fail(_: str) -> Any:
            raise error

        known, client.histories = client.histories, Histories(client.publish, fail)
        session = client.session("s", on_unavailable=way, spool=tmp_path)
        session.add(
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two"},
        )
        with pytest.raises(type(error), match=str(error)):
            await session.flush()
        assert session.unsent == 2
        client.histories = known
        await session.flush()
        assert await texts(client) == ["one", "two"]


async def test_what_is_left_out_is_named_even_if_the_server_goes_away_meanwhile() -> None:
    async with weft.testing.in_memory() as client:

        async def fail(_: str) -> Any:
            raise Unavailable("away")

        known, client.histories = client.histories, Histories(client.publish, fail)
        session = client.session("s")
        item = ContextItem("b", ItemKind.USER_TURN, body=BodyRef("0" * 64, 1))
        session.add(
            item, ContextItem("c", ItemKind.USER_TURN, "c"), {"role": "user", "content": "d"}
        )
        with pytest.raises(Unavailable):
            await session.flush()
        client.histories = known
        with pytest.raises(InvalidInput, match=r"item 'b'.*everything else that was added is publ"):
            await session.flush()
        await session.flush()
        assert await texts(client) == ["c", "d"]


async def texts(client: weft.Client) -> list[str]:
    events = [record.event() async for record in client.events("s")]
    return [one.text for one in events if isinstance(one, ContextItem)]


async def test_a_malformed_message_adds_nothing_and_its_place_is_told() -> None:
    async with weft.testing.in_memory() as client:
        session = client.session("s")
        good = {"role": "user", "content": "hello"}
        item = ContextItem("a", ItemKind.USER_TURN, "a")
        with pytest.raises(InvalidInput, match=r"messages\[3\]: \$\.role: invalid enum value"):
            session.add(good, item, good, {"role": "nobody", "content": "hello"})
        assert session.unsent == 0
        with pytest.raises(InvalidInput, match="a NoneType is no list of messages; hand over"):
            await session.publish(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"wait_timeout": "60"}, "wait_timeout is of type str; give an int or float"),
        ({"spool": None}, "spool is of type NoneType; give a str or Path"),
    ],
)
async def test_an_option_of_another_type_is_named(options: dict[str, Any], named: str) -> None:
    async with weft.testing.in_memory() as client:
        with pytest.raises(InvalidInput, match=named):
            client.session("s", **options)


async def test_a_framework_s_history_with_halves_of_characters_is_published() -> None:
    """A text that was cut inside of an emoji would be refused at each step of the loop."""
    function = {"name": "say", "arguments": '{"text": "\\ud83d", "more": "caf\udce9"}'}
    history = [
        {"role": "user", "content": "hi \ud83d"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "said \ud83d\ude00"},
    ]
    async with weft.testing.in_memory() as client, client.session("s") as session:
        for _ in range(2):
            await session.publish(history)
        events = [record.event() async for record in client.events("s")]
        assert "hi \ufffd" in (await session.compile()).prompt
        assert (await session.compile("answer")).phase == "answer"
    texts = [one.text for one in events if isinstance(one, ContextItem)]
    assert texts[::2] == ["hi \ufffd", "said \U0001f600"]
    assert len(texts) == 3


async def test_output_that_is_no_text_is_added_without_what_no_message_holds() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "list", "arguments": "{}"}}
    async with weft.testing.in_memory() as client, client.session("s") as session:
        session.add({"role": "assistant", "content": None, "tool_calls": [call]})
        name = b"caf\xe9 \xf0\x9f\x98\x80".decode(errors="surrogateescape")
        await session.run(call, {"list": lambda: name + "\ud83d\ude00"})
        await session.flush()
        events = [record.event() async for record in client.events("s")]
    texts = [one.text for one in events if isinstance(one, ContextItem)]
    assert texts[-1] == "caf\ufffd \U0001f600\U0001f600"


class _Odd:
    def __str__(self) -> str:
        return "an odd one"


class _Speechless:
    def __str__(self) -> str:
        raise OSError("closed")


@dataclass
class _Receipt:
    amount: Decimal
    tags: frozenset[str]


_ROUND: list[Any] = []
_ROUND.append(_ROUND)
_NUMBER = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (_Receipt(Decimal("9.90"), frozenset("ba")), '{"amount":"9.90","tags":["a","b"]}'),
        (
            {"at": datetime(2026, 11, 14, 12), "in": timedelta(hours=1)},
            '"at":"2026-11-14T12:00:00"',
        ),
        ([UUID(_NUMBER), Path("a/b")], f'["{_NUMBER}","a/b"]'),
        (date(2026, 11, 14), "2026-11-14"),
        ({"one": _Odd(), "n": 1}, '{"one":"an odd one","n":1}'),
        (_Odd(), "an odd one"),
        (_ROUND, "[[...]]"),
        (_Speechless(), "the call succeeded; the _Speechless that it returned has no text: closed"),
    ],
)
async def test_a_call_that_returned_is_never_told_as_failed(returned: Any, told: str) -> None:
    """The model would make it again."""
    call = {"type": "tool_use", "id": "t", "name": "charge", "input": {}}
    async with weft.testing.in_memory() as client, client.session("s") as session:
        session.add({"role": "assistant", "content": [call]})
        await session.run(call, {"charge": lambda: returned})
        await session.flush()
        events = [record.event() async for record in client.events("s")]
    result = [one for one in events if isinstance(one, ContextItem)][-1]
    assert told in result.text
    assert "is_error" not in result.metadata


@pytest.mark.parametrize("error", [TooCostly("too long"), Unavailable("away"), Overloaded("full")])
@pytest.mark.parametrize("way", ["raise", "wait", "spool"])
async def test_a_drill_down_that_fails_is_for_the_model_or_for_the_agent(
    way: Any, error: WeftError, tmp_path: Path
) -> None:
    """As the session is to treat a server that is away."""

    async def fail(*_: Any, **__: Any) -> Any:
        raise error

    call = {"id": "c", "type": "function", "function": {"name": "weft_drilldown"}}
    call["function"] |= {"arguments": '{"handle": "art:aaaaaaaaaa"}'}  # type: ignore[operator]
    async with weft.testing.in_memory() as client:
        client.drilldown = fail  # type: ignore[method-assign]
        options: dict[str, Any] = {"on_unavailable": way, "wait_timeout": 0.2, "spool": tmp_path}
        session = client.session("s", **options)
        if error.retryable and way != "spool":
            with pytest.raises(type(error)):
                await session.run(call)
            return
        assert await session.run(call)
        assert session.unsent == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"handle": "art:aaaaaaaaaa", "args": "start=1"}', "args='start=1' is no object"),
        ('{"handle": "art:aaaaaaaaaa", "args": [1]}', "args=[1] is no object"),
        ('{"handle": "art:aaaaaaaaaa", "args": {"view": 1}}', "'view' is no argument of a view"),
        ('{"handle": "art:aaaaaaaaaa", "args": {"self": 1}}', "'self' is no argument of a view"),
        (
            '{"handle": "art:aaaaaaaaaa", "max_tokens": "all"}',
            "max_tokens='all' is no whole number",
        ),
        ('{"handle": "art:aaaaaaaaaa", "max_tokens": [1]}', "max_tokens=[1] is no whole number"),
        ("[]", "the arguments are no JSON object; call again with one"),
    ],
)
async def test_a_malformed_drill_down_is_told_what_to_give(arguments: str, told: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "weft_drilldown"}}
    call["function"] |= {"arguments": arguments}  # type: ignore[operator]
    async with weft.testing.in_memory() as client:
        session = client.session("s")
        session.add({"role": "assistant", "content": None, "tool_calls": [call]})
        assert await session.run(call)
        await session.flush()
        events = [record.event() async for record in client.events("s")]
    result = [one for one in events if isinstance(one, ContextItem)][-1]
    assert result.text.startswith("drill-down: ")
    assert told in result.text
    assert result.metadata["is_error"] is True


async def test_a_fault_of_weft_in_a_drill_down_is_not_told_to_the_model() -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("a fault")

    call = {"id": "c", "type": "function", "function": {"name": "weft_drilldown"}}
    call["function"] |= {"arguments": '{"handle": "art:aaaaaaaaaa"}'}  # type: ignore[operator]
    async with weft.testing.in_memory() as client:
        client.drilldown = fail  # type: ignore[method-assign]
        with pytest.raises(ValueError, match="a fault"):
            await client.session("s").run(call)


async def test_a_request_holds_what_can_neither_be_sent_nor_spooled(tmp_path: Path) -> None:
    """Without a server, and with a spool that cannot be written."""
    folder = tmp_path / "spool"
    folder.touch()
    async with weft.connect("nats://127.0.0.1:9", lazily=True) as client:
        session = client.session("s", on_unavailable="spool", spool=folder)
        session.add({"role": "user", "content": "What is the weather?"})
        with pytest.warns(weft.UnavailableWarning, match="1 of its messages and items are only in"):
            asked = await session.request("openai")
        assert [one["content"] for one in asked["messages"]] == ["What is the weather?"]
        session.add({"role": "assistant", "content": "Where?"}, {"role": "user", "content": "Oslo"})
        folder.unlink()
        with pytest.warns(weft.UnavailableWarning, match="what it publishes is spooled"):
            asked = await session.request("openai")
        told = [one["content"] for one in asked["messages"]]
        assert told == ["What is the weather?", "Where?", "Oslo"]
        assert session.unsent == 0
