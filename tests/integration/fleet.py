"""Processes on one log that tests add and remove while it is in use, and the memory of each."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from tests.integration.processes import PATIENCE, Running, started

FIREWALL = ("work", "firewall")
REPLICA = ("work", "replica")


class Fleet:
    """`async with Fleet(url, folder) as fleet:`; what still runs at the end is killed.

    Every member has a data folder of its own under `folder`, which outlives it.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._stack = AsyncExitStack()
        self.members: dict[str, Running] = {}
        self.peaks: dict[str, int] = {}
        """`<member> <service>` → MiB."""
        self.done: list[str] = []
        """What was added and removed, in order, with the second in which it was done."""
        self._begun = time.monotonic()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.measure()
        await self._stack.aclose()

    def data_dir(self, name: str) -> Path:
        return self._folder / name

    async def add(self, name: str, command: tuple[str, ...]) -> Running:
        """Start `weft <command>` and return when each of its processes says that it is ready."""
        environ = {"WEFT_NATS_URL": self._url, "WEFT_DATA_DIR": str(self.data_dir(name))}
        # For real: a forked process would begin with the memory of what it is forked from.
        member = started("weft.cli.main", *command, is_forked=False, **environ)
        self.members[name] = running = await self._stack.enter_async_context(member)
        async with asyncio.timeout(PATIENCE):
            while await _ready(running) < (2 if command == REPLICA else 1):
                assert running.process.returncode is None, running.log[-5:]
                await asyncio.sleep(0.1)
        self._note(f"+{name}")
        return running

    async def remove(self, name: str, number: signal.Signals) -> None:
        """End a member; one that is asked to (SIGTERM) must end cleanly."""
        self.measure()
        code = await self.members.pop(name).end(number)
        assert code == (0 if number is signal.SIGTERM else -number), (name, code)
        self._note(f"-{name} by {number.name}")

    def _note(self, what: str) -> None:
        self.done.append(f"{time.monotonic() - self._begun:.0f} s {what}")

    def measure(self) -> None:
        """Take note of the most memory that each process of the members had so far."""
        for name, running in self.members.items():
            for pid in (running.process.pid, *descendants(running.process.pid)):
                service, mib = service_of(pid), peak_mib(pid)
                self.peaks[f"{name} {service}"] = max(mib, self.peaks.get(f"{name} {service}", 0))


def peak_mib(pid: int) -> int:
    """The most memory that a process had, 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0) // 1024


def children(pid: int) -> list[int]:
    """The processes that a process started itself."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that these started."""
    return [one for child in children(pid) for one in (child, *descendants(child))]


def service_of(pid: int) -> str:
    """`weft-indexer` and so on, also of its subprocesses that are forked; another name of one that
    is no service."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


async def _ready(running: Running) -> int:
    """How many of a member's processes say that they are ready."""
    ports = {line["port"] for line in running.log if "port" in line}
    return sum([await asyncio.to_thread(_says_ready, port) for port in ports])


def _says_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready", timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False
