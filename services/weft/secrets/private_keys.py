"""Private keys between a line that begins one and a line that ends it: as a file holds them, and as
programs quote, number and cut them off. A line alone, as prose names it, is no key."""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

from weft.secrets.masking import Finding
from weft.secrets.values import is_key_like

NAMES = (b"private key", b"openvpn static key")
"""A text without any of these has no such key."""
_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_KIND = rb"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}"
_BEGIN = re2.compile(rb"-{4,5} ?BEGIN " + _KIND, _OPTIONS)
_END = re.compile(rb"-{4,5} ?END " + _KIND)
_BETWEEN = 80
"""Most bytes between two pieces of a key: quotes, numbers of lines, the names of a header."""
_SHORT, _SURE = 16, 40
"""Least bytes of a piece; and of one that is a key's whatever it looks like."""
_NEXT = re.compile(rb"[A-Za-z0-9+/]{%d}|-{4,5} ?(?:END|BEGIN) " % _SHORT)
_PIECE = re.compile(rb"[A-Za-z0-9+/]+={0,2}")


def private_keys(data: bytes) -> Iterator[Finding]:
    """Linear in the length of `data`."""
    done = 0
    for begin in _BEGIN.finditer(data):
        end = _end(data, begin.end()) if begin.start() >= done else 0
        if end:
            done = end
            yield Finding(begin.start(), end, "secret", "private_key")


def _end(data: bytes, at: int) -> int:
    """Where the key ends whose first line ends at `at`: behind its last line, or if that is cut
    off, behind its last piece; 0 if there is no piece of it."""
    last, reach = 0, at + _BETWEEN + _SHORT
    while (found := _NEXT.search(data, at, reach)) is not None:
        piece = _PIECE.match(data, found.start())
        if piece is None:
            closing = _END.match(data, found.start())
            return closing.end() if closing and last else last
        at = piece.end()
        if at - piece.start() >= _SURE or is_key_like(piece.group()):
            last, reach = at, at + _BETWEEN + _SHORT
    return last
