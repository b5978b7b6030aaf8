"""What all frameworks share: a conversation stands in the log once, in its order, whatever a model
or a tool does, and goes on while weft is away."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

import weft
from weft.integrations.conversations import (
    Conversations,
    OwnHistoryWarning,
    session_name,
)
from weft.integrations.drill_down import DrillDown
from weft.integrations.open_sessions import OpenSessions
from weft.integrations.shared_session import SharedSession
from weft.messages import PROVIDERS
from weft_schemas.errors import InvalidInput, Unavailable
from weft_schemas.items import ContextItem, ItemKind

AWAY = "nats://127.0.0.1:9"
"""The port of `discard`, where nobody answers."""
USER = {"role": "user", "content": "Which of the lamps is sold out?"}
IDS = ("a", "b", "c")
ANSWER = {
    "role": "assistant",
    "content": "I look at three shelves.",
    "tool_calls": [
        {"id": one, "type": "function", "function": {"name": f"shelf_{one}", "arguments": "{}"}}
        for one in IDS
    ],
}
RESULTS = {
    one: {"role": "tool", "tool_call_id": one, "content": f"shelf {one}: 3 lamps"} for one in IDS
}
HISTORY = [USER, ANSWER, *RESULTS.values()]


@pytest_asyncio.fixture
async def client() -> AsyncIterator[weft.Client]:
    async with weft.testing.in_memory() as one:
        yield one


async def logged(client: weft.Client, session: str) -> list[ContextItem]:
    events = [record.event() async for record in client.events(session)]
    return [event for event in events if isinstance(event, ContextItem)]


@pytest.mark.parametrize("order", list(itertools.permutations(IDS)))
async def test_results_stand_in_the_order_of_their_calls_however_they_end(client, order) -> None:
    agent = Conversations(client, "openai", budget=2_000)
    await agent.compiled("s", [USER])
    await agent.answered("s", [ANSWER], IDS)
    await asyncio.gather(*(agent.ran("s", one, RESULTS[one]) for one in order))
    early = await logged(client, "s")
    assert [item.reserved.call_id for item in early[5:]] == list(IDS)
    await agent.compiled("s", HISTORY)
    assert await logged(client, "s") == early


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_budget_without_room_for_any_message_is_an_error(client, provider: Any) -> None:
    """The model would get the system prompt alone, and make up a question."""
    for options, told in (
        ({"budget": 5}, "fits into a budget of 5 tokens.*raise `budget` or lower `reserve`"),
        ({"budget": 100, "reserve": 200}, "a reserve of 200 tokens leaves nothing of the budget"),
    ):
        agent = Conversations(client, "openai", **options)
        pack = await agent.compiled("s", [{"role": "system", "content": "Be brief."}, USER])
        with pytest.raises(InvalidInput, match=told):
            pack.request(provider)
        async with client.session("s", **options) as session:
            with pytest.raises(InvalidInput, match=f"session 's': .*{told}"):
                await session.request(provider)
    hidden = {"id": "u", "kind": "user_turn", "text": "Hush", "sensitivity": "restricted"}
    await client.publish("t", [msgspec.convert(hidden, ContextItem)])
    with pytest.raises(
        InvalidInput, match=r"is dropped \(sensitivity: 1\); `weft explain` says why$"
    ):
        (await client.compile("t", "answer")).request(provider)
    memory = [ContextItem(str(n), ItemKind.MEMORY_FACT, f"Lamp {n} is blue.") for n in range(9)]
    await client.publish("memory", memory)
    assert (await client.compile("memory", "answer", budget=30)).request(provider)


async def test_results_are_published_as_soon_as_those_before_them_are_there(client) -> None:
    agent = Conversations(client, "openai")
    await agent.compiled("s", [USER])
    await agent.answered("s", [ANSWER], IDS)
    await agent.ran("s", "b", RESULTS["b"])
    assert len(await logged(client, "s")) == 5
    await agent.ran("s", "a", RESULTS["a"])
    assert len(await logged(client, "s")) == 7


async def test_a_result_of_a_call_that_no_answer_made_is_left_to_the_history(client) -> None:
    agent = Conversations(client, "openai")
    await agent.ran("s", "a", RESULTS["a"])
    assert await logged(client, "s") == []


async def test_calls_without_ids_get_their_results_from_the_history(client) -> None:
    answer = {**ANSWER, "tool_calls": [{**call, "id": ""} for call in ANSWER["tool_calls"]]}
    results = [{**one, "tool_call_id": ""} for one in RESULTS.values()]
    agent = Conversations(client, "openai")
    await agent.compiled("s", [USER])
    await agent.answered("s", [answer], ["", "", ""])
    for result in results:
        await agent.ran("s", "", result)
    await agent.compiled("s", [USER, answer, *results])
    items = await logged(client, "s")
    calls = {item.id: item.reserved.tool_name for item in items}
    assert [(calls[item.parent_id], item.text) for item in items[5:]] == [
        (f"shelf_{one}", f"shelf {one}: 3 lamps") for one in IDS
    ]


async def test_a_model_that_is_asked_again_doubles_nothing_and_hides_nothing(client) -> None:
    agent = Conversations(client, "openai")
    other = {"role": "assistant", "content": "None is sold out."}
    for answer in (other, other, ANSWER):
        await agent.compiled("s", [USER])
        await agent.answered("s", [answer])
    items = await logged(client, "s")
    assert [str(item.kind) for item in items[:3]] == ["user_turn", "agent_msg", "agent_msg"]
    assert len(items) == 6
    await agent.compiled("s", HISTORY)
    assert len(await logged(client, "s")) == 9, "the results, behind the calls that were taken"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_framework_that_lost_its_answer_is_asked_for_it_again(client, provider) -> None:
    agent = Conversations(client, "openai")
    done = [*HISTORY, {"role": "assistant", "content": "The last lamp is gone."}]
    await agent.publish("s", done)
    pack = await agent.compiled("s", [USER])
    assert pack is not None
    request = str(pack.request(provider))
    assert "shelf c: 3 lamps" in request
    assert "The last lamp is gone." not in request


async def test_what_is_given_is_the_compiled_context(client) -> None:
    agent = Conversations(client, "openai", budget=1_000)
    large = {**RESULTS["a"], "content": "\n".join(f"row {n}: lamp {n * 7}" for n in range(20_000))}
    pack = await agent.compiled("s", [USER, ANSWER, large, RESULTS["b"], RESULTS["c"]])
    assert pack is not None
    assert pack.stats.prompt_tokens <= 1_000
    handle = next(entry.handle for entry in pack.entries if entry.handle)
    tool = DrillDown(client)
    asked = {"handle": handle, "view": "search", "args": {"pattern": "lamp 84007"}}
    assert "row 12001" in await tool(asked)
    assert "the drill-down failed" in await tool({"handle": "art:aaaaaaaaaa"})
    assert "the drill-down failed" in await tool({"handle": handle, "max_tokens": "many"})


async def test_no_history_is_no_context(client) -> None:
    assert await Conversations(client, "openai").compiled("s", []) is None


@pytest.mark.parametrize("way", ["spool", "wait"])
async def test_a_server_that_is_away_leaves_the_framework_its_own_history(
    way: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Told by a warning, and by the log where a framework shows no warnings."""
    async with weft.connect(AWAY, lazily=True) as client:
        agent = Conversations(
            client, "openai", on_unavailable=way, wait_timeout=0.1, spool=tmp_path / "spool"
        )
        with pytest.warns(OwnHistoryWarning, match="framework's own history") as told:
            assert await agent.compiled("s", [USER]) is None
        assert [one.filename for one in told] == [__file__]
        assert "session 's': the model gets the framework's own history" in caplog.text
        await agent.answered("s", [ANSWER], IDS)
        await agent.ran("s", "a", RESULTS["a"])
    spooled = [path for path in (tmp_path / "spool").glob("*") if path.stat().st_size]
    assert bool(spooled) == (way == "spool")


async def test_what_follows_a_step_without_weft_is_spooled_at_once(tmp_path: Path) -> None:
    """Nothing may come after it: the final answer least of all."""
    final = {"role": "assistant", "content": "The last lamp is gone."}
    spool = tmp_path / "spool"
    async with weft.connect(AWAY, lazily=True) as client:
        agent = Conversations(client, "openai", spool=spool)
        with pytest.warns(OwnHistoryWarning):
            await agent.compiled("s", [USER])
        await agent.answered("s", [ANSWER], IDS)
        for one in reversed(IDS):
            await agent.ran("s", one, RESULTS[one])
        with pytest.warns(OwnHistoryWarning):
            await agent.compiled("s", HISTORY)
        await agent.answered("s", [final])
    async with weft.testing.in_memory(client.tenant) as client:
        await Conversations(client, "openai", spool=spool).compiled("s", HISTORY)
        items = await logged(client, "s")
    kinds = "user_turn agent_msg tool_call tool_call tool_call tool_result tool_result tool_result"
    assert [str(item.kind) for item in items] == [*kinds.split(), "agent_msg"]


async def test_without_weft_and_without_a_spool_the_run_goes_on(tmp_path: Path) -> None:
    """As on a full disk; the history that is handed over later holds it all."""
    spool = tmp_path / "spool"
    spool.touch()
    async with weft.connect(AWAY, lazily=True) as client:
        agent = Conversations(client, "openai", spool=spool)
        with pytest.warns(OwnHistoryWarning, match="cannot be kept in .*spool: File exists"):
            assert await agent.compiled("s", [USER]) is None
        await agent.answered("s", [ANSWER], IDS)
        await agent.ran("s", "a", RESULTS["a"])
        spool.unlink()
        with pytest.warns(OwnHistoryWarning):
            await agent.compiled("s", HISTORY)
    async with weft.testing.in_memory(client.tenant) as client:
        await Conversations(client, "openai", spool=spool).compiled("s", HISTORY)
        assert len(await logged(client, "s")) == 8


async def test_a_server_that_is_away_is_an_error_where_that_is_asked_for() -> None:
    async with weft.connect(AWAY, lazily=True) as client:
        agent = Conversations(client, "openai", on_unavailable="raise")
        with pytest.raises(Unavailable):
            await agent.compiled("s", [USER])


def test_a_client_without_an_event_loop_does_the_same() -> None:
    with weft.testing.in_memory_sync() as client:
        agent = Conversations(client, "openai", budget=2_000)
        assert agent.compiled_now("s", [USER]) is not None
        agent.answered_now("s", [ANSWER], IDS)
        for one in ("c", "a", "b"):
            agent.ran_now("s", one, RESULTS[one])
        pack = agent.compiled_now("s", HISTORY)
        assert pack is not None
        assert "shelf c: 3 lamps" in pack.prompt
        again = asyncio.run(agent.compiled("s", HISTORY))
        assert again is not None
        assert again.digest == pack.digest
        items = [record.event() for record in client.events("s")]
    kinds = [item.kind for item in items if isinstance(item, ContextItem)]
    assert kinds.count(ItemKind.TOOL_RESULT) == 3
    assert len(kinds) == 8


def answered_in_a_loop(agent: Conversations, *said: Any, **options: Any) -> None:
    asyncio.run(agent.answered(*said, **options))


@pytest.mark.parametrize("answered", [answered_in_a_loop, Conversations.answered_now])
def test_an_answer_to_a_given_history_stands_behind_it(answered: Any) -> None:
    with weft.testing.in_memory_sync() as client:
        agent = Conversations(client, "openai")
        agent.compiled_now("s", [{"role": "user", "content": "Another question"}])
        answered(agent, "s", [ANSWER], IDS, history=[USER])
        events = [record.event() for record in client.events("s")]
    texts = [event.text for event in events if isinstance(event, ContextItem)]
    assert texts[:3] == ["Another question", USER["content"], ANSWER["content"]]


async def test_an_async_client_says_what_a_synchronous_framework_needs(client) -> None:
    with pytest.raises(InvalidInput, match="connect_sync"):
        Conversations(client, "openai").compiled_now("s", [USER])
    with pytest.raises(InvalidInput, match="connect_sync"):
        DrillDown(client).now({"handle": "art:aaaaaaaaaa"})


def one_at_a_time(client: weft.Client) -> list[str]:
    """Ids of what the client publishes; it refuses to publish two things at once."""
    publish, published, in_progress = client.publish, [], threading.Lock()

    async def alone(session: str, items: Any) -> Any:
        assert in_progress.acquire(blocking=False)
        try:
            await asyncio.sleep(0)
            published.extend(item.id for item in items)
            return await publish(session, items)
        finally:
            in_progress.release()

    client.publish = alone  # type: ignore[method-assign]
    return published


def remembered(number: int) -> list[ContextItem]:
    return [ContextItem(f"m{number}", ItemKind.USER_TURN, f"lamp {number}")]


async def test_tasks_that_share_a_session_take_turns(client) -> None:
    published = one_at_a_time(client)
    session = SharedSession(client.session("s", phase="answer", budget=2_000))
    packs = await asyncio.gather(
        *(session.publish(remembered(number)) for number in range(8)), session.compile("lamp")
    )
    assert published == [f"m{number}" for number in range(8)]
    assert "lamp 7" in packs[-1].prompt


def test_threads_that_share_a_session_take_turns() -> None:
    client = weft.testing.in_memory()
    published = one_at_a_time(client)
    with weft.SyncClient(client) as blocking, ThreadPoolExecutor(8) as pool:
        session = SharedSession(blocking.session("s", phase="answer", budget=2_000))
        works = [session.publish(remembered(number)) for number in range(8)]
        list(pool.map(asyncio.run, works))
        assert sorted(published) == [f"m{number}" for number in range(8)]
        assert "lamp 7" in asyncio.run(session.compile("lamp")).prompt


async def test_what_cannot_be_published_is_sent_with_the_next(client) -> None:
    session, publish = SharedSession(client.session("s")), client.publish

    async def away(*_: Any) -> Any:
        raise Unavailable("away")

    client.publish = away
    with pytest.raises(Unavailable):
        await session.publish(remembered(1))
    client.publish = publish
    await session.publish(remembered(2))
    assert [item.id for item in await logged(client, "s")] == ["m1", "m2"]


def slowly_opened(client: weft.SyncClient, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sessions that the client opens, each only when others had time to ask."""
    opened, session = [], client.session

    def open_slowly(name: str, **options: Any) -> weft.SyncSession:
        opened.append(name)
        time.sleep(0.05)
        return session(name, **options)

    monkeypatch.setattr(client, "session", open_slowly)
    return opened


def test_threads_that_begin_one_conversation_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with weft.testing.in_memory_sync() as client, ThreadPoolExecutor(8) as pool:
        opened = slowly_opened(client, monkeypatch)
        agent = Conversations(client, "openai", budget=2_000)
        packs = list(pool.map(lambda _: agent.compiled_now("s", [USER]), range(8)))
        assert all(pack is not None for pack in packs)
        assert opened == ["s"]


def test_what_is_open_is_forgotten_when_it_is_the_oldest_and_not_needed() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name

    opened = OpenSessions(make, lambda name: name == "needed", most=3)
    for name in ("needed", "a", "b", "c", "a", "d", "needed", "b", "a"):
        assert opened.of(name) == name
        assert len(opened) <= 3
    assert made == ["needed", "a", "b", "c", "a", "d", "b", "a"]


def test_what_had_to_be_kept_is_forgotten_once_it_is_not_needed() -> None:
    is_away = True
    opened = OpenSessions(str, lambda _: is_away, most=3)
    for place in range(10):
        opened.of(str(place))
    assert len(opened) == 10
    is_away = False
    opened.of("another")
    assert len(opened) == 3


async def test_an_item_that_is_refused_holds_up_nothing_and_is_not_sent_again(client) -> None:
    session = SharedSession(client.session("s"))
    bad = ContextItem("bad", ItemKind.USER_TURN, "half a \ud83d")
    with pytest.raises(InvalidInput, match="item 'bad'"):
        await session.publish([*remembered(1), bad, *remembered(2)])
    await session.publish([*remembered(1), bad, *remembered(2), *remembered(3)])
    assert [item.id for item in await logged(client, "s")] == ["m1", "m2", "m3"]
    assert not session.is_needed


async def test_options_and_sessions_are_checked(client) -> None:
    with pytest.raises(InvalidInput, match="spool, wait or raise"):
        Conversations(client, "openai", on_unavailable="never")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="give session"):
        session_name(None, None, "run with …")
    assert session_name("mine", "theirs", "") == "mine"


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
async def test_an_answer_at_the_end_of_the_history_stays_there(client, provider) -> None:
    """Another agent's finding, or the beginning of an answer that the model continues."""
    agent = Conversations(client, "openai")
    found = {"role": "assistant", "content": "Shelf b has none left."}
    pack = await agent.compiled("s", [USER, found])
    assert pack is not None
    request = pack.request(provider)
    assert "Shelf b has none left." in str((request.get("messages") or request["input"])[-1])


async def test_what_a_history_has_now_is_shown_in_place_of_what_it_had(client) -> None:
    """However often it is changed, and scanned like any other result."""
    token = "ghp_" + "a1B2" * 9
    said = {"role": "assistant", "content": "Ann took the last one."}
    history: list[Any] = [USER, ANSWER, *RESULTS.values(), said, {**USER, "content": "And now?"}]
    agent = Conversations(client, "openai", budget=4_000)
    await agent.compiled("s", history)
    for text in ("somebody", f"the owner of {token}", "somebody"):
        history[3] = {**RESULTS["b"], "content": f"shelf b: sold to {text}"}
        history[5] = {**said, "content": f"One of them took it: {text}."}
        pack = await agent.compiled("s", history)
        assert pack is not None
        shown = text.replace(token, "[secret:github_token")
        sent = pack.request("openai")["messages"][-5:]
        assert [one["role"] for one in sent] == ["tool", "tool", "tool", "assistant", "user"]
        assert "shelf a: 3 lamps" in sent[0]["content"]
        assert "shelf b: sold to " + shown in sent[1]["content"]
        assert "One of them took it: " + shown in sent[3]["content"]
        for gone in ("shelf b: 3 lamps", "Ann", token):
            assert gone not in str(sent)
    again = Conversations(client, "openai", budget=4_000)
    assert "shelf b: sold to somebody" in str(await again.compiled("s", history))
    history[3], history[5] = RESULTS["b"], said
    assert "sold" not in str((await agent.compiled("s", history)).request("openai")["messages"][2:])


async def test_what_was_taken_out_stays_out_when_the_history_is_cut(client) -> None:
    """By another process, which has not seen the change."""
    taken_out = {**RESULTS["c"], "content": "shelf c: [taken out]"}
    said = {"role": "assistant", "content": "None is."}
    later = [said, {"role": "user", "content": "And now?"}]
    first = Conversations(client, "openai", budget=2_000)
    await first.compiled("s", HISTORY)
    await first.compiled("s", [*HISTORY[:-1], taken_out, *later])
    pack = await Conversations(client, "openai", budget=2_000).compiled("s", later)
    assert pack is not None
    texts = [one.text for one in pack.entries]
    assert not any("shelf c: 3 lamps" in text for text in texts), texts
    assert [one.item_id[0] for one in pack.entries if one.item_id] == [*"uacccrrrau"]


async def test_an_item_is_shown_whatever_its_id(client) -> None:
    session = client.session("s")
    session.add(ContextItem("lamps-now-sold", ItemKind.USER_TURN, "The red lamp is sold out."))
    await session.flush()
    pack = await Conversations(client, "openai", budget=2_000).compiled("s", [USER])
    assert pack is not None
    assert "lamps-now-sold" in [one.item_id for one in pack.entries]


async def test_a_version_is_published_once_by_any_number_of_processes(
    client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes what comes again after two minutes for something new."""
    publish, sent = client.publish, list[str]()

    async def noted(session: str, items: Any) -> Any:
        sent.extend(item.id for item in items)
        return await publish(session, items)

    monkeypatch.setattr(client, "publish", noted)
    await Conversations(client, "openai").compiled("s", HISTORY)
    for at, is_forgotten in ((1, False), (1, True), (2, False), (1, False)):
        if is_forgotten:
            client.histories.forget("s")
        changed = {**RESULTS["c"], "content": f"shelf c: {at}"}
        pack = await Conversations(client, "openai").compiled("s", [*HISTORY[:-1], changed])
        assert pack is not None
        assert f"shelf c: {at}" in pack.entries[-1].text
    assert len(sent) == len(set(sent)) == 2


async def test_a_conversation_has_the_scope_of_its_name(client: weft.Client) -> None:
    scoped = Conversations(client, "openai", scope=lambda name: f"user:{name}")
    await scoped.compiled("ada", HISTORY)
    await Conversations(client, "openai", scope="user:all").compiled("b", HISTORY[:1])
    await Conversations(client, "openai").compiled("c", HISTORY[:1])
    scopes = [
        {item.metadata.get("scope") for item in await logged(client, name)}
        for name in ("ada", "b", "c")
    ]
    assert scopes == [{"user:ada"}, {"user:all"}, {None}]
