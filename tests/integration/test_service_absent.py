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

from weft.log.api import request
from weft.log.connection import Connection, connect
from weft.log.publishing import Publisher
from weft.log.server import EmbeddedServer
from weft.log.topology import provision
from weft.runtime import request_client
from weft.runtime.request_client import ask
from weft_schemas.compile import CompileRequest, ErrorReply, ExplainReply, ExplainRequest
from weft_schemas.errors import ERROR_HEADER, InvalidInput, Overloaded, Unavailable
from weft_schemas.policy import Phase
from weft_schemas.routing import ChoiceReply, ChoiceRequest, RouteReply, RouteRequest
from weft_schemas.status import StatusReply, StatusRequest

ADDRESS = ("acme", "s1", "choose")
CHOICE = ChoiceRequest("decision", "item")
STATUS = ("acme", "s1", "status")
LONG = 20.0
DONE = StatusReply("acme", "s1", 7, "o200k_base")


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


async def test_a_request_that_nobody_answers_is_sent_again_with_the_time_that_is_left(
    log: Connection, impatient: None
) -> None:
    got = await answering(log, None, DONE)
    reply = await ask(log, STATUS, StatusRequest(timeout=LONG), StatusReply, LONG)
    assert reply.sequence == 7
    first, second = (msgspec.json.decode(one.data, type=StatusRequest).timeout for one in got)
    assert second < first == LONG


async def test_a_time_that_is_no_number_is_for_the_service_to_refuse(log: Connection) -> None:
    await answering(log, ErrorReply("invalid_input", "status request: Expected `float`"))
    wrong: Any = "long"
    with pytest.raises(InvalidInput, match="Expected `float`"):
        await ask(log, STATUS, StatusRequest(timeout=wrong), StatusReply, wrong)


async def test_the_time_of_what_is_explained_is_what_is_left(
    log: Connection, impatient: None
) -> None:
    asked = ExplainRequest("m1", CompileRequest(Phase.ANSWER, timeout=LONG))
    got = await answering(log, None, ExplainReply("m1", True, True, "", ""))
    await ask(log, ("acme", "s1", "explain"), asked, ExplainReply, LONG)
    sent = [msgspec.json.decode(one.data, type=ExplainRequest).request.timeout for one in got]
    assert sent[1] < sent[0] == LONG


async def test_what_may_ask_a_model_is_asked_once(log: Connection, impatient: None) -> None:
    got = await answering(log, None)
    asking = asyncio.create_task(
        ask(log, ("acme", "s1", "route"), RouteRequest("lamp", "shop"), RouteReply)
    )
    await asyncio.sleep(0.5)
    await answered(log, got[0], RouteReply((), "shop", 1, "lamp"))
    assert (await asking).query == "lamp"
    assert len(got) == 1


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


@pytest.mark.parametrize("asked", [STATUS, ("acme", "s1", "route")])
async def test_what_a_server_forgot_when_it_was_restarted_is_asked_again(
    folder: Path, asked: tuple[str, str, str]
) -> None:
    async with EmbeddedServer(folder) as server:
        service, client = await connect(server.url), await connect(server.url)
        reply, request = (
            (DONE, StatusRequest())
            if asked == STATUS
            else (RouteReply((), "shop", 1, "lamp"), RouteRequest("lamp", "shop"))
        )
        got = await answering(service, None, reply, reply)
        asking = asyncio.create_task(ask(client, asked, request, type(reply), LONG))
        await until(lambda: len(got) == 1)
        await server.stop()
        await server.start()
        assert await asking == reply
        await client.close()
        await service.close()


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
