"""Checksums of a read model's pages, so that damage is noticed before an answer is made of it.

In WAL mode SQLite changes the file itself only when the write-ahead log is written back, which the
one writer does at moments of its own. It notes a CRC-32 of every page then, and the file's time and
size: a look at those two tells every reader before each request whether anybody else wrote to the
file. What rots below the file system is found by reading the pages, some at a time.

SQLite's own checksum extension (cksumvfs) is not part of Python's SQLite. The write-ahead log has
checksums of its own, by which SQLite drops a damaged end of it when it opens the file; the log's
events are folded again then.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from weft_schemas.errors import Corrupt

_MAGIC = b"weftsum1"
_HEADER = struct.Struct("<8sQQQII")
"""Magic, count, mtime in ns, size in bytes, bytes of a page, checksum of what stands before it."""
_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_CHUNK_BYTES = 1 << 20
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""While the writer writes back, which takes milliseconds; so often a reader looks again."""


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


class Pages:
    """The checksums of one file. One process writes them, any number read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums = path.with_name(f"{path.name}.sums")
        self._flux = path.with_name(f"{path.name}.flux")
        self._wal = path.with_name(f"{path.name}-wal")
        self._stamp: tuple[int, int] | None = None
        """Time and size of the file as last found right."""
        self._next = 0
        """The page at which `look` goes on."""

    def are_known(self) -> bool:
        """Whether there are checksums; a file of an earlier release has none."""
        return self._sums.exists()

    # What the writer does.

    def note_all(self) -> None:
        """Take the file as it is for right."""
        page_bytes = _page_bytes(self.path)
        sums = array("I", (zlib.crc32(page) for _, page in _each_page(self.path, page_bytes)))
        self._write(sums, page_bytes, 0)
        self._flux.unlink(missing_ok=True)

    def settle(self) -> None:
        """Take those pages for right that were being written back when their writer died."""
        if self._flux.exists():
            header, sums = self._read()
            self._note(sums, self._in_flux(), header)

    def write_back(self, db: sqlite3.Connection, wait_ms: int, usual_ms: int) -> bool:
        """Write the write-ahead log back into the file and empty it. False where a reader, such as
        a copy that is being made, holds that up for longer than `wait_ms`; then as much is written
        as can be. Raises `Corrupt` where a page to be written over is damaged."""
        with self._changing():
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            try:
                busy: int = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            finally:
                db.execute(f"PRAGMA busy_timeout = {usual_ms}")
        return not busy

    def close(self, db: sqlite3.Connection) -> None:
        """Close the writer's connection, the last of which writes back as well."""
        try:
            with self._changing():
                db.close()
        finally:
            db.close()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Around whatever may write back: the pages that it may write are noted anew after it."""
        self.settle()
        header, sums = self._read()
        pages = array("I", sorted(self._in_wal()))
        self._refuse(self._damaged(sums, header, pages))
        _write_through(self._flux, pages.tobytes())
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
        self._refuse(set(damaged or ()) - self._in_flux())

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
        size = header.page_bytes
        with self.path.open("rb", buffering=0) as file:
            descriptor = file.fileno()
            for number in pages:
                if number > len(sums):
                    continue
                page = os.pread(descriptor, size, (number - 1) * size)
                if zlib.crc32(page) != sums[number - 1]:
                    yield number

    def _refuse(self, damaged: Iterable[int]) -> None:
        found = sorted(damaged)
        if found:
            rest = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise Corrupt(f"{self.path.name}: page {found[0]}{rest} is damaged")

    def _in_flux(self) -> set[int]:
        pages = array("I")
        try:
            content = self._flux.read_bytes()
        except FileNotFoundError:
            return set()
        pages.frombytes(content[: len(content) - len(content) % pages.itemsize])
        return set(pages)

    def _in_wal(self) -> set[int]:
        """Every page that the write-ahead log may hold."""
        try:
            content = self._wal.read_bytes()
        except FileNotFoundError:
            return set()
        if len(content) < _WAL_HEADER_BYTES:
            return set()
        (page_bytes,) = struct.unpack_from(">I", content, 8)
        if not page_bytes:
            return set()
        frames = range(_WAL_HEADER_BYTES, len(content), _FRAME_HEADER_BYTES + page_bytes)
        return {
            struct.unpack_from(">I", content, at)[0]
            for at in frames
            if at + _FRAME_HEADER_BYTES <= len(content)
        } - {0}

    def _note(self, sums: array[int], pages: Iterable[int], header: _Header) -> None:
        """Take some pages for right, and the file's length."""
        size = header.page_bytes
        length = self.path.stat().st_size // size
        del sums[length:]
        known = len(sums)
        with self.path.open("rb", buffering=0) as file:
            for number in (*range(known + 1, length + 1), *(one for one in pages if one <= known)):
                page = os.pread(file.fileno(), size, (number - 1) * size)
                if number > len(sums):
                    sums.append(zlib.crc32(page))
                else:
                    sums[number - 1] = zlib.crc32(page)
        self._write(sums, size, header.count + header.count % 2)
        self._flux.unlink(missing_ok=True)

    def _write(self, sums: array[int], page_bytes: int, count: int) -> None:
        self._stamp = self._found()
        header = _Header(count, *self._stamp, page_bytes)
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
