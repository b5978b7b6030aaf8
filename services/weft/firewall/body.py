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
    """The head up to its last whole line, and the tail from its first one: a line made of two
    halves would be one that the tool never wrote. Very long lines are cut."""
    cut = head.rfind(b"\n", -len(head) // _LINE) + 1
    begun = tail.find(b"\n", 0, len(tail) // _LINE) + 1
    head = head[:cut] if cut else _without_part(head[:-1]) + b"\n"
    return Window(head + _from_character(tail[begun:]), len(head), size)


def _without_part(head: bytes) -> bytes:
    """Without the rest of a character that was cut in two at the end: it would look like malformed
    text from the tool."""
    for back in range(1, min(_MAX_CHARACTER_BYTES, len(head) + 1)):
        first = head[-back]
        if first & 0xC0 != 0x80:
            return head[:-back] if first >= _LEADS[back] else head
    return head


def _from_character(tail: bytes) -> bytes:
    """Without the rest of a character at the beginning."""
    skipped = 0
    while skipped < min(_MAX_CHARACTER_BYTES - 1, len(tail)) and tail[skipped] & 0xC0 == 0x80:
        skipped += 1
    return tail[skipped:]


_LINE = 64
"""The part of a line that is left out rather than cut is at most this part of head or tail."""
_MAX_CHARACTER_BYTES = 4
"""How many bytes a character takes, by its first byte."""
_LEADS = (0, 0xC0, 0xE0, 0xF0)
"""For each index, the lowest first byte of a character that takes more bytes than the index."""


def _shares(limit: int) -> tuple[int, int]:
    tail = limit // 4
    return limit - tail, tail
