"""The events that an erasure writes itself."""

from weft.erasure.records import publish_own
from weft.log.connection import Connection
from weft.log.publishing import Publisher
from weft_schemas.events import ErasureReceiptEvent


async def test_a_receipt_is_stored_once_however_often_it_is_published(log: Connection) -> None:
    """A lost answer makes whoever erases publish it again."""
    receipt = ErasureReceiptEvent("s1", 7, {"events": 3}, ())
    async with Publisher(log) as publisher:
        first = await publish_own(publisher, "acme", receipt)
        assert await publish_own(publisher, "acme", receipt) == first
        assert await publish_own(publisher, "acme", receipt, fresh=True) > first
