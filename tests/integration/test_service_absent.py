"""A service that is away for a moment, since its server was: who asks and has time waits for it."""

import asyncio

import msgspec
import pytest
from nats.aio.msg import Msg

from weft.log.connection import Connection
from weft.runtime.request_client import ask
from weft_schemas.errors import Unavailable
from weft_schemas.routing import ChoiceReply, ChoiceRequest

ADDRESS = ("acme", "s1", "choose")
CHOICE = ChoiceRequest("decision", "item")


async def test_a_service_that_comes_back_is_asked_again(log: Connection) -> None:
    asking = asyncio.create_task(ask(log, ADDRESS, CHOICE, ChoiceReply, 20.0))
    await asyncio.sleep(0.5)

    async def answer(message: Msg) -> None:
        await message.respond(msgspec.json.encode(ChoiceReply(7)))

    service = await log.subscribe("weft-rpc.*.*.choose", cb=answer)
    assert (await asking).sequence == 7
    await service.unsubscribe()


async def test_one_that_does_not_come_is_named(log: Connection) -> None:
    for wait in (0.0, 0.3):
        with pytest.raises(Unavailable, match="no service answers choose; start the services"):
            await ask(log, ADDRESS, CHOICE, ChoiceReply, wait)
