"""Files of JSON lines that outlive a crash: written through to the disk, for their owner alone, and
read without the line that a crash cut off."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def write_durably(path: Path, content: bytes, flags: int = 0) -> None:
    """Return when it stands on the disk; `flags` such as `os.O_APPEND`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def decoded_lines(path: Path, kind: type[T]) -> list[T]:
    """The lines, but for one that a crash cut off: it was never acknowledged."""
    found = []
    for line in path.read_bytes().splitlines(keepends=True):
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(line, type=kind))
    return found
