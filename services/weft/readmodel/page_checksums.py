"""Checksums of a read model's pages, so that damage is noticed before it reaches an answer.

In WAL mode SQLite changes the file itself only at a checkpoint, which the one writer makes at times
of its choice. The writer then stores a CRC-32 of every page, as it is in the write-ahead log, with
the file's modification time and size. Around each request a reader compares these two, which tells
whether anything else has written to the file. Corruption below the file system is found by reading
the pages, some at a time.

SQLite's own checksum extension (cksumvfs) is not part of Python's SQLite. The write-ahead log has
checksums of its own, by which SQLite drops a damaged end of it when it opens the file; the log's
events are folded again then. While it is used nothing checks it, so that the writer writes it back
whenever it rests.
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
"""Of a frame of the write-ahead log: page, length of the file where it ends a commit, salts."""
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""While the writer writes back, which takes milliseconds; so often a reader looks again."""


class _Noted(msgspec.Struct, frozen=True):
    """What is known of the file; each version of it replaces the one before."""

    round: int
    """Counts the versions."""
    mtime_ns: int
    size: int
    page_bytes: int
    packed: bytes
    """The checksum of each page, four bytes each."""
    expected: dict[int, list[int]]
    """While the writer writes back: by page, the checksums that it may have afterwards."""

    @property
    def sums(self) -> array[int]:
        return array("I", self.packed)


_decoder = msgspec.msgpack.Decoder(_Noted)


class PageChecksums:
    """The checksums of one file. One process writes them, any number read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.with_name(f"{path.name}.checksums")
        self._wal = path.with_name(f"{path.name}-wal")
        self._stamp: tuple[int, int] | None = None
        """Time and size of the file when it was last found intact."""
        self._next = 0
        """The page at which `look` continues."""

    def are_known(self) -> bool:
        """Whether there are checksums; a file of an earlier release has none."""
        return self._file.exists()

    # What the writer does.

    def note_all(self) -> None:
        """Take the file as intact and store the checksums of all pages."""
        found, page_bytes = self._found(), _page_bytes(self.path)
        pages = range(1, found[1] // page_bytes + 1)
        sums = array("I", (one for _, one in self._each(pages, page_bytes)))
        self._write(_Noted(0, *found, page_bytes, sums.tobytes(), {}))

    def settle(self) -> None:
        """Store the checksums of pages that were being written back when the writer died. Raises
        `Corrupt` if one has neither its old nor its new content and will not be written again."""
        if (noted := self._read()).expected:
            self._note(noted, again=self._in_wal())

    def write_back(self, db: sqlite3.Connection, wait_ms: int) -> bool:
        """Write the write-ahead log back into the file and empty it. False where a reader, such as
        a copy that is being made, holds that up for longer than `wait_ms`; then as much is written
        as can be. Raises `Corrupt` where a page is damaged, be it one to be written over or one
        just written."""
        with self._changing():
            return _checkpoint(db, wait_ms)

    def close(self, db: sqlite3.Connection) -> None:
        """Write back and close the writer's connection. SQLite itself writes back when the last
        connection is closed, and a reader's may well be open longer."""
        try:
            with self._changing():
                _checkpoint(db, WAIT_MS)
                db.close()
        finally:
            db.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Around whatever may write back: the pages that it may write are noted anew after it, and
        have to be as they stand in the write-ahead log now."""
        self.settle()
        noted, expected = self._read(), self._in_wal()
        self._refuse(self._damaged(noted, expected))
        noted = msgspec.structs.replace(noted, round=noted.round + 1, expected=expected)
        self._write(noted)
        yield
        self._note(noted)

    def look(self, size: int) -> None:
        """Check the next pages, so many bytes of them, and from the start again after the last.
        Raises `Corrupt`."""
        noted = self._read()
        count = len(noted.sums)
        last = min(count, self._next + size // noted.page_bytes)
        self._refuse(self._damaged(noted, range(self._next + 1, last + 1)))
        self._next = 0 if last >= count else last

    # What anybody does.

    def check(self) -> None:
        """Check every page, .7 s for a gigabyte. Raises `Corrupt`."""
        noted = self._read()
        damaged = self._damaged(noted, range(1, len(noted.sums) + 1))
        for _ in range(_TRIES):
            known, noted = noted, self._read()
            if not damaged or (known.round == noted.round and not noted.expected):
                break
            time.sleep(_PAUSE_SECONDS)
            damaged = self._damaged(noted, damaged)
        self._refuse(damaged)
        if not noted.expected:
            self._stamp = noted.mtime_ns, noted.size

    def check_if_touched(self) -> None:
        """Check every page where anybody but the writer wrote to the file since it was found right.
        Two system calls where nobody did. Raises `Corrupt`."""
        if self._found() == self._stamp:
            return
        for _ in range(_TRIES):
            try:
                noted = self._read()
            except FileNotFoundError:
                return
            found = self._found()
            if noted.expected:
                return
            if found == (noted.mtime_ns, noted.size):
                self._stamp = found
                return
            if self._read().round == noted.round:
                break
        self.check()
        if self._found() == found:
            self._stamp = found

    def _found(self) -> tuple[int, int]:
        now = os.stat(self.path)
        return now.st_mtime_ns, now.st_size

    def _damaged(self, noted: _Noted, pages: Iterable[int]) -> list[int]:
        """Those of the pages that are neither as noted nor as expected; pages without a checksum
        are new."""
        sums, expected = noted.sums, noted.expected
        known = (number for number in pages if number <= len(sums))
        return [
            number
            for number, found in self._each(known, noted.page_bytes)
            if found != sums[number - 1] and found not in expected.get(number, ())
        ]

    def _each(self, pages: Iterable[int], page_bytes: int) -> Iterator[tuple[int, int]]:
        """The checksums of pages as they are."""
        with self.path.open("rb", buffering=0) as file:
            for number in pages:
                page = os.pread(file.fileno(), page_bytes, (number - 1) * page_bytes)
                yield number, zlib.crc32(page)

    def _refuse(self, damaged: Collection[int]) -> None:
        if damaged:
            rest = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
            raise Corrupt(f"{self.path.name}: page {min(damaged)}{rest} is damaged")

    def _in_wal(self) -> dict[int, list[int]]:
        """Every page that is committed to the write-ahead log, with the checksums of each of its
        states there: after a power cut SQLite may find that the newest ones are not whole."""
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
                break  # of an earlier round, written back long ago
            pending.append((number, zlib.crc32(content[at + _FRAME.size : at + width])))
            if committed:
                for page, one in pending:
                    expected.setdefault(page, []).append(one)
                pending.clear()
        return expected

    def _note(self, noted: _Noted, again: Collection[int] = ()) -> None:
        """Note what was written back, and the file's length. A page has to be as it was or as it
        was to be, else it is noted as it was to be and `Corrupt` raised; what is written `again`
        may be torn."""
        found, size, expected = self._found(), noted.page_bytes, noted.expected
        sums, length = noted.sums, found[1] // noted.page_bytes
        known, damaged = len(sums), []
        del sums[length:]
        # A hole: the file grew past a page that a reader delayed.
        sums.extend([zlib.crc32(bytes(size))] * (length - known))
        pages = {*range(known + 1, length + 1), *(page for page in expected if page <= length)}
        for number, one in self._each(pages, size):
            allowed = expected.get(number, [0])
            if one in allowed or one == sums[number - 1] or number in again:
                sums[number - 1] = one
            else:
                sums[number - 1] = allowed[0]
                damaged.append(number)
        self._write(_Noted(noted.round + 1, *found, size, sums.tobytes(), {}))
        self._refuse(damaged)

    def _write(self, noted: _Noted) -> None:
        """Its time and size are from before the pages were read: what changes from then on is
        another's write."""
        self._stamp = noted.mtime_ns, noted.size
        packed = msgspec.msgpack.encode(noted)
        replace_durably(self._file, zlib.crc32(packed).to_bytes(4) + packed)

    def _read(self) -> _Noted:
        content = memoryview(self._file.read_bytes())
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4]):
            raise Corrupt(f"{self.path.name}: its checksums are damaged")
        return _decoder.decode(content[4:])


def _checkpoint(db: sqlite3.Connection, wait_ms: int) -> bool:
    """Whether no reader held it up for longer than that."""
    db.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        busy: int = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return not busy


def _page_bytes(path: Path) -> int:
    with path.open("rb") as file:
        front = file.read(18)
    size: int = struct.unpack_from(">H", front, 16)[0] if len(front) == 18 else 0
    return {0: 4096, 1: 65536}.get(size, size)
