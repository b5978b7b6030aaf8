"""Worker processes for tests: started, watched over their HTTP port, killed, and always ended."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from tests.integration.preloaded import Program, program

PATIENCE = 120.0


class Running:
    """One process and what it logged so far."""

    def __init__(self, process: Process | Program) -> None:
        self.process = process
        self.log: list[dict] = []
        self.port = 0
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"level": "plain", "message": line.decode()}
            self.log.append(entry)
            self.port = entry.get("port", self.port)

    async def get(self, path: str) -> tuple[int, str]:
        """Status and body of its HTTP side; 0 where it does not answer."""

        def fetch() -> tuple[int, str]:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as reply:
                    return reply.status, reply.read().decode()
            except HTTPError as error:
                with error:
                    return error.code, error.read().decode()
            except (URLError, OSError):
                return 0, ""

        return await asyncio.to_thread(fetch)

    async def until_ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await self.get("/ready"))[0] != 200:
                assert self.process.returncode is None, self.log[-20:]
                await asyncio.sleep(0.05)

    async def until_listening(self) -> None:
        """From then on it heeds a signal: one that comes while Python starts ends it at once."""
        async with asyncio.timeout(PATIENCE):
            while not self.port:
                assert self.process.returncode is None, self.log[-20:]
                await asyncio.sleep(0.05)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait; returns the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.gone()

    async def gone(self) -> int:
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await self._reader
        return code


@asynccontextmanager
async def started(
    module: str, *arguments: str, is_forked: bool = True, **environ: str
) -> AsyncIterator[Running]:
    """`python -m module arguments…` with further `WEFT_` variables, forked or started for real;
    killed at the end."""
    variables = {**os.environ, **environ}
    process: Process | Program
    if is_forked:
        process = await program(module, *arguments, stderr=PIPE, env=variables)
    else:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, *arguments, stderr=PIPE, env=variables
        )
    running = Running(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.gone()
