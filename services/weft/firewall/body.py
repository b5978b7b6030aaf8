"""An untrusted body of any size, as the bounded window of text that the firewall looks at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

Body = bytes | str | Path
"""What a tool returned: text, bytes, or a file that holds them."""


class Window(msgspec.Struct, frozen=True):
    """The part of a body that is analysed."""

    data: bytes
    """The whole body, or its head and its tail."""
    head: int
    """Bytes of `data` that come from the head."""
    size: int
    """Bytes of the whole body."""

    @property
    def whole(self) -> bool:
        return len(self.data) == self.size


def window(body: Body, limit: int) -> Window:
    """At most `limit` bytes of `body`: all of it, or three quarters from the head and one quarter
    from the tail. A lone surrogate in a str becomes the three bytes that UTF-8 forbids."""
    if isinstance(body, Path):
        with body.open("rb") as file:
            return _from_file(file, os.fstat(file.fileno()).st_size, limit)
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    if len(data) <= limit:
        return Window(data, len(data), len(data))
    head, tail = _shares(limit)
    return Window(data[:head] + data[len(data) - tail :], head, len(data))


def _from_file(file: BinaryIO, size: int, limit: int) -> Window:
    if size <= limit:
        data = file.read(limit)
        return Window(data, len(data), len(data))
    head, tail = _shares(limit)
    start = file.read(head)
    file.seek(size - tail)
    return Window(start + file.read(tail), len(start), size)


def _shares(limit: int) -> tuple[int, int]:
    tail = limit // 4
    return limit - tail, tail
