"""A log that the server cannot find or read: `weft up` puts no empty one in its place, and `weft
doctor` says what is lost."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.command_line import weft
from tests.integration.indexer_process import publish
from tests.integration.snapshotted import ENCODING, made_anew, turns

from weft.indexer.rebuild import rebuild
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import state
from weft.log.transport import connect
from weft.readmodel.generations import Generations
from weft.runtime.settings import Settings
from weft.supervision.embedded_server import EmbeddedServer
from weft.supervision.up import provision_log, running
from weft_schemas.errors import ConfigurationError
from weft_schemas.subjects import STREAM


@asynccontextmanager
async def up(data: Path) -> AsyncIterator[Connection]:
    """`weft up` without services: a server, and the log on it."""
    async with running(Settings(data_dir=data), {}) as started:
        connection = await connect(started.settings.nats_url)
        try:
            yield connection
        finally:
            await connection.close()


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A data folder whose log has five events, which its replica has folded."""
    folder = tmp_path / "data"
    async with up(folder) as log:
        await publish(log, "s", turns(5))
        await rebuild(log, folder, ENCODING)
    return folder


def stream(data: Path) -> Path:
    return data / "nats" / "jetstream" / "$G" / "streams" / STREAM


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def count_after_start(data: Path) -> int:
    async with up(data) as log:
        return (await state(log)).messages


@pytest.mark.parametrize("part", ["msgs/1.blk", "meta.inf", "msgs", "", ".."])
async def test_a_store_that_the_user_may_not_read_starts_no_server_that_would_delete_it(
    data: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before, closed = contents(data), (stream(data) / part).resolve()
    is_open = os.access

    def access(path: str | Path, mode: int) -> bool:
        return Path(path) != closed and is_open(path, mode)

    monkeypatch.setattr(os, "access", access)  # root may read everything
    with pytest.raises(ConfigurationError, match="may not read and write") as refused:
        await count_after_start(data)
    assert str(closed) in str(refused.value)
    monkeypatch.undo()
    after = contents(data)
    assert {path: after[path] for path in before} == before
    assert await count_after_start(data) == 5


async def test_a_stream_that_the_server_could_not_restore_is_not_overwritten(data: Path) -> None:
    meta, block = stream(data) / "meta.inf", stream(data) / "msgs" / "1.blk"
    whole, events = meta.read_bytes(), block.read_bytes()
    meta.write_bytes(b"{}")
    for folder in ("replica", "moved"):  # also without a read model that knows of the log
        with pytest.raises(ConfigurationError, match="could not restore the stream weft from"):
            await count_after_start(data)
        assert block.read_bytes() == events
        (data / folder).rename(data / "moved") if folder == "replica" else None
    meta.write_bytes(whole)
    assert await count_after_start(data) == 5


async def test_no_empty_log_takes_the_place_of_one_that_the_read_model_knows(
    data: Path, tmp_path: Path
) -> None:
    away, replica = tmp_path / "weft", data / "replica"
    stream(data).rename(away)
    with pytest.raises(ConfigurationError, match="has folded one up to event 5") as refused:
        await count_after_start(data)
    assert f"move {replica} away first" in str(refused.value)
    assert not stream(data).exists()
    away.rename(stream(data))
    assert await count_after_start(data) == 5
    stream(data).rename(away)
    replica.rename(tmp_path / "replica")
    assert await count_after_start(data) == 0


async def test_provision_makes_no_log_where_the_read_model_knows_another(
    data: Path, tmp_path: Path
) -> None:
    async with EmbeddedServer(tmp_path / "nats") as server:
        settings = Settings(nats_url=server.url, data_dir=data)
        path = Generations(data).current()
        assert path is not None
        whole = path.read_bytes()
        for content, why in ((whole, "has folded one"), (b"no database", "may be of one")):
            path.write_bytes(content)
            with pytest.raises(ConfigurationError, match=why):
                await provision_log(settings)
        connection = await connect(server.url)
        assert not (await call(connection, "STREAM.NAMES"))["streams"]
        await connection.close()
        path.unlink()
        assert (await provision_log(settings)).changes


async def test_doctor_tells_what_a_log_lacks_that_a_replica_has_folded(
    log: Connection, tmp_path: Path
) -> None:
    url = f"nats://{log.connected_url.netloc}"
    await publish(log, "s", turns(5))
    await rebuild(log, tmp_path, ENCODING)
    assert await told(url, tmp_path) == []
    await made_anew(log)
    assert await told(url, tmp_path) == [
        ("read model", "the log lacks what generation-000001.sqlite has folded, up to 5")
    ]
    await rebuild(log, tmp_path, ENCODING)
    earlier = f"{tmp_path}/replica/earlier-log-through-5.sqlite is kept of an earlier log, up to 5"
    assert await told(url, tmp_path) == [("earlier log", f"{earlier}, and the log lacks what it")]
    await call(log, f"STREAM.DELETE.{STREAM}")
    ran = await weft("doctor", "--data", str(tmp_path), url=url)
    assert "there is no stream weft" in ran.out
    assert "remove earlier-log-through-5.sqlite" in ran.out


async def told(url: str, data: Path) -> list[tuple[str, str]]:
    """The faults that `weft doctor` finds beside that no service runs, each up to the reason."""
    ran = await weft("doctor", "--data", str(data), "--json", url=url)
    faults = [one for one in ran.json if one["state"] == "fault" and one["name"] != "processes"]
    return [(one["name"], one["found"].partition(": ")[0].partition(" holds")[0]) for one in faults]
