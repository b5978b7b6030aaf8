"""Drill-downs and hydrations: in a process of the pool they say what they say in the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from tests.retrying import PATIENCE

from weft.firewall.service import encoded_slice, slice_of
from weft.readmodel.fold import Fold
from weft.readmodel.generations import Generations
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.status import LoggedArtifact
from weft.readmodel.store import open_writer
from weft.router.query_transform import identity
from weft.router.service import (
    HydrationJob,
    Routing,
    encoded_hydration,
    hydration,
    session_signals,
)
from weft.runtime.fork_server import ForkServer
from weft.runtime.pool import Pool
from weft.runtime.replica import Replica, pool_work
from weft.runtime.requests import ReceivedRequest
from weft_schemas.compile import DrilldownRequest
from weft_schemas.ids import SessionName
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import FirewallRules
from weft_schemas.routing import HydrateRequest, SelectableItem

RULES = FirewallRules()
TABLE = "id,name,price\n" + "".join(f"{n},item {n},{n % 977}.50\n" for n in range(5_000))

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOL = SelectableItem("cancel", "cancel", "Cancels an order.", args_schema=SCHEMA)


def warm() -> None:
    """Nothing to load."""


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(ForkServer(warm), 1, 60.0) as made:
        yield made


async def test_a_slice_is_the_same(pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_text(TABLE)
    kind, level = ItemKind.TOOL_RESULT, Sensitivity.PUBLIC
    found = LoggedArtifact(
        "art:x", "s", "r", 2, kind, len(TABLE), "text/csv", level, None, None, True
    )
    for view, args in (("rows", {"start": 4_000}), ("search", {"pattern": "item 4321,"})):
        request = DrilldownRequest("art:x", view, args, 200)
        shown = partial(slice_of, "acme", found, request, b"key", "cl100k_base", RULES)
        for body in (TABLE, file):
            made = await pool.run("acme", "s", encoded_slice, shown, body)
            assert made == msgspec.json.encode(shown(body))
            assert b"4321" in made or b"4000" in made


def folded(data_dir: Path) -> Path:
    """The read model of a session that names orders."""
    turn = ContextItem("u", ItemKind.USER_TURN, "Cancel order ORD_4711 of user mia_li_3668.")
    called = {"tool_name": "orders", "call_id": "c", "arguments": {"order_id": "ORD_4712"}}
    items = [turn, ContextItem("c", ItemKind.TOOL_CALL, "orders()", metadata=called)]
    path = Generations(data_dir).new()
    db = open_writer(path)
    Fold(db).apply(records_of(items, "acme", "s"))
    db.close()
    Generations(data_dir).publish(path)
    return path


async def test_a_hydration_is_the_same(pool: Pool, tmp_path: Path) -> None:
    path = folded(tmp_path)
    wanted = HydrationJob("acme", "s", TOOL, HydrateRequest("cancel", "c"))
    reader = ReadModel.open(path)
    ours = hydration(reader, wanted)
    assert {one.value for one in ours.values["order_id"]} == {"ORD_4711", "ORD_4712"}
    made = await pool.run("acme", "s", pool_work(tmp_path, encoded_hydration, wanted))
    assert made == msgspec.json.encode(ours)
    place = SessionName("acme", "s")
    known = session_signals(reader, place)
    assert await pool.run("acme", "s", pool_work(tmp_path, session_signals, place)) == known
    reader.close()


async def test_a_short_look_at_a_session_waits_for_no_heavy_request(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(tmp_path)
    monkeypatch.setattr("weft.runtime.pool.SHORT_SECONDS", PATIENCE)
    place, unused = SessionName("acme", "s"), cast(Any, None)
    wanted = HydrationJob("acme", "s", TOOL, HydrateRequest("cancel", "c"))
    async with Replica(tmp_path) as replica:
        routing = Routing(unused, replica, pool, unused, identity, tmp_path)
        known = await replica.read_here("acme", partial(routing._known, place))
        pool.isolate("acme")
        async with pool.turn("acme", "s"):
            why = await replica.read_here("acme", partial(routing._known, place))
            assert why is await replica.read_here("acme", partial(routing._here, wanted, True))
            assert isinstance(why, Enum)
            asked = ReceivedRequest("acme", "s", wanted.request)
            work = pool_work(tmp_path, session_signals, place)
            assert await routing._in_pool(asked, work, why) == known
