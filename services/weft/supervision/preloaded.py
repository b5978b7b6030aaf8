"""A process that has imported what programs of weft need. Programs are forked from it: they start
in a fraction of the processor time, and share its memory.

The preloaded process has neither threads nor an event loop nor a connection, since a fork would
copy their locks and sockets. Its programs are its children: it reports how each one ended, and they
end with it.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from multiprocessing import reduction
from multiprocessing.connection import Connection, Pipe, wait
from typing import NoReturn, Self

import msgspec

from weft.parent_death import VARIABLE as PARENT_VARIABLE
from weft.parent_death import die_with_parent

RunProgram = Callable[[Sequence[str]], int]
"""Runs the program that the arguments name, and returns its exit code."""
Streams = tuple[int, int, int]
"""Descriptors that a program has as stdin, stdout and stderr."""

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PreloadedProcess:
    """The side that starts programs, in an event loop."""

    def __init__(self, commands: Connection, pid: int) -> None:
        """`commands` is the other end of the one that `serve` was given."""
        self.pid = pid
        self._commands = commands

    @classmethod
    def forked(cls, load: Callable[[], None], run: RunProgram, at_once: bool = True) -> Self:
        """Fork it from this process, which must not have threads or an event loop yet. It loads
        `at_once`, or when the first program is started."""
        ours, theirs = Pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # otherwise both write the buffered text
        pid = os.fork()
        if pid == 0:
            ours.close()
            serve(theirs, load, run, at_once)
        theirs.close()
        return cls(ours, pid)

    async def start(
        self, arguments: Sequence[str], environ: Mapping[str, str], streams: Streams
    ) -> ForkedProgram:
        """Start a program in a session of its own, in this process's folder; it gets only the
        environment `environ`. Raises `OSError` if the preloaded process is gone."""
        for stream in streams:
            os.fstat(stream)  # nothing may fail once the request is sent
        status, theirs = Pipe(duplex=False)
        try:
            with closing(theirs):
                self._commands.send(_Program(tuple(arguments), dict(environ), os.getcwd()))
                for handle in (*streams, theirs.fileno()):
                    reduction.send_handle(self._commands, handle, None)
            return ForkedProgram(await _received(status), status)
        except BaseException as error:
            status.close()
            if isinstance(error, EOFError):
                raise ConnectionResetError("the process that is forked has ended") from None
            raise

    def close(self) -> None:
        """End it, and wait until it and all of its programs have ended."""
        self._commands.close()
        os.waitpid(self.pid, 0)


class ForkedProgram:
    """A started program, with the interface of `asyncio.subprocess.Process`."""

    def __init__(self, pid: int, status: Connection) -> None:
        self.pid = pid
        self.returncode: int | None = None
        """Negative: the signal that ended it."""
        self._ended = asyncio.create_task(self._end(status))

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        return await asyncio.shield(self._ended)

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    async def _end(self, status: Connection) -> int:
        with closing(status):
            try:
                self.returncode = await _received(status)
            except (EOFError, OSError):  # the preloaded process has ended, and the program with it
                self.returncode = -signal.SIGKILL
        return self.returncode


async def _received(status: Connection) -> int:
    loop = asyncio.get_running_loop()
    is_readable = asyncio.Event()
    loop.add_reader(status.fileno(), is_readable.set)
    try:
        await is_readable.wait()
    finally:
        loop.remove_reader(status.fileno())
    return int(status.recv())


class _Program(msgspec.Struct, frozen=True):
    """A request to start a program. Four descriptors follow: its stdin, stdout and stderr, and a
    pipe for its process id and exit code."""

    arguments: tuple[str, ...]
    environ: dict[str, str]
    folder: str


def serve(
    commands: Connection, load: Callable[[], None], run: RunProgram, at_once: bool = True
) -> NoReturn:
    """Be the preloaded process until the other end of `commands` is closed."""
    try:
        program = _Serving(commands, load).until_forked(at_once)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    # From here on this is the program.
    _run_to_its_end(run, program.arguments)


def _run_to_its_end(run: RunProgram, arguments: Sequence[str]) -> NoReturn:
    """End as Python does, but without taking apart all that was imported: that would write to every
    page, which is shared, and take as long as the start."""
    try:
        code = run(arguments)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise  # Python prints it
        code = ended.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as multiprocessing does
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)  # Python tells of it
    os._exit(code)


class _Serving:
    """The preloaded process's own side."""

    def __init__(self, commands: Connection, load: Callable[[], None]) -> None:
        self._commands = commands
        self._load: Callable[[], None] | None = load
        # As in a real start: variables that this process got from its own starter are not passed
        # on.
        os.closerange(3, commands.fileno())
        os.closerange(commands.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        self._running: dict[int, Connection] = {}
        """Process id → where its end is reported."""
        # Only the starter ends it. Otherwise a signal that a terminal or a service manager sends to
        # all processes would kill the programs, which have to finish their work.
        self._handlers = {number: signal.getsignal(number) for number in _INTERRUPTS}
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)

    def until_forked(self, at_once: bool) -> _Program:
        """Fork a process for each request; returns only in these, each with its program."""
        os.setsid()
        if at_once:
            self._loaded()
        while True:
            ready = wait([self._commands, self._woken])
            if self._woken in ready:
                os.read(self._woken, 4_096)
                self._tell_ended()
            if self._commands in ready:
                program = self._fork()
                if program is not None:
                    return program

    def _loaded(self) -> None:
        load, self._load = self._load, None
        if load is not None:
            load()
            gc.collect()
            gc.freeze()  # a collection would write to every page, which would no longer be shared

    def _fork(self) -> _Program | None:
        try:
            program: _Program = self._commands.recv()
        except (EOFError, OSError):
            self._end()
        self._loaded()
        *streams, handle = [reduction.recv_handle(self._commands) for _ in range(4)]
        status, parent = Connection(handle, readable=False), os.getpid()
        # One that comes before the program has its own handlers waits for them, and is not lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        pid = os.fork()
        if pid == 0:
            self._become(program, streams, parent)
            status.close()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
            return program
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        for stream in streams:
            os.close(stream)
        self._running[pid] = status
        if not self._tell(pid, pid):
            os.kill(pid, signal.SIGKILL)
        return None

    def _become(self, program: _Program, streams: Sequence[int], parent: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        die_with_parent(parent)
        os.setsid()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        for connection in (self._commands, *self._running.values()):
            connection.close()
        os.close(self._woken)
        os.close(self._wake)
        _reopen_streams()
        os.chdir(program.folder)
        os.environ.clear()
        os.environ.update(program.environ)
        os.environ.pop(PARENT_VARIABLE, None)  # another process than the one that it dies with

    def _tell_ended(self) -> None:
        for pid in list(self._running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._tell(pid, os.waitstatus_to_exitcode(status))
                self._running.pop(pid).close()

    def _tell(self, pid: int, number: int) -> bool:
        """False if nobody waits for it any more."""
        try:
            self._running[pid].send(number)
        except OSError:
            return False
        return True

    def _end(self) -> NoReturn:
        """The starter is gone: its programs end too, if a child would outlive its parent."""
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        for pid in self._running:
            os.waitpid(pid, 0)
        os._exit(0)


def _reopen_streams() -> None:
    """Python's own streams remember properties of the preloaded process's streams, such as whether
    they can seek. These are made as Python makes them when it starts (`create_stdio` in CPython's
    pylifecycle.c)."""
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        if old is None:  # `weft` was started with this stream closed
            continue
        raw = io.FileIO(place, "w" if place else "r", closefd=False)
        is_buffered = not isinstance(old.buffer, io.RawIOBase)  # see PYTHONUNBUFFERED
        wrapped = io.BufferedWriter if place else io.BufferedReader
        new = io.TextIOWrapper(
            wrapped(raw) if is_buffered else raw,
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=is_buffered and (raw.isatty() or name == "stderr"),
            write_through=not is_buffered,
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
