"""Programs that are forked from one preloaded process, as `weft up` forks its services: a start
takes a fraction of the processor time. `create_subprocess_exec` starts the same programs for real.

A forked program has the hash seed of its preloaded process. What has to hold under different seeds
is started for real.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import runpy
import signal
import sys
from asyncio.streams import FlowControlMixin
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

import weft.cli
from weft.cli.services import SERVICES, load
from weft.supervision.preloaded import ForkedProgram, PreloadedProcess, serve
from weft.tokens.encodings import DEFAULT_ENCODING

ROOT = Path(__file__).parents[2]
MAIN = "weft.cli.main"
"""Is run as `__main__`, of which Python warns if it was imported before."""
COMMANDS = sorted(
    f"weft.cli.{path.stem}"
    for path in Path(weft.cli.__path__[0]).glob("*.py")
    if MAIN not in path.read_text(encoding="utf-8") and path.stem not in ("__init__", "main")
)
LOADED = (
    *COMMANDS,
    "anyio._backends._asyncio",
    "rich.progress",
    "rich.table",
    "weft.http.service",
    "weft.supervision.up",
    # Of the gateway, and of the servers that tests start behind it.
    "weft.gateway.gateway",
    "weft.gateway.serving",
    "weft.gateway.weft_server",
    "mcp.server.auth.provider",
    "mcp.server.mcpserver",
    "uvicorn",
)


class Program:
    """What `asyncio.subprocess.Process` is, of a forked program."""

    def __init__(self, forked: ForkedProgram) -> None:
        self._forked = forked
        self.pid = forked.pid
        self.wait = forked.wait
        self.send_signal = forked.send_signal
        self.kill = partial(forked.send_signal, signal.SIGKILL)
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    @property
    def returncode(self) -> int | None:
        return self._forked.returncode

    async def communicate(self, given: bytes = b"") -> tuple[bytes, bytes]:
        """Write and read to the end, and wait for its end."""
        out, err, _ = await asyncio.gather(
            _rest(self.stdout), _rest(self.stderr), self._feed(given)
        )
        await self.wait()
        return out, err

    async def _feed(self, given: bytes) -> None:
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.stdin.write(given)
                await self.stdin.drain()
            self.stdin.close()


async def program(
    module: str,
    *arguments: str,
    env: Mapping[str, str],
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    preloaded: PreloadedProcess | None = None,
) -> Program:
    """`python -m module arguments…` with this environment; each stream is this process's own
    (None), `PIPE` or `DEVNULL`. It is forked from `preloaded`, by default the shared one."""
    wanted = (stdin, stdout, stderr)
    pipes = {place: os.pipe() for place, one in enumerate(wanted) if one == PIPE}
    given = {place: ends[min(place, 1)] for place, ends in pipes.items()}
    given |= {
        place: os.open(os.devnull, os.O_RDWR) for place, one in enumerate(wanted) if one == DEVNULL
    }
    try:
        streams = (given.get(0, 0), given.get(1, 1), given.get(2, 2))
        made = Program(
            await (preloaded or shared_preloaded()).start(("-m", module, *arguments), env, streams)
        )
    finally:
        for descriptor in given.values():
            os.close(descriptor)
    if 0 in pipes:
        made.stdin = await _writer(pipes[0][1])
    if 1 in pipes:
        made.stdout = await _reader(pipes[1][0])
    if 2 in pipes:
        made.stderr = await _reader(pipes[2][0])
    return made


@cache
def shared_preloaded() -> PreloadedProcess:
    """The process that programs of these tests are forked from, and the services of
    `weft.supervision.up.running` where it is given to that. It starts when it is first needed, and
    ends with this process at the latest."""
    made = _started()
    atexit.register(made.close)
    return made


@contextlib.contextmanager
def fresh_preloaded(is_bare: bool = False) -> Iterator[PreloadedProcess]:
    """One for a test that ends it; `is_bare` has imported nothing, and starts at once."""
    with contextlib.closing(_started(is_bare)) as made:
        yield made


def _started(is_bare: bool = False) -> PreloadedProcess:
    ours, theirs = Pipe()
    os.set_inheritable(theirs.fileno(), True)
    command = [sys.executable, "-m", __name__, str(theirs.fileno()), *["bare"] * is_bare]
    # Some tests are in another folder by now.
    path = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    pid = os.posix_spawn(sys.executable, command, {**os.environ, "PYTHONPATH": path})
    theirs.close()
    return PreloadedProcess(ours, pid)


def _load() -> None:
    load(SERVICES, DEFAULT_ENCODING)
    for module in LOADED:
        import_module(module)
    assert MAIN not in sys.modules


def _run(arguments: Sequence[str]) -> int:
    """`-m module arguments…`, as Python takes it, or the arguments of `weft`."""
    if arguments[0] != "-m":
        arguments = ("-m", MAIN, *arguments)
    sys.orig_argv = [sys.executable, *arguments]
    sys.argv = list(arguments[1:])
    runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    return 0


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = partial(asyncio.StreamReaderProtocol, reader)
    await asyncio.get_running_loop().connect_read_pipe(protocol, os.fdopen(descriptor, "rb", 0))
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _rest(reader: asyncio.StreamReader | None) -> bytes:
    return b"" if reader is None else await reader.read()


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), _load if len(sys.argv) == 2 else lambda: None, _run)
