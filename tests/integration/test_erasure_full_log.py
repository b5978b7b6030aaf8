"""Erasing from a log at its limit: what makes room is told, and works."""

from pathlib import Path

import pytest
from tests.integration.command_line import weft
from tests.integration.indexer_process import publish
from tests.integration.snapshotted import acknowledge_all, snapshot_of, turns

from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import read_session
from weft_schemas.subjects import STREAM

ERASE = ("erase", "--tenant", "t", "--session", "s", "--yes")


async def fill(log: Connection) -> None:
    """Let the log have no room for another event."""
    info = await call(log, f"STREAM.INFO.{STREAM}")
    limited = {**info["config"], "max_bytes": info["state"]["bytes"]}
    await call(log, f"STREAM.UPDATE.{STREAM}", limited)


@pytest.mark.parametrize("way", ["trim", "limit"])
async def test_what_makes_room_for_an_erasure_is_told(
    log: Connection, tmp_path: Path, way: str
) -> None:
    url = f"nats://{log.connected_url.netloc}" if log.connected_url else ""
    await publish(log, "s", turns(60))
    await publish(log, "other", turns(60))
    await acknowledge_all(log)
    await fill(log)
    told = await weft("doctor", "--json", "--data", str(tmp_path), url=url)
    (room,) = [one for one in told.json if one["name"] == "room"]
    assert room["state"] == "fault"
    assert "the log is full" in room["found"]
    refused = await weft(*ERASE, url=url)
    assert refused.code != 0
    for part in ("`weft snapshot`", "`weft trim --before N`", "WEFT_MAX_BYTES", "`weft provision`"):
        assert part in refused.err
    if way == "trim":
        await snapshot_of(log, tmp_path / "a")
        assert (await weft("trim", "--before", "100", url=url)).code == 0
    else:
        larger = str(2 << 20)
        assert (await weft("provision", url=url, settings={"WEFT_MAX_BYTES": larger})).code == 0
    done = await weft(*ERASE, url=url)
    assert done.code == 0, done.err
    assert [one async for one in read_session(log, "t", "s")] == []
    assert [one async for one in read_session(log, "t", "other")] != []
