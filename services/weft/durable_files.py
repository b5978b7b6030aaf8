"""Files that survive a crash: written through to disk, accessible only to their owner."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from threading import get_ident
from typing import TypeVar

import msgspec

T = TypeVar("T")


def write_durably(path: Path, content: bytes, flags: int = 0) -> None:
    """Write the content, and return when it is on disk, as is the name of a new file; `flags` such
    as `os.O_APPEND`."""
    is_new = not path.exists()
    _write(path, content, flags)
    if is_new:
        _sync_folder(path.parent)


def replace_durably(path: Path, content: bytes) -> None:
    """Replace the file in one step, and return when that is on disk: after a crash it has the old
    content or the new, never a part."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}.new")
    try:
        _write(draft, content, os.O_TRUNC)
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)  # on a full disk it would only take room
        raise
    _sync_folder(path.parent)


def _write(path: Path, content: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """A file's name is in its folder, and no sync of the file writes that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def decoded_lines(path: Path, kind: type[T]) -> list[T]:
    """The JSON lines of a file, except one that a crash cut off: it was never acknowledged."""
    found = []
    for line in path.read_bytes().splitlines(keepends=True):
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line, type=kind))
    return found


_FULL = {errno.ENOSPC, errno.EDQUOT}


def is_disk_full(error: BaseException) -> bool:
    """Whether something could not be written because the disk or the user's quota is full, by
    Python's error or SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        import sqlite3  # who publishes only does without it

        return bool(code & 0xFF == sqlite3.SQLITE_FULL)
    return isinstance(error, OSError) and error.errno in _FULL
