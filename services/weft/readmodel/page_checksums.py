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
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from weft_schemas.errors import Corrupt

_MAGIC = b"weftsum1"
_HEADER = struct.Struct("<8sQQQII")
"""Magic, count, mtime in ns, size in bytes, bytes of a page, checksum of what stands before it."""
_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_FRAME = struct.Struct(">II8s")
"""Of a frame of the write-ahead log: page, length of the file where it ends a commit, salts."""
_CHUNK_BYTES = 1 << 20
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""While the writer writes back, which takes milliseconds; so often a reader looks again."""


_Expected = defaultdict[int, list[int]]
"""By page, the checksums that it may have once it is written back."""


class _Header(msgspec.Struct, frozen=True):
    count: int
    """Odd while the writer writes back."""
    mtime_ns: int
    size: int
    page_bytes: int

    @property
    def is_in_flux(self) -> bool:
        return bool(self.count % 2)

    def pack(self) -> bytes:
        front = (_MAGIC, self.count, self.mtime_ns, self.size, self.page_bytes)
        return _HEADER.pack(*front, zlib.crc32(_HEADER.pack(*front, 0)))


class PageChecksums:
    """The checksums of one file. One process writes them, any number read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums = path.with_name(f"{path.name}.sums")
        self._flux = path.with_name(f"{path.name}.flux")
        self._wal = path.with_name(f"{path.name}-wal")
        self._stamp: tuple[int, int] | None = None
        """Time and size of the file when it was last found intact."""
        self._next = 0
        """The page at which `look` goes on."""

    def are_known(self) -> bool:
        """Whether there are checksums; a file of an earlier release has none."""
        return self._sums.exists()

    # What the writer does.

    def note_all(self) -> None:
        """Take the file as intact and store the checksums of all pages."""
        page_bytes, found = _page_bytes(self.path), self._found()
        sums = array("I", (zlib.crc32(page) for _, page in _each_page(self.path, page_bytes)))
        self._write(sums, page_bytes, 0, found)
        self._flux.unlink(missing_ok=True)

    def settle(self) -> None:
        """Store the checksums of pages that were being written back when the writer died. Raises
        `Corrupt` if one has neither its old nor its new content and will not be written again."""
        if self._flux.exists():
            header, sums = self._read()
            self._note(sums, self._in_flux(), header, again=self._in_wal())

    def write_back(self, db: sqlite3.Connection, wait_ms: int, usual_ms: int) -> bool:
        """Write the write-ahead log back into the file and empty it. False where a reader, such as
        a copy that is being made, holds that up for longer than `wait_ms`; then as much is written
        as can be. Raises `Corrupt` where a page is damaged, be it one to be written over or one
        just written."""
        with self._changing():
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            try:
                busy: int = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                db.execute(f"PRAGMA busy_timeout = {usual_ms}")
        return not busy

    def close(self, db: sqlite3.Connection, wait_ms: int) -> None:
        """Write back and close the writer's connection. SQLite itself writes back when the last
        connection is closed, and a reader's may well be open longer."""
        try:
            with self._changing():
                db.execute(f"PRAGMA busy_timeout = {wait_ms}")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                db.close()
        finally:
            db.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Around whatever may write back: the pages that it may write are noted anew after it, and
        have to be as they stand in the write-ahead log now."""
        self.settle()
        header, sums = self._read()
        pages = self._in_wal()
        self._refuse(self._damaged(sums, header, pages))
        pairs = (number for page in sorted(pages) for one in pages[page] for number in (page, one))
        _write_through(self._flux, array("I", pairs).tobytes())
        self._write_header(msgspec.structs.replace(header, count=header.count + 1))
        yield
        self._note(sums, pages, msgspec.structs.replace(header, count=header.count + 1))

    def look(self, size: int) -> None:
        """Check the next pages, so many bytes of them, and from the start again after the last.
        Raises `Corrupt`."""
        header, sums = self._read()
        last = min(len(sums), self._next + size // header.page_bytes)
        self._refuse(self._damaged(sums, header, range(self._next + 1, last + 1)))
        self._next = 0 if last >= len(sums) else last

    # What anybody does.

    def check(self) -> None:
        """Check every page, .7 s for a gigabyte. Raises `Corrupt`."""
        damaged: Iterable[int] | None = None
        for _ in range(_TRIES):
            header, sums = self._read()
            wanted = range(1, len(sums) + 1) if damaged is None else damaged
            damaged = list(self._damaged(sums, header, wanted))
            if self._read()[0] == header and not header.is_in_flux:
                self._refuse(damaged)
                self._stamp = header.mtime_ns, header.size
                return
            if not damaged:
                return
            time.sleep(_PAUSE_SECONDS)
        # Its writer died while it wrote back; the next one settles those pages.
        expected = self._in_flux()
        self._refuse(
            number for number, found in self._each(damaged or ()) if found not in expected[number]
        )

    def check_if_touched(self) -> None:
        """Check every page where anybody but the writer wrote to the file since it was found right.
        Two system calls where nobody did. Raises `Corrupt`."""
        if self._is_as_noted():
            return
        found = self._found()
        self.check()
        if self._found() == found:
            self._stamp = found

    def _is_as_noted(self) -> bool:
        found = self._found()
        if found == self._stamp:
            return True
        for _ in range(_TRIES):
            try:
                header = self._read_header()
            except FileNotFoundError:
                return True
            found = self._found()
            if header.is_in_flux:
                return True
            if found == (header.mtime_ns, header.size):
                self._stamp = found
                return True
            if self._read_header() == header:
                return False
        return False

    def _found(self) -> tuple[int, int]:
        now = os.stat(self.path)
        return now.st_mtime_ns, now.st_size

    def _damaged(self, sums: array[int], header: _Header, pages: Iterable[int]) -> Iterator[int]:
        """Those of the pages that are not as noted; pages without a checksum are new."""
        known = (number for number in pages if number <= len(sums))
        for number, found in self._each(known, header.page_bytes):
            if found != sums[number - 1]:
                yield number

    def _each(self, pages: Iterable[int], page_bytes: int = 0) -> Iterator[tuple[int, int]]:
        """The checksums of pages as they are."""
        size = page_bytes or _page_bytes(self.path)
        with self.path.open("rb", buffering=0) as file:
            for number in pages:
                yield number, zlib.crc32(os.pread(file.fileno(), size, (number - 1) * size))

    def _refuse(self, damaged: Iterable[int]) -> None:
        found = sorted(damaged)
        if found:
            rest = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise Corrupt(f"{self.path.name}: page {found[0]}{rest} is damaged")

    def _in_flux(self) -> _Expected:
        """What was to be written back when this was last begun."""
        pairs = array("I")
        try:
            content = self._flux.read_bytes()
        except FileNotFoundError:
            return defaultdict(list)
        pairs.frombytes(content[: len(content) - len(content) % (2 * pairs.itemsize)])
        expected: _Expected = defaultdict(list)
        for number, one in zip(pairs[::2], pairs[1::2], strict=True):
            expected[number].append(one)
        return expected

    def _in_wal(self) -> _Expected:
        """Every page that is committed to the write-ahead log, with the checksums of each of its
        states there: after a power cut SQLite may find that the newest ones are not whole."""
        expected: _Expected = defaultdict(list)
        try:
            content = memoryview(self._wal.read_bytes())
        except FileNotFoundError:
            return expected
        if len(content) < _WAL_HEADER_BYTES:
            return expected
        page_bytes, salts = struct.unpack_from(">I4x8s", content, 8)
        if not page_bytes:
            return expected
        last = len(content) - _FRAME_HEADER_BYTES - page_bytes
        frames: list[tuple[int, int]] = []
        for at in range(_WAL_HEADER_BYTES, last + 1, _FRAME_HEADER_BYTES + page_bytes):
            number, committed, found = _FRAME.unpack_from(content, at)
            if found != salts:
                break  # of an earlier round, written back long ago
            start = at + _FRAME_HEADER_BYTES
            frames.append((number, zlib.crc32(content[start : start + page_bytes])))
            if committed:
                for page, one in frames:
                    expected[page].append(one)
                frames.clear()
        return expected

    def _note(
        self, sums: array[int], pages: _Expected, header: _Header, again: Collection[int] = ()
    ) -> None:
        """Note what was written back, and the file's length. A page has to be as it was or as it
        was to be, else it is noted as it was to be and `Corrupt` raised; what is written `again`
        may be torn."""
        size, found = header.page_bytes, self._found()
        length, known = found[1] // size, len(sums)
        del sums[length:]
        # Nothing stands yet where the file grew around a page that a reader held up.
        sums.extend([zlib.crc32(bytes(size))] * (length - known))
        damaged = []
        grown = range(known + 1, length + 1)
        for number, one in self._each({*grown, *(page for page in pages if page <= length)}, size):
            right = one in pages[number] or one == sums[number - 1] or number in again
            sums[number - 1] = one if right else (*pages[number], 0)[0]
            if not right:
                damaged.append(number)
        self._write(sums, size, header.count + header.count % 2, found)
        self._flux.unlink(missing_ok=True)
        self._refuse(damaged)

    def _write(self, sums: array[int], page_bytes: int, count: int, found: tuple[int, int]) -> None:
        """`found` are time and size from before the pages were read: what changes from then on is
        another's write."""
        self._stamp = found
        header = _Header(count, *found, page_bytes)
        draft = self._sums.with_name(f"{self._sums.name}.new")
        _write_through(draft, header.pack() + sums.tobytes())
        os.replace(draft, self._sums)

    def _write_header(self, header: _Header) -> None:
        with self._sums.open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), header.pack(), 0)
            os.fsync(file.fileno())

    def _read_header(self) -> _Header:
        with self._sums.open("rb", buffering=0) as file:
            return self._unpacked(file.read(_HEADER.size))

    def _read(self) -> tuple[_Header, array[int]]:
        content = self._sums.read_bytes()
        sums = array("I")
        header = self._unpacked(content)
        sums.frombytes(content[_HEADER.size : len(content) - len(content) % sums.itemsize])
        return header, sums

    def _unpacked(self, content: bytes) -> _Header:
        try:
            magic, count, mtime_ns, size, page_bytes, checksum = _HEADER.unpack_from(content)
        except struct.error:
            raise Corrupt(f"{self.path.name}: its checksums are cut off") from None
        header = _Header(count, mtime_ns, size, page_bytes)
        if magic != _MAGIC or header.pack()[-4:] != struct.pack("<I", checksum):
            raise Corrupt(f"{self.path.name}: its checksums are damaged")
        return header


def _page_bytes(path: Path) -> int:
    with path.open("rb") as file:
        front = file.read(18)
    size: int = struct.unpack_from(">H", front, 16)[0] if len(front) == 18 else 0
    return {0: 4096, 1: 65536}.get(size, size)


def _each_page(path: Path, page_bytes: int) -> Iterator[tuple[int, bytes]]:
    number = 0
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK_BYTES):
            for at in range(0, len(chunk), page_bytes):
                number += 1
                yield number, chunk[at : at + page_bytes]


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
