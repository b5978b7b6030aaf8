"""Who imports weft, uses its names and connects its client finds his own program as it was."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SAME = """
import asyncio, csv, gc, json, logging, signal, sys

def host():
    loggers = {
        name: (logger.level, len(logger.handlers), len(logger.filters), logger.propagate)
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and not name.startswith(("weft", "nats"))
    }
    root = logging.root
    return {
        "root": (root.level, len(root.handlers), len(root.filters)),
        "loggers": loggers,
        "csv": csv.field_size_limit(),
        "gc": (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()),
        "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM)],
        "hooks": [str(sys.excepthook), str(sys.unraisablehook)],
        "recursion": sys.getrecursionlimit(),
    }

logging.getLogger("asyncio")
before = host()
import weft
from weft_schemas.items import ContextItem, ItemKind

def every_name():
    for name in weft.__all__:
        getattr(weft, name)
    weft.firewall_result('"id","text"\\n' + '"7","some words"\\n' * 4_000)
    from weft.gateway import serving

async def main(url):
    async with weft.connect(url, tenant="acme") as client:
        every_name()
        during = host()
        assert client.connection.is_connected
    return during

during = asyncio.run(main(sys.argv[1]))
after = host()
for one in (before, during, after):
    one["loggers"] = {name: one["loggers"][name] for name in before["loggers"]}
print(json.dumps([before, during, after]))
"""


@pytest.fixture
async def url(tmp_path):
    from weft.supervision.embedded_server import EmbeddedServer

    async with EmbeddedServer(tmp_path) as server:
        yield server.url


async def test_loggers_limits_collector_and_signals_stay_as_they_were(url: str) -> None:
    ran = subprocess.run([sys.executable, "-c", SAME, url], capture_output=True, check=True)  # noqa: ASYNC221
    before, during, after = json.loads(ran.stdout)
    # asyncio itself takes Ctrl-C while its loop runs.
    assert {**during, "signals": 0} == {**before, "signals": 0}
    assert during["signals"][1] == before["signals"][1]
    assert after == before
    assert ran.stderr == b""
