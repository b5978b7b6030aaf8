"""`weft doctor` looks at everything, changes nothing, and says what it would do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.data import ROOT
from tests.integration.command_line import Ran, services, weft
from tests.integration.indexer_process import publish
from tests.integration.snapshotted import turns

from weft.erasure.session import erase, plan
from weft.erasure.tombstones import tombstones
from weft.log.api import call
from weft.log.connection import Connection
from weft.log.reading import read_matching
from weft.log.topology import BODIES_STREAM, provision
from weft.log.transport import connect
from weft.readmodel.generations import Generations
from weft.snapshots.trim_mark import write_mark
from weft.supervision.embedded_server import EmbeddedServer
from weft_schemas.errors import ConfigurationError
from weft_schemas.subjects import STREAM


def by_name(ran: Ran) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in ran.json}


def read(address: str) -> bytes:
    with urlopen(address, timeout=10) as reply:
        return bytes(reply.read())


async def test_of_what_runs_it_finds_nothing_at_fault_and_up_says_where_its_metrics_are(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "up"
    async with services(folder) as url:
        ran = await weft("doctor", "--data", str(folder), "--json", url=url)
        found = by_name(ran)
        assert ran.code == 0, ran.out
        assert [name for name, one in found.items() if one["state"] != "ok" and name != "disk"] == [
            "scopes"
        ]
        assert found["scopes"]["state"] == "note"
        assert found["scopes"]["found"].startswith("open: ")
        assert {*found} >= {
            "versions", "data folder", "read model", "server", "server settings", "permissions",
            "clock", "log", "processes",
        }  # fmt: skip
        assert "6 answer" in found["processes"]["found"]
        targets = json.loads((folder / "metrics.json").read_text())
        assert sorted(one["labels"]["service"] for one in targets) == [
            "compiler", "firewall", "indexer", "memory", "router", "summarizer",
        ]  # fmt: skip
        address = f"http://{targets[0]['targets'][0]}/metrics"
        assert b"weft_lag_events" in await asyncio.to_thread(read, address)


async def test_before_anything_runs_it_says_what_up_would_do(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ran = await weft("doctor", "--data", str(folder), "--json")
    found = by_name(ran)
    if "port" in found and found["port"]["state"] == "ok":  # a server may stand on 4222
        assert "`weft up` starts a nats-server on it" in found["port"]["do"]
    assert found["data folder"]["do"] == "`weft up` makes it"
    assert not folder.exists()
    file = tmp_path / "file"
    file.touch()
    ran = await weft("doctor", "--data", str(file / "data"), "--json")
    assert ran.code == 1
    assert by_name(ran)["data folder"]["state"] == "fault"


async def test_a_server_that_is_named_and_away_is_a_fault(tmp_path: Path) -> None:
    ran = await weft("doctor", "--data", str(tmp_path), url="nats://127.0.0.1:1")
    assert ran.code == 1
    assert "no nats-server answers at nats://127.0.0.1:1" in ran.out
    assert ran.err.endswith("\n1 fault\n")


async def test_a_log_that_differs_and_a_damaged_read_model_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "up"
    others = ("firewall", "summarizer", "memory", "router")
    async with services(folder, *(part for name in others for part in (f"--{name}", "0"))):
        pass
    path = Generations(folder).current()
    assert path is not None
    content = bytearray(path.read_bytes())
    content[5_000] ^= 0xFF
    path.write_bytes(content)
    async with EmbeddedServer(tmp_path / "server") as server:
        log = await connect(server.url)
        ran = await weft("doctor", "--data", str(folder), "--json", url=server.url)
        assert by_name(ran)["log"]["found"] == "there is no stream weft yet"
        await provision(log)
        config = (await call(log, "STREAM.INFO.weft"))["config"]
        await call(log, "STREAM.UPDATE.weft", {**config, "allow_batched": False})
        ran = await weft("doctor", "--data", str(folder), "--json", url=server.url)
        await log.close()
    found = by_name(ran)
    assert ran.code == 1
    assert "is damaged" in found["read model"]["found"]
    assert "allow_batched is " in found["log"]["do"]
    assert found["log"]["do"].startswith("`weft provision` does this")
    assert (found["processes"]["state"], found["processes"]["found"]) == ("fault", "none answers")


async def test_what_somebody_did_to_the_log_is_told_with_what_to_do(log: Connection) -> None:
    url = f"nats://{log.connected_url.netloc}"
    await publish(log, "s", turns(10))
    await write_mark(log, 5)
    await call(log, f"STREAM.DELETE.{BODIES_STREAM}")
    config = (await call(log, f"STREAM.INFO.{STREAM}"))["config"]
    told = by_name(await weft("doctor", "--json", url=url))
    assert (told["log"]["state"], told["snapshots"]["state"]) == ("fault", "fault")
    assert "does this: create stream OBJ_weft_bodies" in told["log"]["do"]
    assert (
        "trimmed before 5, and no replica could start anew: there is" in told["snapshots"]["found"]
    )
    await call(log, f"STREAM.UPDATE.{STREAM}", {**config, "discard": "old", "max_msgs": 100})
    await call(log, f"CONSUMER.PAUSE.{STREAM}.memory", {"pause_until": "2999-01-01T00:00:00Z"})
    told = by_name(await weft("doctor", "--json", url=url))
    assert "deletes its oldest messages at its limit" in told["log"]["found"]
    assert "consumer weft/memory is paused until 2999" in told["log"]["found"]
    await call(log, f"STREAM.UPDATE.{STREAM}", {**config, "allow_direct": False})
    with pytest.raises(ConfigurationError, match=r"allow_direct off.*`weft provision` sets it"):
        [record async for record in read_matching(log, ">")]
    await call(log, f"STREAM.UPDATE.{STREAM}", {**config, "deny_delete": True})
    await provision(log)
    assert (
        "nothing can be erased" in by_name(await weft("doctor", "--json", url=url))["log"]["found"]
    )
    with pytest.raises(ConfigurationError, match=r"has deny_delete.* nothing was changed"):
        await erase(log, await plan(log, "t", "s"))
    assert not await tombstones(log, "t")


async def test_an_old_permission_file_is_at_fault_and_the_shipped_one_is_not(
    tmp_path: Path,
) -> None:
    shipped = ROOT / "deploy" / "nats" / "tenants" / "acme.conf"
    old = tmp_path / "acme.conf"
    old.write_text(shipped.read_text().replace('"weft.acme.*.in.revived"', '"weft.acme.gone"'))
    folder = str(tmp_path / "data")
    good = await weft("doctor", "--data", folder, "--permissions", str(shipped), "--json")
    assert by_name(good)["permission files"]["state"] == "ok"
    bad = await weft("doctor", "--data", folder, "--permissions", str(old), "--json")
    found = by_name(bad)["permission files"]
    assert bad.code == 1
    assert found["state"] == "fault"
    assert found["found"].startswith("acme.conf: acme-agent may decide on parked events")
    assert "deny 'weft.acme.s.in.revived'" in found["do"]
