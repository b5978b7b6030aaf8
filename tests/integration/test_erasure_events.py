"""The events that an erasure writes itself."""

import pytest
from tests.integration.indexer_process import publish

from weft.erasure.records import publish_own
from weft.erasure.session import erase, plan
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft_schemas.errors import InvalidInput
from weft_schemas.events import ErasedEvent, ErasureReceiptEvent
from weft_schemas.ids import TENANT_SESSION
from weft_schemas.items import ContextItem, ItemKind


async def test_a_receipt_is_stored_once_however_often_it_is_published(log: Connection) -> None:
    """A lost answer makes whoever erases publish it again."""
    receipt = ErasureReceiptEvent("s1", 7, {"events": 3}, ())
    async with Publisher(log) as publisher:
        first = await publish_own(publisher, "acme", receipt)
        assert await publish_own(publisher, "acme", receipt) == first
        assert await publish_own(publisher, "acme", receipt, fresh=True) > first


async def test_the_reason_of_an_erasure_makes_no_session_a_fork(log: Connection) -> None:
    for session in ("owner", "lone"):
        await publish(log, session, [ContextItem("u1", ItemKind.USER_TURN, "hello")])
    with pytest.raises(InvalidInput, match="word it differently"):
        await erase(log, await plan(log, "t", "lone"), "fork of owner")
    await publish(log, TENANT_SESSION, [ErasedEvent("lone", "fork of owner")])
    assert (await plan(log, "t", "owner")).forks == ()
    await publish(log, TENANT_SESSION, [ErasedEvent("owner"), ErasedEvent("f", "fork of owner")])
    assert (await plan(log, "t", "owner")).forks == ("f",)
