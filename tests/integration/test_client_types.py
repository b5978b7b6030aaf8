"""Fields of a wrong type are refused before anything is sent: Structs do not look when made."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

import weft
from weft.log.connection import Connection
from weft.log.reading import last_sequence, read
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.items import BodyRef, ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, FirewallRules
from weft_schemas.routing import Catalog, SelectableItem

WRONG = {
    "kind": "nonsense",
    "id": 5,
    "text": b"bytes",
    "parent_id": 7,
    "token_estimate": "many",
    "sensitivity": "secret",
    "metadata": [1],
    "body": BodyRef("0" * 64, "large"),  # type: ignore[arg-type]
}


def wrong(field: str) -> ContextItem:
    fields: dict[str, Any] = {"id": "bad", "kind": ItemKind.USER_TURN, field: WRONG[field]}
    return ContextItem(**fields)


@pytest.fixture
async def client(server: EmbeddedServer, log: Connection) -> AsyncIterator[weft.Client]:
    async with weft.connect(server.url, tenant="acme") as connected:
        yield connected


@pytest.mark.parametrize("field", WRONG)
async def test_an_item_with_a_wrong_field_is_named_and_nothing_is_published(
    client: weft.Client, log: Connection, field: str
) -> None:
    good = ContextItem("good", ItemKind.USER_TURN, "hello")
    name = "5" if field == "id" else "'bad'"
    with pytest.raises(weft.InvalidInput, match=rf"item {name}: .*\$\.{field}"):
        await client.publish("s1", [good, wrong(field)])
    assert await last_sequence(log) == 0


async def test_what_is_right_but_not_of_the_exact_type_is_taken(
    client: weft.Client, log: Connection
) -> None:
    plain = ContextItem("u", "user_turn", "hi", metadata={"pair": (1, 2)})  # type: ignore[arg-type]
    ack = await client.publish("s1", plain)
    expected = ContextItem("u", ItemKind.USER_TURN, "hi", metadata={"pair": [1, 2]})
    assert (await read(log, ack.sequence)).event() == expected


@pytest.mark.parametrize("padding", ["", "long " * 100_000], ids=["small", "large"])
async def test_a_catalogue_with_a_wrong_kind_is_refused(
    client: weft.Client, log: Connection, padding: str
) -> None:
    bad = SelectableItem("b", "bad", padding, kind="wrong")  # type: ignore[arg-type]
    catalog = Catalog("tools", (SelectableItem("a", "good"), bad))
    with pytest.raises(weft.InvalidInput, match=r"item 'b': .*'wrong'.*\$\.kind"):
        await client.publish_catalog(catalog)
    assert await last_sequence(log) == 0


async def test_a_policy_with_a_wrong_field_is_refused(client: weft.Client, log: Connection) -> None:
    rules = FirewallRules(threshold="many")  # type: ignore[arg-type]
    with pytest.raises(weft.InvalidInput, match=r"context_policy 'p': .*\$\.firewall\.threshold"):
        await client.publish_policy(ContextPolicy(name="p", firewall=rules))
    assert await last_sequence(log) == 0
