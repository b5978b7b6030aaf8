"""Items per second through `client.publish`, against nats-py with the same ids, bytes and window.

`python -m tests.bench.client [ITEMS]` on an embedded server, durability `process`; rounds are
interleaved and the ratio is the median of the rounds'. The client also checks, encodes and names
every item; nats-py gets bytes and ids that are ready.
"""

import asyncio
import sys
import tempfile
import time

import nats
from nats.js import JetStreamContext

import weft
from tests.bench.table import ratio, show
from weft.log.in_flight import WINDOW
from weft.log.reading import last_sequence
from weft.log.topology import provision
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.events import encode_event
from weft_schemas.ids import item_message_ids
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.subjects import item_subject

ITEMS = 100_000
ROUNDS = 5
TEXT = "x" * 880
"""Makes items of about 1 KB."""

CALL = {"tool_name": "get", "call_id": "call_1"}


def items(count: int) -> list[ContextItem]:
    return [
        ContextItem(
            f"m{n}", ItemKind.TOOL_RESULT, f"{n} {TEXT}", f"c{n}", metadata={"call_id": "c"}
        )
        for n in range(count)
    ]


async def by_client(client: weft.Client, session: str, made: list[ContextItem]) -> float:
    begun = time.perf_counter()
    ack = await client.publish(session, made)
    seconds = time.perf_counter() - begun
    assert ack.count == len(made)
    return len(made) / seconds


async def by_nats(url: str, session: str, made: list[ContextItem]) -> float:
    subject = item_subject("bench", session, ItemKind.TOOL_RESULT)
    name = item_message_ids("bench", session)
    ready = [
        (payload, {"Nats-Msg-Id": name(item.id, payload)})
        for item in made
        for payload in (encode_event(item),)
    ]
    connection = await nats.connect(url)
    js = JetStreamContext(connection, publish_async_max_pending=WINDOW)
    begun = time.perf_counter()
    futures = [
        await js.publish_async(subject, payload, headers=headers) for payload, headers in ready
    ]
    await asyncio.gather(*futures)
    seconds = time.perf_counter() - begun
    await connection.close()
    return len(made) / seconds


async def measure(count: int) -> tuple[list[float], list[float]]:
    ours, theirs = [], []
    made = items(count)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            EmbeddedServer(folder) as server,
            weft.connect(server.url, tenant="bench") as client,
        ):
            await provision(client.connection)
            for number in range(ROUNDS):
                ours.append(await by_client(client, f"ours-{number}", made))
                theirs.append(await by_nats(server.url, f"theirs-{number}", made))
            assert await last_sequence(client.connection) == 2 * ROUNDS * count
    return ours, theirs


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    ours, theirs = asyncio.run(measure(count))
    rows = [
        ("client.publish", sorted(ours)[ROUNDS // 2], ratio(ours, theirs)),
        ("nats-py publish_async", sorted(theirs)[ROUNDS // 2], 1.0),
    ]
    title = f"Publishing {count:,} items of 1 KB, {ROUNDS} rounds of each, window {WINDOW:,}"
    show(title, ("way", "items/s, median", "x of publish_async"), rows)


if __name__ == "__main__":
    main()
