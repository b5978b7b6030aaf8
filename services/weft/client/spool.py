"""Items that wait in a local file until a server accepts them.

There are three files for each session: what was spooled, what is being sent, and the same with its
final ids. Ids are written down before anything is sent, so that a process that dies in between
sends the same ids again, which changes nothing. A fourth file contains what a server refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from weft.client.parking import Parked, Parking
from weft.durable_files import decoded_lines, replace_durably, write_durably
from weft.file_lock import FileLock
from weft_schemas.errors import Unavailable
from weft_schemas.ids import digest
from weft_schemas.items import ContextItem


class Spooled(msgspec.Struct, frozen=True):
    """One thing that an agent published while no server accepted it."""

    mode: Literal["history", "append", "items"]
    """`history`: a whole history, which may be partly in the log already; `append`: messages that
    follow everything known; `items`: items with ids of their own."""
    groups: tuple[tuple[ContextItem, ...], ...]
    """Groups of items whose parents are in the same group."""


Settle = Callable[[Sequence[Spooled]], Awaitable[list[ContextItem]]]
Publish = Callable[[Sequence[ContextItem]], Awaitable[Sequence[Parked]]]
"""Returns the items that the server refused."""


class Spool:
    """The files of one session, which any number of processes may share. They contain unmasked
    outputs of tools, and only their owner may read them."""

    def __init__(self, folder: Path, tenant: str, session: str) -> None:
        self._folder = folder
        name = digest("spool", tenant, session)[:32]
        self._spooled = folder / f"{name}.jsonl"
        self._sending = folder / f"{name}.sending"
        self._ready = folder / f"{name}.ready"
        self._lock = folder / f"{name}.lock"
        self._sender = folder / f"{name}.sender"
        self.parking = Parking(folder / f"{name}.parked")

    def is_empty(self) -> bool:
        return not any(path.exists() for path in (self._spooled, self._sending, self._ready))

    def add(self, one: Spooled) -> None:
        """Returns when it is on disk. Raises `Unavailable` if it cannot be written."""
        # The line break before it ends a line that a crash cut off.
        line = b"\n" + msgspec.json.encode(one) + b"\n"
        with self._writing():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self._lock):
                size = self._spooled.stat().st_size if self._spooled.exists() else 0
                try:
                    write_durably(self._spooled, line, os.O_APPEND)
                except OSError:
                    with contextlib.suppress(OSError):
                        os.truncate(self._spooled, size)  # a part of it would only take room
                    raise

    async def send(self, settle: Settle, publish: Publish) -> list[Parked]:
        """Publish everything in the spool, in order, and park what is refused, which it returns.
        `settle` gives items their ids. Raises the same errors as these, and `Unavailable` while
        another process is sending; whatever is not sent stays."""
        refused: list[Parked] = []
        if self.is_empty():
            return refused
        with self._writing(), _locked(self._sender, wait=False):
            while not self.is_empty():
                if not self._ready.exists():
                    self._make_ready(await settle(self._take()))
                self._sending.unlink(missing_ok=True)
                now = await publish(decoded_lines(self._ready, ContextItem))
                if now:
                    self.parking.replace([*self.parking.parked(), *now])
                    refused.extend(now)
                self._ready.unlink()
        return refused

    async def send_parked(self, publish: Publish) -> None:
        """Publish what is parked, and keep what is still refused. Raises the same errors as
        `publish`, and `Unavailable` while another process is sending."""
        if not self.parking.parked():
            return
        with self._writing(), _locked(self._sender, wait=False):
            # Another process may have parked more before this one got the lock.
            parked = self.parking.parked()
            self.parking.replace(await publish([one.item for one in parked]))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """While files are written, an error of theirs is weft's: a full disk ends no agent."""
        try:
            yield
        except OSError as error:
            raise Unavailable(
                f"what weft does not take now cannot be kept in {self._folder}: "
                f"{error.strerror or error}. Make room, or name another folder with `spool=…`; "
                "then publish it again"
            ) from error

    def _take(self) -> list[Spooled]:
        """The entries that a sender left when it died, or else those that were spooled since."""
        with _locked(self._lock):
            if not self._sending.exists():
                self._spooled.rename(self._sending)
        return decoded_lines(self._sending, Spooled)

    def _make_ready(self, items: Sequence[ContextItem]) -> None:
        lines = b"".join(msgspec.json.encode(item) + b"\n" for item in items)
        replace_durably(self._ready, lines)


@contextlib.contextmanager
def _locked(path: Path, wait: bool = True) -> Iterator[None]:
    """While this process has the lock. Raises `Unavailable` if it should not wait for it."""
    lock = FileLock(path)
    if not lock.acquire(wait):
        raise Unavailable(f"another process sends what is spooled in {path.parent}")
    try:
        yield
    finally:
        lock.release()
