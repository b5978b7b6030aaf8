"""The checker finds what it is there for: in examples, and in processes that are wrong."""

import asyncio
import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.crash import load
from tests.crash.checker import Attempt, Held, faults, held_in
from tests.crash.lives import PATIENCE, hurry, living, settled
from weft.log.connection import Connection
from weft.readmodel.generations import Reader
from weft_schemas.events import encode_event
from weft_schemas.items import ContextItem, ItemKind

ITEMS = [ContextItem(f"i{n}", ItemKind.TOOL_RESULT, f"text {n}") for n in range(3)]
SENT = [Attempt("s", item, "acknowledged") for item in ITEMS]
HELD = [
    Held("s", item.id, hashlib.sha256(encode_event(item)).digest(), True, False, 1)
    for item in ITEMS
]


def test_it_is_content_with_every_item_once_in_order_and_settled():
    assert faults(SENT, HELD) == []


@pytest.mark.parametrize(
    ("attempts", "held", "says"),
    [
        (SENT, HELD[1:], "s/i0 was acknowledged, is held 0 times"),
        (SENT, [HELD[0], *HELD], "s/i0 was acknowledged, is held 2 times"),
        ([replace(SENT[0], outcome="refused"), *SENT[1:]], HELD, "s/i0 was refused"),
        (SENT[1:], HELD, "s/i0 was never published"),
        (SENT, [replace(HELD[0], hash=b"other"), *HELD[1:]], "s/i0 has other content"),
        (SENT, [HELD[1], HELD[0], HELD[2]], "s/i1 stands before i0"),
        (SENT, [replace(HELD[0], waiting=True, envelopes=0), *HELD[1:]], "s/i0 is not settled"),
        (SENT, [replace(HELD[0], envelopes=2), *HELD[1:]], "s/i0 is not settled"),
    ],
)
def test_it_says_what_is_wrong(attempts: list[Attempt], held: list[Held], says: str):
    assert any(fault.startswith(says) for fault in faults(attempts, held))


@pytest.mark.parametrize("missing", [HELD, HELD[1:]])
def test_of_an_unknown_publish_it_takes_both_outcomes(missing: list[Held]):
    assert faults([replace(SENT[0], outcome="unknown"), *SENT[1:]], missing) == []


@pytest.mark.parametrize(
    ("point", "says"),
    [("firewall.after_work", "is not settled"), ("indexer.after_work", "is held 0 times")],
    ids=["a worker that acknowledges first", "an indexer that commits its checkpoint early"],
)
async def test_a_process_that_breaks_the_rule_is_caught(
    server, log: Connection, tmp_path: Path, point: str, says: str
):
    await hurry(log)
    await load.publish(server.url)
    service = point.partition(".")[0]
    commands = {service: ("tests.crash.faulty", "work", service)}
    alive = living(server.url, tmp_path, {service: [point]}, commands, is_forked=True)
    async with alive as hit:
        async with asyncio.timeout(PATIENCE):
            while not hit:
                await asyncio.sleep(0.05)
        with Reader(tmp_path) as reader:
            await settled(log, reader)
            held = held_in(reader.model().db)
    sent = [
        Attempt(session, item, "acknowledged")
        for session, items in load.SESSIONS.items()
        for item in items
        if item.id != "large"  # published by reference: other bytes than the item's own
    ]
    held = [one for one in held if one.id != "large"]
    found = faults(sent, held)
    assert any(says in fault for fault in found), found[:5]
