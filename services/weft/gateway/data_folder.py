"""What a gateway keeps in its data folder: pins, servers' manifests, and the state of each running
gateway. Several gateways may share the folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from weft.durable_files import replace_durably
from weft.file_lock import FileLock
from weft.gateway.tools.quarantine import Pin, Quarantined
from weft.gateway.upstream.manifest import Manifest
from weft.runtime.deployment import private
from weft_schemas.errors import ConfigurationError
from weft_schemas.ids import digest


class ServerState(msgspec.Struct, frozen=True):
    """One server, as `weft gateway status` shows it."""

    name: str
    state: str
    """`configured`, `known`, `started` or `called`."""
    tools: int = 0
    calls: int = 0
    failures: int = 0
    """How often the server ended, or could not be reached."""
    last_error: str = ""
    protocol: str = ""
    errors: int = 0
    """Calls that the server answered with an error."""


class GatewayState(msgspec.Struct, frozen=True):
    """One running gateway."""

    pid: int
    config: str
    mode: str
    log: str
    servers: tuple[ServerState, ...] = ()
    hosts: tuple[str, ...] = ()
    address: str = ""
    """Its address for HTTP; empty for stdio."""
    log_fault: str = ""
    """Why it has no log."""


class PinFile(msgspec.Struct, frozen=True):
    """The content of the file of pins."""

    pins: dict[str, Pin] = {}
    quarantined: dict[str, Quarantined] = {}


class DataFolder:
    """`DIR/gateway`."""

    def __init__(self, data_dir: Path) -> None:
        private(data_dir)
        self.path = private(data_dir / "gateway")
        self._manifests = private(self.path / "manifests")
        self._kept_state: GatewayState | None = None

    def pinned(self) -> PinFile:
        """Raises `ConfigurationError` if the file cannot be read: without it, every tool would be
        trusted as if it were new."""
        path = self.path / "pins.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=PinFile)
        except FileNotFoundError:
            return PinFile()
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigurationError(
                f"{path}: {error}; mend it, or remove it to pin anew"
            ) from None

    def keep_pinned(self, pinned: PinFile) -> None:
        replace_durably(self.path / "pins.json", msgspec.json.format(msgspec.json.encode(pinned)))

    def stamp(self) -> tuple[int, int]:
        """Changes whenever the file of pins does."""
        try:
            found = (self.path / "pins.json").stat()
        except FileNotFoundError:
            return 0, 0
        return found.st_mtime_ns, found.st_ino

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Only one gateway at a time reads and writes the pins."""
        lock = FileLock(self.path / "pins.lock")
        lock.acquire(wait=True)
        try:
            yield
        finally:
            lock.release()

    def manifest(self, server: str, spec: str) -> Manifest | None:
        """A server's manifest, if the server is still started in the same way."""
        try:
            found = msgspec.json.decode(self._manifest(server).read_bytes(), type=Manifest)
        except (OSError, msgspec.MsgspecError):
            return None
        return found if found.spec == spec else None

    def keep_manifest(self, server: str, manifest: Manifest) -> None:
        replace_durably(self._manifest(server), msgspec.json.encode(manifest))

    def _manifest(self, server: str) -> Path:
        return self._manifests / f"{digest('server', server)[:16]}.json"

    def sign_in(self, server: str, url: str) -> Path:
        """The file with the sign-in to a server; a server with another address has another file."""
        folder = private(self.path / "sign-in")
        return folder / f"{digest('sign-in', server, url)[:16]}.json"

    def keep_state(self, state: GatewayState) -> None:
        """Called every second; the file is written when the state has changed."""
        path = self.path / f"running-{state.pid}.json"
        if state != self._kept_state or not path.exists():
            replace_durably(path, msgspec.json.encode(state))
            self._kept_state = state

    def forget_state(self) -> None:
        (self.path / f"running-{os.getpid()}.json").unlink(missing_ok=True)

    def running(self) -> list[GatewayState]:
        """The gateways that run now; files of others are removed."""
        found = []
        for path in sorted(self.path.glob("running-*.json")):
            try:
                state = msgspec.json.decode(path.read_bytes(), type=GatewayState)
                os.kill(state.pid, 0)
            except (OSError, msgspec.MsgspecError):
                path.unlink(missing_ok=True)
                continue
            found.append(state)
        return found
