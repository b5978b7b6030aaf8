"""Checksums of a read model's pages, so that damage is noticed before it reaches an answer.

In WAL mode SQLite changes the file itself only at a checkpoint, and only the writer makes one. It
then stores a CRC-32 of every page, with the file's modification time and size. Before and after
each request a reader compares these two, to see whether anything else wrote to the file. Damage
below the file system is found by reading the pages, a few at a time.

SQLite's own extension for this (cksumvfs) is not part of Python's SQLite. The write-ahead log has
checksums of its own: when SQLite opens it, it drops a damaged end, and those events are folded
again. Nothing checks the log while it is in use, so an idle writer writes it back.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from weft.durable_files import replace_durably
from weft.readmodel.store import BUSY_MS, WAIT_MS
from weft_schemas.errors import Corrupt

_WAL_HEADER_BYTES = 32
_FRAME = struct.Struct(">II8s8x")
"""Header of a frame in the write-ahead log: page, length of the file if it ends a commit, salts."""
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""How often a reader looks again while the writer writes back, which takes milliseconds."""


class _Stored(msgspec.Struct, frozen=True):
    """What is stored about the file; each version replaces the one before."""

    version: int = msgspec.field(name="round")
    mtime_ns: int
    size: int
    page_bytes: int
    packed: bytes
    """The checksum of each page, four bytes each."""
    expected: dict[int, list[int]]
    """While the writer writes back: the checksums that each page may have afterwards."""

    @property
    def sums(self) -> array[int]:
        return array("I", self.packed)


_decoder = msgspec.msgpack.Decoder(_Stored)


class PageChecksums:
    """The checksums of one file. One process writes them, any number read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.with_name(f"{path.name}.checksums")
        self._wal = path.with_name(f"{path.name}-wal")
        self._stamp: tuple[int, int] | None = None
        """Time and size of the file when it was last found intact."""
        self._next = 0
        """The page at which `check_next` continues."""

    def are_known(self) -> bool:
        """Whether checksums are stored; a file of an earlier release has none."""
        return self._file.exists()

    # Only the writer calls these.

    def store_all(self) -> None:
        """Store the checksums of all pages as they are now."""
        found, page_bytes = self._found(), _page_bytes(self.path)
        pages = range(1, found[1] // page_bytes + 1)
        sums = array("I", (one for _, one in self._each(pages, page_bytes)))
        self._write(_Stored(0, *found, page_bytes, sums.tobytes(), {}))

    def recover(self) -> None:
        """Store the checksums of pages that were being written back when the writer died. Raises
        `Corrupt` if one has neither its old nor its new content and will not be written again."""
        if (stored := self._read()).expected:
            self._update(stored, rewritten=self._in_wal())

    def write_back(self, db: sqlite3.Connection, wait_ms: int) -> bool:
        """Write the write-ahead log back into the file and empty it. Returns False if a reader,
        such as a snapshot in progress, prevents that for longer than `wait_ms`; then part of it may
        be written. Raises `Corrupt` if a page is damaged, before or after it is written."""
        with self._changing():
            return _checkpoint(db, wait_ms)

    def close(self, db: sqlite3.Connection) -> None:
        """Write back and close the writer's connection. SQLite does that only when the last
        connection is closed, which may be a reader's."""
        try:
            with self._changing():
                _checkpoint(db, WAIT_MS)
                db.close()
        finally:
            db.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Wraps whatever may write back: afterwards the pages must be as they are in the
        write-ahead log now, and their checksums are stored."""
        self.recover()
        stored, expected = self._read(), self._in_wal()
        self._refuse(self._damaged(stored, expected))
        stored = msgspec.structs.replace(stored, version=stored.version + 1, expected=expected)
        self._write(stored)
        yield
        self._update(stored)

    def check_next(self, size: int) -> None:
        """Check the next `size` bytes of pages; after the last, start again. Raises `Corrupt`."""
        stored = self._read()
        count = len(stored.sums)
        last = min(count, self._next + size // stored.page_bytes)
        self._refuse(self._damaged(stored, range(self._next + 1, last + 1)))
        self._next = 0 if last >= count else last

    # Readers call these, too.

    def check(self) -> None:
        """Check every page, .7 s for a gigabyte. Raises `Corrupt`."""
        stored = self._read()
        damaged = self._damaged(stored, range(1, len(stored.sums) + 1))
        for _ in range(_TRIES):
            before, stored = stored, self._read()
            if not damaged or (before.version == stored.version and not stored.expected):
                break
            time.sleep(_PAUSE_SECONDS)
            damaged = self._damaged(stored, damaged)
        self._refuse(damaged)
        if not stored.expected:
            self._stamp = stored.mtime_ns, stored.size

    def check_if_touched(self) -> None:
        """Check every page if anything but the writer wrote to the file since the last check. Takes
        two system calls if nothing did. Raises `Corrupt`."""
        if self._found() == self._stamp:
            return
        for _ in range(_TRIES):
            try:
                stored = self._read()
            except FileNotFoundError:
                return
            found = self._found()
            if stored.expected:
                return
            if found == (stored.mtime_ns, stored.size):
                self._stamp = found
                return
            if self._read().version == stored.version:
                break
        self.check()
        if self._found() == found:
            self._stamp = found

    def _found(self) -> tuple[int, int]:
        now = os.stat(self.path)
        return now.st_mtime_ns, now.st_size

    def _damaged(self, stored: _Stored, pages: Iterable[int]) -> list[int]:
        """The pages with neither their stored nor an expected checksum; new pages have none."""
        sums, expected = stored.sums, stored.expected
        known = (number for number in pages if number <= len(sums))
        return [
            number
            for number, found in self._each(known, stored.page_bytes)
            if found != sums[number - 1] and found not in expected.get(number, ())
        ]

    def _each(self, pages: Iterable[int], page_bytes: int) -> Iterator[tuple[int, int]]:
        """Number and present checksum of each page."""
        with self.path.open("rb", buffering=0) as file:
            for number in pages:
                page = os.pread(file.fileno(), page_bytes, (number - 1) * page_bytes)
                yield number, zlib.crc32(page)

    def _refuse(self, damaged: Collection[int]) -> None:
        if damaged:
            rest = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
            raise Corrupt(f"{self.path.name}: page {min(damaged)}{rest} is damaged")

    def _in_wal(self) -> dict[int, list[int]]:
        """Every page committed to the write-ahead log, with the checksum of each of its versions
        there: after a power cut SQLite may drop the newest ones as incomplete."""
        content = memoryview(self._wal.read_bytes() if self._wal.exists() else b"")
        if len(content) < _WAL_HEADER_BYTES:
            return {}
        page_bytes, salts = struct.unpack_from(">I4x8s", content, 8)
        expected: dict[int, list[int]] = {}
        pending: list[tuple[int, int]] = []
        width = _FRAME.size + page_bytes
        for at in range(_WAL_HEADER_BYTES, len(content) - width + 1, width):
            number, committed, found = _FRAME.unpack_from(content, at)
            if found != salts:
                break  # the rest was written back before
            pending.append((number, zlib.crc32(content[at + _FRAME.size : at + width])))
            if committed:
                for page, one in pending:
                    expected.setdefault(page, []).append(one)
                pending.clear()
        return expected

    def _update(self, stored: _Stored, rewritten: Collection[int] = ()) -> None:
        """Store the checksums after a write-back, and the file's length. Raises `Corrupt` if a page
        has neither its old nor its expected content; the expected checksum is stored. Pages that
        will be `rewritten` may have any content."""
        found, size, expected = self._found(), stored.page_bytes, stored.expected
        sums, length = stored.sums, found[1] // stored.page_bytes
        known, damaged = len(sums), []
        del sums[length:]
        # Zeros: the file grew past a page that a reader kept from being written.
        sums.extend([zlib.crc32(bytes(size))] * (length - known))
        pages = {*range(known + 1, length + 1), *(page for page in expected if page <= length)}
        for number, one in self._each(pages, size):
            allowed = expected.get(number, [0])
            if one in allowed or one == sums[number - 1] or number in rewritten:
                sums[number - 1] = one
            else:
                sums[number - 1] = allowed[0]
                damaged.append(number)
        self._write(_Stored(stored.version + 1, *found, size, sums.tobytes(), {}))
        self._refuse(damaged)

    def _write(self, stored: _Stored) -> None:
        """The file's time and size were read before its pages, so a later change is noticed."""
        self._stamp = stored.mtime_ns, stored.size
        packed = msgspec.msgpack.encode(stored)
        replace_durably(self._file, zlib.crc32(packed).to_bytes(4) + packed)

    def _read(self) -> _Stored:
        content = memoryview(self._file.read_bytes())
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4]):
            raise Corrupt(f"{self.path.name}: its checksums are damaged")
        return _decoder.decode(content[4:])


def _checkpoint(db: sqlite3.Connection, wait_ms: int) -> bool:
    """Returns False if a reader prevented it for longer than `wait_ms`."""
    db.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")


def _page_bytes(path: Path) -> int:
    with path.open("rb") as file:
        front = file.read(18)
    size: int = struct.unpack_from(">H", front, 16)[0] if len(front) == 18 else 0
    return {0: 4096, 1: 65536}.get(size, size)
