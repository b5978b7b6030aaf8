"""A bounded window of text from an untrusted body of any size. The firewall looks at nothing
else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import msgspec

Body = bytes | str | Path
"""A tool's output: text, bytes, or a file that contains them."""


class Window(msgspec.Struct, frozen=True):
    """The part of a body that is analysed."""

    data: bytes
    """Either the whole body, or its head and its tail."""
    head: int
    """How many bytes of `data` come from the head."""
    size: int
    """Size of the whole body in bytes."""

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
    return _joined(data[:head], data[len(data) - tail :], len(data))


def _from_file(file: BinaryIO, size: int, limit: int) -> Window:
    if size <= limit:
        data = file.read(limit)
        return Window(data, len(data), len(data))
    head, tail = _shares(limit)
    start = file.read(head)
    file.seek(size - tail)
    return _joined(start, file.read(tail), size)


def _joined(head: bytes, tail: bytes, size: int) -> Window:
    """`data` without the rest of a character that was cut in two: it would look like malformed text
    from the tool."""
    for back in range(1, min(_LONGEST, len(head) + 1)):
        first = head[-back]
        if first & 0xC0 != 0x80:
            if first >= _LEADS[back]:
                head = head[:-back]
            break
    skipped = 0
    while skipped < min(_LONGEST - 1, len(tail)) and tail[skipped] & 0xC0 == 0x80:
        skipped += 1
    return Window(head + tail[skipped:], len(head), size)


_LONGEST = 4
"""How many bytes a character takes, by its first byte."""
_LEADS = (0, 0xC0, 0xE0, 0xF0)
"""For each index, the first bytes from which a character takes more bytes than that."""


def _shares(limit: int) -> tuple[int, int]:
    tail = limit // 4
    return limit - tail, tail
