"""The files of a replica's read model: its generations, one of which is current.

A rebuild makes a new generation beside the current one. The pointer is swapped atomically, readers
switch between requests, and the old file is removed when its last reader has closed it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from weft.durable_files import replace_durably
from weft.file_lock import FileLock
from weft.readmodel.model import ReadModel
from weft.readmodel.page_checksums import PageChecksums
from weft.readmodel.store import snapshot
from weft_schemas.errors import Corrupt, Unavailable, WeftError

T = TypeVar("T")

_NAME = re.compile(r"generation-(\d{6})\.sqlite\Z")
_EARLIER = re.compile(r"earlier-log-through-(\d+)\.sqlite\Z")
_MAX_SWAPS = 5
"""Of the current generation while a reader opens it; each takes seconds to build."""


class Pointer(NamedTuple):
    """A file that names a generation. A call returns that generation, if it exists."""

    file: Path

    def __call__(self) -> Path | None:
        name = _read(self.file).strip()
        path = self.file.parent / name
        return path if _NAME.match(name) and path.exists() else None

    def set(self, generation: Path) -> None:
        replace_durably(self.file, generation.name.encode())

    def clear(self) -> None:
        self.file.unlink(missing_ok=True)


class Generations:
    """The folder of a replica, with pointers to its generations."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "replica"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.current = Pointer(self.folder / "current")
        """The file that readers read."""
        self.successor = Pointer(self.folder / "successor")
        """A finished generation that the writer has not taken over yet."""
        self.building = Pointer(self.folder / "building")
        """A generation that has not caught up with the log; named, so that it can be resumed."""
        self._condemned = self.folder / "condemned"
        self._retired = self.folder / "retired"
        self._last_damage = self.folder / "mended"

    def writer_lock(self) -> FileLock:
        """Held by the one process that writes the current generation."""
        return FileLock(self.folder / "writer.lock")

    def builder_lock(self) -> FileLock:
        """Held by the one process that builds a new generation."""
        return FileLock(self.folder / "builder.lock")

    def new(self) -> Path:
        """A file name that no generation has used."""
        used = [int(_NAME.match(path.name)[1]) for path in self._files()]  # type: ignore[index]
        return self.folder / f"generation-{max(used, default=0) + 1:06}.sqlite"

    def publish(self, path: Path) -> None:
        """Make a generation the current one, for every request from now on."""
        self.current.set(path)
        if self.successor() == path:
            self.successor.clear()
        self.building.clear()
        if self.condemned():
            os.replace(self._condemned, self._last_damage)

    def condemn(self, path: Path, why: str) -> None:
        """Mark a generation as damaged: it is no longer read, and the writer builds another."""
        if self.current() == path:
            replace_durably(self._condemned, f"{path.name} {why}".encode())
            self.current.clear()

    def condemned(self) -> str:
        """Why the last generation was condemned, if there is no current one; else empty."""
        return _read(self._condemned).partition(" ")[2]

    def last_damage(self) -> str:
        """Why the generation before the current one was condemned; empty if none was."""
        return _read(self._last_damage).partition(" ")[2]

    def retire(self, path: Path, through: int) -> Path:
        """Have the sweep keep a generation that has folded up to `through` events of a log that is
        no longer there. Of several, the one that has folded most is kept. Returns the name that
        the file will have, or has."""
        name, most = self._to_keep()
        if name is None or most < through:
            replace_durably(self._retired, f"{path.name} {through}".encode())
            most = through
        kept = self.earlier()
        return kept if kept is not None and _through(kept) >= most else self._earlier_file(most)

    def earlier(self) -> Path | None:
        """The read model of an earlier log that is kept until somebody removes it."""
        found = [path for path in self.folder.iterdir() if _EARLIER.match(path.name)]
        return max(found, key=_through, default=None)

    def others(self, path: Path) -> int:
        """The number of other generations' files."""
        return sum(file != path for file in self._files())

    def sweep(self, keep: tuple[Path, ...] = ()) -> list[Path]:
        """Remove generations that are neither current, kept, being built nor read."""
        kept = {*keep, *self._named()}
        return [path for path in self._files() if path not in kept and self._remove(path)]

    def has(self, path: Path) -> bool:
        """Whether a generation's file is there."""
        return path.exists()

    def _named(self) -> tuple[Path | None, ...]:
        return self.current(), self.successor(), self.building()

    def _remove(self, path: Path) -> bool:
        """Delete a generation that no process reads or builds, or set it aside if it is to be kept.
        Its builder names it before it lets the lock go: only with the lock is this certain."""
        lock = FileLock(path.with_name(f"{path.name}.readers"))
        if not lock.acquire():
            return False
        try:
            if path in self._named():
                return False
            name, through = self._to_keep()
            if name == path.name:
                self._set_aside(path, through)
            discard(path)
        finally:
            lock.release()
        return True

    def _set_aside(self, path: Path, through: int) -> None:
        """Give a generation its name as the read model of an earlier log, in place of one that has
        folded less. The main file comes last: until then the next sweep goes on with it."""
        kept, target = self.earlier(), self._earlier_file(through)
        if kept is None or _through(kept) < through:
            for end in (".checksums", "-shm", "-wal", ""):
                part = path.with_name(path.name + end)
                if part.exists():
                    os.replace(part, target.with_name(target.name + end))
            if kept is not None:
                discard(kept)
        self._retired.unlink(missing_ok=True)

    def _to_keep(self) -> tuple[str | None, int]:
        """The name of a generation that is to be kept, and how many events it has folded."""
        name, _, through = _read(self._retired).partition(" ")
        is_there = _NAME.match(name) and self.has(self.folder / name)
        return (name, int(through)) if is_there else (None, 0)

    def _earlier_file(self, through: int) -> Path:
        return self.folder / f"earlier-log-through-{through}.sqlite"

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if _NAME.match(path.name))


class _Opened(NamedTuple):
    model: ReadModel
    pages: PageChecksums
    lock: FileLock


class Reader:
    """Reads the generation that is current at each request. One thread at a time uses it."""

    def __init__(self, data_dir: Path) -> None:
        self._generations = Generations(data_dir)
        self._stamp: tuple[int, int] | None = None
        self._opened: _Opened | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def model(self) -> ReadModel:
        """The read model for the next request. Raises `Unavailable` if there is none that this
        release can read, or its file is damaged."""
        if self._opened is None or not self.is_there():
            self.close()
            self._stamp = self._pointer_stamp()
            self._opened = self._open()
        model = self._opened.model
        self.look()
        return model

    def read(self, work: Callable[[ReadModel], T], on_error: Callable[[Reader], None]) -> T:
        """`work` over one consistent state. After an error that is not weft's own, `on_error` may
        check the file, since the cause may be damage. Raises `Unavailable` as `model` does."""
        model = self.model()
        try:
            with snapshot(model.db):
                done = work(model)
            self.look()
            return done
        except WeftError:
            raise
        except Exception:
            on_error(self)
            raise

    def look(self) -> None:
        """Check whether anything but the writer wrote to the file, before and after a request.
        Raises `Unavailable` if it is damaged."""
        self._check(PageChecksums.check_if_touched)

    def check(self) -> None:
        """Check every page of the current generation. Raises `Unavailable` if one is damaged."""
        self.model()
        self._check(lambda pages: pages.check() if pages.are_known() else None)

    def _check(self, check: Callable[[PageChecksums], None]) -> None:
        assert self._opened is not None
        pages = self._opened.pages
        try:
            check(pages)
        except Corrupt as error:
            self._generations.condemn(pages.path, str(error))
            self.close()
            raise Unavailable(f"the read model is built anew ({error}); try again") from None

    def is_there(self) -> bool:
        """Whether the generation last opened is still current."""
        return self._opened is not None and self._pointer_stamp() == self._stamp

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.model.close()
            opened.lock.release()

    def _open(self) -> _Opened:
        for _ in range(_MAX_SWAPS):
            path = self._generations.current()
            if path is None:
                if why := self._generations.condemned():
                    raise Unavailable(f"the read model is built anew ({why}); try again")
                raise Unavailable("this replica has no read model yet; start `weft work indexer`")
            lock = reader_lock(path)
            if not lock.acquire():
                continue
            with ExitStack() as unless_opened:
                unless_opened.callback(lock.release)
                if self._generations.current() == path:
                    opened = _Opened(_model(path), PageChecksums(path), lock)
                    unless_opened.pop_all()
                    return opened
        raise Unavailable("the read model is being replaced; try again")

    def _pointer_stamp(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._generations.current.file)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns


def _model(path: Path) -> ReadModel:
    try:
        return ReadModel.open(path)
    except Corrupt as error:
        raise Unavailable(f"{error} (the indexer does that by itself); try again") from None


def _through(earlier: Path) -> int:
    found = _EARLIER.match(earlier.name)
    return int(found[1]) if found else 0


def reader_lock(path: Path) -> FileLock:
    """Held by each reader of a generation: while one holds it, the file is not removed."""
    return FileLock(path.with_name(f"{path.name}.readers"), shared=True)


def discard(path: Path) -> None:
    """Remove a generation's file and all that belongs to it: what begins with its name."""
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink(missing_ok=True)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
