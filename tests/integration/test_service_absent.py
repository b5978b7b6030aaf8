"""A service that is away for a moment, since its server was, or that was killed with a request in
its hands: who asks and has time asks again."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nats.aio.msg import Msg
from tests.integration.compiling import TURN, compiled, compiling, folded
from tests.integration.folding import folding
from tests.integration.logged import publish

from weft.log.api import replied, request
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft.log.topology import provision
from weft.log.transport import connect
from weft.runtime import request_client
from weft.runtime.request_client import ask
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.compile import (
    BuildStats,
    CompileRequest,
    ContextPack,
    ErrorReply,
    ExplainReply,
    ExplainRequest,
)
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, Unavailable
from weft_schemas.policy import Phase
from weft_schemas.routing import (
    ChoiceReply,
    ChoiceRequest,
    HydrateRequest,
    HydrationResult,
    RouteReply,
    RouteRequest,
    SelectableItem,
)
from weft_schemas.status import StatusReply, StatusRequest
from weft_schemas.subjects import REPLY_TIMEOUT_HEADER, TIME_LEFT_HEADER, request_subject

ADDRESS = ("acme", "s1", "choose")
CHOICE = ChoiceRequest("decision", "item")
STATUS = ("acme", "s1", "status")
LONG = 20.0
DONE = StatusReply("acme", "s1", 7, "o200k_base")
PACK = ContextPack("p1", "acme", "s1", Phase.ROUTE, "", (), BuildStats(), 7, 1, "")
EXPLAINED = ExplainReply("m1", True, True, "", "")


async def answering(log: Connection, *answers: msgspec.Struct | None) -> list[Msg]:
    """A service that answers each request with the next of these, or not at all; what it got."""
    got: list[Msg] = []

    async def answer(message: Msg) -> None:
        got.append(message)
        reply = answers[len(got) - 1]
        if reply is not None:
            await answered(log, message, reply)

    await log.subscribe("weft-rpc.>", cb=answer)
    await log.flush()
    return got


async def answered(log: Connection, message: Msg, reply: msgspec.Struct) -> None:
    headers = {ERROR_HEADER: reply.code} if isinstance(reply, ErrorReply) else None
    await log.publish(message.reply, msgspec.json.encode(reply), headers=headers)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not is_so():
            await asyncio.sleep(0.01)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_client, "SILENT_SECONDS", 0.1)


async def test_a_service_that_comes_back_is_asked_again(log: Connection) -> None:
    asking = asyncio.create_task(ask(log, ADDRESS, CHOICE, ChoiceReply, LONG))
    await asyncio.sleep(0.5)
    await answering(log, ChoiceReply(7))
    assert (await asking).sequence == 7


async def test_one_that_does_not_come_is_named(log: Connection) -> None:
    for wait in (0.0, 0.3):
        with pytest.raises(Unavailable, match="no service answers choose; start the services"):
            await ask(log, ADDRESS, CHOICE, ChoiceReply, wait)


async def test_a_request_that_nobody_answers_is_sent_again_unchanged_with_the_time_that_is_left(
    log: Connection, impatient: None
) -> None:
    got = await answering(log, None, DONE)
    reply = await ask(log, STATUS, StatusRequest(timeout=LONG), StatusReply, LONG)
    assert reply.sequence == 7
    first, second = got
    assert first.data == second.data
    assert first.headers == {REPLY_TIMEOUT_HEADER: f"{LONG + request_client.ANSWER_SECONDS:.3f}"}
    assert second.headers is not None
    assert 0 < float(second.headers[TIME_LEFT_HEADER]) < LONG
    assert second.headers[REPLY_TIMEOUT_HEADER] < first.headers[REPLY_TIMEOUT_HEADER]


async def test_a_time_that_is_no_number_is_for_the_service_to_refuse(log: Connection) -> None:
    await answering(log, ErrorReply("invalid_input", "status request: Expected `float`"))
    wrong: Any = "long"
    with pytest.raises(InvalidInput, match="Expected `float`"):
        await ask(log, STATUS, StatusRequest(timeout=wrong), StatusReply, wrong)


async def test_the_time_of_what_is_explained_is_what_is_left(
    log: Connection, impatient: None
) -> None:
    asked = ExplainRequest("m1", CompileRequest(Phase.ANSWER, timeout=LONG))
    got = await answering(log, None, EXPLAINED)
    await ask(log, ("acme", "s1", "explain"), asked, ExplainReply, LONG)
    assert got[1].headers is not None
    assert 0 < float(got[1].headers[TIME_LEFT_HEADER]) < LONG


async def test_a_compile_that_two_compilers_answer_is_recorded_once(
    folder: Path, tmp_path: Path, impatient: None
) -> None:
    """It waits for an event so long that it is sent again."""
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        data = tmp_path / "replica"
        async with folding(log, data), compiling(server.url, data), compiling(server.url, data):
            [first] = await publish(log, "s1", [TURN])
            requests = await log.subscribe("weft-rpc.>")
            audits = await log.subscribe("weft-audit.>")
            asking = asyncio.create_task(compiled(log, after=first.sequence + 1))
            for _ in range(2):
                await requests.next_msg(LONG)
            await publish(log, "s1", [msgspec.structs.replace(TURN, id="u2")])
            pack = await asking
            recorded = [await audits.next_msg(LONG) for _ in range(2)]
            assert {(one.headers or {})["Nats-Msg-Id"] for one in recorded} == {pack.id}
        await log.close()


async def test_a_service_waits_no_longer_than_the_time_that_is_left(
    folder: Path, tmp_path: Path
) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        data = tmp_path / "replica"
        async with folding(log, data), compiling(server.url, data):
            subject = request_subject(*STATUS)
            body = msgspec.json.encode(StatusRequest(after=1_000, timeout=60.0))
            reply = await replied(log, subject, body, LONG, {TIME_LEFT_HEADER: "0.01"})
            assert msgspec.json.decode(reply.data, type=StatusReply).session == "s1"
            for name in (TIME_LEFT_HEADER, REPLY_TIMEOUT_HEADER):
                for wrong in ("soon", "nan", "-1"):
                    refused = await replied(log, subject, body, LONG, {name: wrong})
                    said = msgspec.json.decode(refused.data, type=ErrorReply)
                    assert said.code == InvalidInput.code
                    assert "give seconds" in said.message
        await log.close()


ROUTED = CompileRequest(Phase.ROUTE, catalog="shop")
ROUTES: dict[str, tuple[msgspec.Struct, msgspec.Struct]] = {
    "route": (RouteRequest("lamp", "shop"), RouteReply((), "shop", 1, "lamp")),
    "compile": (ROUTED, PACK),
    "explain": (ExplainRequest("m1", ROUTED), EXPLAINED),
}
"""Requests that decide a route, with their replies."""


@pytest.mark.parametrize("service", ROUTES)
async def test_what_may_ask_a_model_is_asked_once(
    log: Connection, impatient: None, service: str
) -> None:
    request, reply = ROUTES[service]
    got = await answering(log, None)
    asking = asyncio.create_task(ask(log, ("acme", "s1", service), request, type(reply)))
    await asyncio.sleep(0.5)
    await answered(log, got[0], reply)
    assert await asking == reply
    assert len(got) == 1


HYDRATED = HydrationResult(SelectableItem("lamp", "lamp"), {}, (), 1)


@pytest.mark.parametrize(
    ("service", "request_", "reply"),
    [
        ("compile", CompileRequest(Phase.CALL, tool="lamp", catalog="shop"), PACK),
        ("compile", CompileRequest(Phase.ROUTE, catalog="shop", as_of=3), PACK),
        ("hydrate", HydrateRequest("lamp", "shop"), HYDRATED),
    ],
)
async def test_what_only_reads_a_catalogue_is_asked_again(
    log: Connection, impatient: None, service: str, request_: msgspec.Struct, reply: msgspec.Struct
) -> None:
    got = await answering(log, None, reply)
    assert await ask(log, ("acme", "s1", service), request_, type(reply), LONG) == reply
    assert len(got) == 2


async def test_a_refusal_of_the_second_leaves_the_first_its_time(
    log: Connection, impatient: None
) -> None:
    full = ErrorReply("overloaded", "too many wait; try again")
    got = await answering(log, None, full)
    asking = asyncio.create_task(ask(log, STATUS, StatusRequest(), StatusReply, LONG))
    await until(lambda: len(got) == 2)
    await asyncio.sleep(0.1)
    await answered(log, got[0], DONE)
    assert (await asking).sequence == 7


async def test_a_refusal_is_told_where_nothing_else_comes(
    log: Connection, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_client, "ANSWER_SECONDS", 0.5)
    await answering(log, None, ErrorReply("overloaded", "too many wait; try again"))
    with pytest.raises(Overloaded, match="too many wait"):
        await ask(log, STATUS, StatusRequest(), StatusReply)


async def test_a_service_has_as_long_as_the_client_gives_it(
    log: Connection, impatient: None
) -> None:
    await answering(log, None, None)
    with pytest.raises(Unavailable, match=r"^status gave no answer in 0\.3 s"):
        await ask(log, STATUS, StatusRequest(), StatusReply, answer=0.3)


async def restarted(folder: Path, service: str, request: Any, reply: Any) -> tuple[Any, int]:
    """What comes of a request whose server is restarted when a service has it, and how often a
    service got it."""
    async with EmbeddedServer(folder) as server:
        answers, client = await connect(server.url), await connect(server.url)
        got = await answering(answers, None, reply, reply)
        asked = ask(client, ("acme", "s1", service), request, type(reply), request.timeout)
        asking = asyncio.create_task(asked)
        await until(lambda: len(got) == 1)
        await server.stop()
        await server.start()
        [came] = await asyncio.gather(asking, return_exceptions=True)
        await client.close()
        await answers.close()
        return came, len(got)


async def test_what_a_server_forgot_when_it_was_restarted_is_asked_again(folder: Path) -> None:
    came, times = await restarted(folder, "status", StatusRequest(timeout=LONG), DONE)
    assert (came, times) == (DONE, 2)


async def test_a_route_that_a_service_may_have_is_not_asked_again_when_the_server_is_back(
    folder: Path,
) -> None:
    reply = RouteReply((), "shop", 1, "lamp")
    came, times = await restarted(folder, "route", RouteRequest("lamp", "shop"), reply)
    assert isinstance(came, Unavailable)
    assert "the server was away meanwhile, and the answer may be lost with it; try" in str(came)
    assert times == 1


async def test_a_route_that_no_service_has_is_asked_again_when_one_is_there(
    log: Connection,
) -> None:
    reply = RouteReply((), "shop", 1, "lamp")
    asked = ask(log, ("acme", "s1", "route"), RouteRequest("lamp", "shop"), RouteReply, LONG)
    asking = asyncio.create_task(asked)
    await asyncio.sleep(0.5)
    got = await answering(log, reply)
    assert await asking == reply
    assert len(got) == 1


async def test_a_server_that_stays_away_is_told_as_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_client, "ANSWER_SECONDS", 0.3)
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        async with Publisher(log, timeout=0.3) as publisher:
            await server.stop()
            with pytest.raises(Unavailable, match=r"gave no answer in .*: the server is away"):
                await ask(log, STATUS, StatusRequest(), StatusReply)
            with pytest.raises(Unavailable, match=r"no answer on asked .the server is away"):
                await request(log, "asked", b"", 0.3)
            with pytest.raises(Unavailable, match=r"no acknowledgement in 0\.3 s: the server is"):
                await publisher.publish("weft.acme.s1.in.user_turn", b"{}", "m1")
        await log.close()


async def test_a_compile_whose_compiler_is_killed_is_answered_by_the_next(
    folder: Path, tmp_path: Path
) -> None:
    async with EmbeddedServer(folder) as server:
        log = await connect(server.url)
        await provision(log)
        data = tmp_path / "replica"
        async with folding(log, data):
            [first] = await publish(log, "s1", [TURN])
            async with compiling(server.url, data) as compiler:
                requests = await log.subscribe("weft-rpc.>")
                await log.flush()
                asking = asyncio.create_task(compiled(log, after=first.sequence + 1))
                await requests.next_msg(LONG)
                await folded(log, first.sequence)  # it answers what came after: it has it
                await compiler.end(signal.SIGKILL)
                await requests.unsubscribe()
            async with compiling(server.url, data):
                later = msgspec.structs.replace(TURN, id="u2", text="Which one is the oldest?")
                await publish(log, "s1", [later])
                assert later.text in (await asking).prompt
        await log.close()
