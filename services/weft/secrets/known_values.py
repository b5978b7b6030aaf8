"""Values known to be secret, by their keyed hash: found wherever one is delimited by the edges of
words or fields, even if it is split across consecutive fields. Linear in the text."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from zlib import crc32

import msgspec

from weft.secrets.masking import Finding
from weft_schemas.policy import KnownSecrets

_DIGEST = 16
"""Bytes of a hash."""
_CHECK = 0xFFFF
"""Bits of a checksum: few enough to reveal nothing about a value that cannot be guessed anyway."""

_WORD = rb"[A-Za-z0-9\x80-\xff]"
_BETWEEN = rb"[\"'\s,;:=|/\\?&@{}\[\]()<>`]"
"""Characters that may surround a value."""
_START = re.compile(
    rb"(?<!" + _WORD + rb")(?=" + _WORD + rb")|(?:(?<=" + _BETWEEN + rb")|\A)(?!" + _BETWEEN + rb")"
)
_STOP = re.compile(
    rb"(?<=" + _WORD + rb")(?!" + _WORD + rb")|(?<!" + _BETWEEN + rb")(?:(?=" + _BETWEEN + rb")|\Z)"
)
"""Where a value may begin and end: at a run of letters and digits, or next to a surrounding
character."""
_JOINT = re.compile(
    rb"(?:</?[\w.:-]{1,64}>|[\"'\s,;|{}\[\]()<>])+"
    rb"(?:[\w.-]{1,64}[\"']?[ \t]{0,4}[:=>][ \t]{0,4}[\"'\[{]{0,4})?"
)
"""What separates two fields: quotes, brackets, blanks, tags, and the name of the second field."""


class KnownSecretFinder(msgspec.Struct, frozen=True):
    """A policy's list, prepared for searching."""

    key: bytes
    lengths: tuple[int, ...]
    checks: frozenset[int]
    """A checksum of each: quick to compute, and most texts match none."""
    hashes: frozenset[bytes]

    def find(self, data: bytes) -> list[Finding]:
        """Spans of `data` that contain a known value; a value that is split is
        covered from its first field to its last."""
        begins = [match.start() for match in _START.finditer(data)]
        ends = _marked(len(data), (match.start() for match in _STOP.finditer(data)))
        found = [
            Finding(start, end, "secret", NAME) for start, end in self._spans(data, begins, ends)
        ]
        joined, starts, places = _joined(data)
        if len(starts) > 1:
            for start, end in self._spans(
                joined, starts, _marked(len(joined), (*starts, len(joined)))
            ):
                first, last = _piece(starts, start), _piece(starts, end - 1)
                begin = places[first] + start - starts[first]
                found.append(Finding(begin, places[last] + end - starts[last], "secret", NAME))
        return found

    def _spans(self, data: bytes, begins: list[int], ends: bytearray) -> list[tuple[int, int]]:
        found, seed, last = [], crc32(self.key), len(data)
        for start in begins:
            for length in self.lengths:
                end = start + length
                if (
                    end > last
                    or not ends[end]
                    or crc32(data[start:end], seed) & _CHECK not in self.checks
                ):
                    continue
                if keyed_hash(self.key, data[start:end]) in self.hashes:
                    found.append((start, end))
        return found


NAME = "known"


def known_of(listed: KnownSecrets) -> KnownSecretFinder:
    """The list of a policy."""
    entries = [one.split(":") for one in listed.hashes]
    lengths = sorted({int(length) for length, _, _ in entries})
    checks = frozenset(int(check, 16) for _, check, _ in entries)
    hashes = frozenset(bytes.fromhex(digest) for _, _, digest in entries)
    return KnownSecretFinder(bytes.fromhex(listed.key), tuple(lengths), checks, hashes)


def known_secrets(key: bytes, values: list[str]) -> KnownSecrets:
    """What a policy stores about values that must not be shown: their lengths in bytes, and hashes
    under `key`, which is random and 16 bytes long. Raises `InvalidRule` if one is too short, or if
    they have too many different lengths."""
    raw = sorted({value.strip().encode() for value in values})
    entries = (f"{len(one)}:{_checksum(key, one):04x}:{keyed_hash(key, one).hex()}" for one in raw)
    return KnownSecrets(key.hex(), tuple(entries))


def _checksum(key: bytes, value: bytes) -> int:
    return crc32(value, crc32(key)) & _CHECK


def _marked(size: int, places: Iterable[int]) -> bytearray:
    """One byte for each place up to `size`: 1 for these."""
    marks = bytearray(size + 1)
    for place in places:
        marks[place] = 1
    return marks


def keyed_hash(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, key=key, digest_size=_DIGEST).digest()


def _joined(data: bytes) -> tuple[bytes, list[int], list[int]]:
    """The fields of a text without their separators, where each begins in that, and where it begins
    in the text."""
    pieces: list[bytes] = []
    starts: list[int] = []
    places: list[int] = []
    at = length = 0
    for match in _JOINT.finditer(data):
        end = match.start()
        if end > at:
            starts.append(length)
            places.append(at)
            pieces.append(data[at:end])
            length += end - at
        at = match.end()
    if at < len(data):
        starts.append(length)
        places.append(at)
        pieces.append(data[at:])
    return b"".join(pieces), starts, places


def _piece(starts: list[int], at: int) -> int:
    """The number of the piece that contains a byte."""
    return bisect_left(starts, at + 1) - 1
