"""What a guard found, and the masking of it: spans of bytes with a name, never with their content
once they have left this module."""

from __future__ import annotations

import hashlib
import hmac

import msgspec


class Finding(msgspec.Struct, frozen=True, order=True):
    """A span of the scanned bytes, `start` inclusive, `end` exclusive."""

    start: int
    end: int
    kind: str
    """`secret` or `pii`."""
    name: str
    """The rule."""

    def moved(self, by: int) -> Finding:
        """The same span in bytes of which `-by` were cut off before it."""
        return Finding(self.start + by, self.end + by, self.kind, self.name)


def fingerprint(key: bytes, value: bytes) -> str:
    """Eight hex digits that are the same for the same value under one key, and say nothing of the
    value to whoever lacks the key."""
    return hmac.new(key, value, hashlib.sha256).hexdigest()[:8]


def without_overlaps(findings: list[Finding]) -> list[Finding]:
    """In order of position; of two that overlap the earlier and then the longer stays, widened to
    cover both."""
    kept: list[Finding] = []
    for found in sorted(findings, key=lambda f: (f.start, -f.end)):
        if kept and found.start < kept[-1].end:
            last = kept[-1]
            if found.end > last.end:
                kept[-1] = Finding(last.start, found.end, last.kind, last.name)
            continue
        kept.append(found)
    return kept


def masked(data: bytes, findings: list[Finding], key: bytes) -> bytes:
    """`data` with each finding replaced by `[kind:name:fingerprint]`. `findings` do not overlap and
    are in order."""
    pieces: list[bytes] = []
    position = 0
    for found in findings:
        mark = f"[{found.kind}:{found.name}:{fingerprint(key, data[found.start : found.end])}]"
        pieces += (data[position : found.start], mark.encode())
        position = found.end
    pieces.append(data[position:])
    return b"".join(pieces)
