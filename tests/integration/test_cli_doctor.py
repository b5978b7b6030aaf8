"""`weft doctor` looks at everything, changes nothing, and says what it would do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.data import ROOT
from tests.integration.command_line import Ran, services, weft

from weft.log.api import call
from weft.log.connection import connect
from weft.log.server import EmbeddedServer
from weft.log.topology import provision
from weft.readmodel.generations import Generations


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
    assert found["processes"]["found"] == "none answers"


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
