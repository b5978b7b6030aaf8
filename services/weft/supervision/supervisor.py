"""Keeps a set of child processes running: restarts those that die, with increasing pauses, and
stops all of them cleanly at the end. A child that fails because of its configuration is not
restarted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Protocol

import msgspec

from weft.log.timeouts import cancelled
from weft.parent_death import VARIABLE as PARENT_VARIABLE
from weft.runtime.logs import fields
from weft.supervision.preloaded import PreloadedProcess

_log = logging.getLogger(__name__)

FIRST_PAUSE = 0.2
MAX_PAUSE = 15.0
"""Seconds between a death and the restart: the first pause, which doubles up to the longest."""
STEADY_SECONDS = 20.0
"""A child that ran at least this long starts again with the first pause."""
STOP_SECONDS = 15.0
"""Seconds from SIGTERM to SIGKILL; longer than a worker takes to drain."""
GIVE_UP = frozenset({2})
"""Exit codes after which a restart does not help: usage or configuration."""
_HOPELESS = (FileNotFoundError, PermissionError)
"""The same for a program that cannot be started: it is not there, or may not be run."""
STDOUT, STDERR = 1, 2
"""This process's own descriptors."""


class ChildSpec(msgspec.Struct, frozen=True):
    """A process to keep running."""

    name: str
    """For example `firewall-1`."""
    command: tuple[str, ...]
    environ: Mapping[str, str] = {}
    """In addition to the supervisor's own environment."""


WEFT = (sys.executable, "-m", "weft.cli.main")
"""The command line, as a command."""


def work_children(counts: Mapping[str, int], environ: Mapping[str, str] = {}) -> list[ChildSpec]:
    """`counts` processes of `weft work <service>`, each with its own HTTP port."""
    return [
        ChildSpec(
            name=f"{service}-{number}" if count > 1 else service,
            command=(*WEFT, "work", service),
            environ={**environ, "WEFT_HTTP_PORT": "0"},
        )
        for service, count in counts.items()
        for number in range(1, count + 1)
    ]


class ChildState(msgspec.Struct, frozen=True):
    """What `weft up` shows of one child."""

    name: str
    status: str
    """`running`, `restarting`, `stopped` or `failed`."""
    pid: int | None
    restarts: int
    last_exit: int | None
    """Negative: the signal that ended it."""


class Supervisor:
    """Use: `async with Supervisor(children) as up: await up.run_until(stop)`.

    The children's stderr goes to `log_file`, or else to this process's own. Commands of weft are
    forked from `preloaded` while it is there.
    """

    def __init__(
        self,
        children: Sequence[ChildSpec],
        log_file: IO[bytes] | None = None,
        preloaded: PreloadedProcess | None = None,
    ) -> None:
        self._keepers = [_Keeper(child, log_file, preloaded) for child in children]
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Supervisor:
        self._tasks = [asyncio.create_task(keeper.keep()) for keeper in self._keepers]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def states(self) -> list[ChildState]:
        return [keeper.state() for keeper in self._keepers]

    def kill(self, name: str) -> None:
        """SIGKILL one child, as a crash would; it is restarted."""
        for keeper in self._keepers:
            if keeper.child.name == name:
                keeper.signal(signal.SIGKILL)

    async def run_until(self, stop: asyncio.Event) -> bool:
        """Wait for `stop`, or for a child that a restart does not help.

        Returns whether `stop` was the reason.
        """
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([stopped, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        return stop.is_set()

    async def stop(self, drained: Callable[[str], None] = lambda name: None) -> None:
        """SIGTERM to all at once, SIGKILL to those that have not ended in `STOP_SECONDS`; `drained`
        gets the name of each that ended."""

        async def end(keeper: _Keeper) -> None:
            await keeper.end()
            drained(keeper.child.name)

        await asyncio.gather(*(end(keeper) for keeper in self._keepers))
        await cancelled(*self._tasks)
        self._tasks = []


class _Started(Protocol):
    """A process of asyncio's, or a forked one."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...

    def send_signal(self, number: signal.Signals, /) -> None: ...


class _Keeper:
    """One child over all its restarts."""

    def __init__(
        self, child: ChildSpec, log_file: IO[bytes] | None, preloaded: PreloadedProcess | None
    ) -> None:
        self.child = child
        self._log_file = log_file
        self._preloaded = preloaded
        self._process: _Started | None = None
        self._status = "restarting"
        self._starts = 0
        self._last_exit: int | None = None
        self._ending = False
        self._starting = asyncio.Lock()

    async def keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._ending:
            begun = time.monotonic()
            may_help = await self._live()
            if self._ending:
                return
            if not may_help:
                self._status = "failed"
                return
            pause = FIRST_PAUSE if time.monotonic() - begun > STEADY_SECONDS else pause
            self._status = "restarting"
            await asyncio.sleep(pause)
            pause = min(MAX_PAUSE, pause * 2)

    async def _live(self) -> bool:
        """From the start to the end; returns whether another start may help."""
        try:
            code = await self._until_ended()
        except OSError as error:
            _log.error(
                "a child cannot be started",
                extra=fields(child=self.child.name, error=str(error)),
            )
            return not isinstance(error, _HOPELESS)
        about = fields(child=self.child.name, exit=code)
        if self._ending:
            return False
        if code in GIVE_UP:
            _log.error("a child ended, and a restart does not help: it is given up", extra=about)
            return False
        _log.warning("a child ended; it is restarted", extra=about)
        return True

    async def _until_ended(self) -> int:
        """The exit code. Raises `OSError` if there is no process."""
        async with self._starting:
            if self._ending:
                return 0
            process = self._process = await self._started()
        self._starts += 1
        self._status = "running"
        self._last_exit = await process.wait()
        return self._last_exit

    async def _started(self) -> _Started:
        command, environ = self.child.command, {**os.environ, **self.child.environ}
        if self._preloaded is not None and command[: len(WEFT)] == WEFT:
            try:
                return await self._forked(self._preloaded, command[len(WEFT) :], environ)
            except OSError as error:
                _log.warning("a child is not forked but started anew: %s", error)
        return await asyncio.create_subprocess_exec(
            *command,
            env={**environ, PARENT_VARIABLE: str(os.getpid())},
            stdin=asyncio.subprocess.DEVNULL,
            stderr=self._log_file,
            # Ctrl-C in a terminal reaches only the supervisor, which stops them in order.
            start_new_session=True,
        )

    async def _forked(
        self, preloaded: PreloadedProcess, arguments: tuple[str, ...], environ: Mapping[str, str]
    ) -> _Started:
        stderr = STDERR if self._log_file is None else self._log_file.fileno()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            return await preloaded.start(arguments, environ, (nothing, STDOUT, stderr))
        finally:
            os.close(nothing)

    async def end(self) -> None:
        self._ending = True
        async with self._starting:
            process = self._process
        if process is not None and process.returncode is None:
            self.signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                self.signal(signal.SIGKILL)
                await process.wait()
            self._last_exit = process.returncode
        if self._status != "failed":
            self._status = "stopped"

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def state(self) -> ChildState:
        running = self._status == "running" and self._process is not None
        return ChildState(
            name=self.child.name,
            status=self._status,
            pid=self._process.pid if running and self._process else None,
            restarts=max(0, self._starts - 1),
            last_exit=self._last_exit,
        )
