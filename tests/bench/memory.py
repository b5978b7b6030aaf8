"""Memory of every process of `weft up`: at rest on an empty log, and at most under a load of items
of 1 to 20 KB, with compiles beside and after it."""

import asyncio
import re
import tempfile
from pathlib import Path

from tests.bench.table import show
from tests.integration.fleet import children, peak_mib
from tests.integration.processes import Running, started
from tests.soak.levels import MIB, resident_bytes
from weft.client import Client
from weft.runtime.settings import Settings
from weft_schemas.items import ContextItem, ItemKind

REST_SECONDS = 10.0
SESSIONS = 8
ITEMS = 1_500
"""In each session."""
COMPILE_EACH = 50
ASKERS = 4
"""As many as a compiler has reading threads, so that the page cache of each is filled."""
COMPILES = 250
"""Of each asker, after the items."""
START_SECONDS = 90.0
_LINE = "a line of a result that says that all is well\n"


async def load(url: str) -> None:
    """All sessions at once, each from a client of its own."""

    async def session(number: int) -> None:
        async with Client(Settings(nats_url=url, tenant="acme")) as client:
            for n in range(ITEMS):
                kind = (ItemKind.USER_TURN, ItemKind.TOOL_RESULT)[n % 2]
                item = ContextItem(f"i{n}", kind, f"{n}: " + _LINE * (20 + n % 380))
                ack = await client.publish(f"s{number}", item)
                if n % COMPILE_EACH == 0:
                    await client.compile(f"s{number}", "answer", after=ack.sequence, timeout=30.0)

    async def asker(number: int) -> None:
        async with Client(Settings(nats_url=url, tenant="acme")) as client:
            for n in range(COMPILES):
                name = f"s{(number + n) % SESSIONS}"
                await client.compile(name, "answer", query=f"line {n}", timeout=30.0)

    await asyncio.gather(*(session(number) for number in range(SESSIONS)))
    await asyncio.gather(*(asker(number) for number in range(ASKERS)))


async def address(up: Running) -> str:
    """Where its server listens, when everything runs."""
    async with asyncio.timeout(START_SECONDS):
        while True:
            messages = " ".join(line["message"] for line in up.log)
            found = re.search(r"nats://127\.0\.0\.1:\d+", messages)
            if found and "ready" in messages:
                return found[0]
            assert up.process.returncode is None, messages
            await asyncio.sleep(0.1)


def processes(up: int) -> dict[str, int]:
    """Name → process id, of `weft up` and everything that it started."""
    found = {"weft up itself": up}
    for pid in children(up):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        name = words[words.index("work") + 1] if "work" in words else Path(words[0]).name
        found[name] = pid
    return found


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        async with started("weft.cli.main", "up", "--port", "0", "--data", folder) as up:
            url = await address(up)
            await asyncio.sleep(REST_SECONDS)
            pids = processes(up.process.pid)
            rest = {name: resident_bytes(pid) // MIB for name, pid in pids.items()}
            await load(url)
            rows = [[name, rest[name], peak_mib(pid)] for name, pid in sorted(pids.items())]
            assert await up.end() == 0
    columns = ["process", "at rest, MiB", "at most, MiB"]
    show(f"Memory (VmRSS, VmHWM): {SESSIONS} sessions of {ITEMS:,} items", columns, rows)


if __name__ == "__main__":
    asyncio.run(main())
