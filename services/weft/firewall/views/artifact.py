"""A raw body as a buffer that slices are taken from. A file is mapped, not read. In every slice,
secrets are masked and hidden characters removed, wherever its edges are."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from weft.bodies.clean import clean
from weft.firewall.body import Body
from weft.firewall.bounds import Bounds
from weft.firewall.embedded_text import embedded_text
from weft.firewall.unwrap import unwrap
from weft.firewall.verbatim_json import encoded
from weft.passages.mcp_wrapper import begins_as_json
from weft.passages.python_repr import looks_like_repr, repr_to_json
from weft.secrets.deployment_rules import NONE, DeploymentRules
from weft.secrets.masking import Finding, masked
from weft.secrets.scanning import secrets_behind_hidden

_BEFORE = 16 << 10
_AFTER = 8 << 10
"""Bytes around a slice that are scanned with it: a private key may begin before it, and a token may
end after it."""
_STRETCH = 128 << 10
"""Bytes that are scanned at once."""


class Artifact:
    """A body whose slices are safe to show."""

    def __init__(
        self,
        data: bytes | mmap.mmap,
        key: bytes,
        piece: int = 2_000,
        own: DeploymentRules = NONE,
        structured: Artifact | None = None,
    ) -> None:
        self.structured = structured
        """The structured content beside the text, whose paths a summary names."""
        self.data = data
        self.size = len(data)
        self.piece = piece
        """Size in bytes of a chunk that fits the slice whatever it contains."""
        self._key = key
        self._own = own
        self._scanned = (0, 0)
        self._secrets: list[Finding] = []

    def text(self, start: int, end: int) -> str:
        """Bytes `start` to `end` (exclusive) as masked, clean text."""
        start, end = max(0, start), min(end, self.size)
        inside = [f for f in self._secrets_near(start, end) if f.end > start and f.start < end]
        first = min([start, *(found.start for found in inside)])
        last = max([end, *(found.end for found in inside)])
        moved = [found.moved(-first) for found in inside]
        return clean(masked(self.data[first:last], moved, self._key)).text

    def masked_text(self, text: str) -> str:
        """What was decoded from the body, such as its keys, as masked, clean text."""
        return Artifact(text.encode(), self._key, own=self._own).text(0, len(text.encode()))

    def _secrets_near(self, start: int, end: int) -> list[Finding]:
        """Secrets around a slice. A stretch is scanned at once and cached, since slices are usually
        requested one after the other."""
        low, high = self._scanned
        covers_start = low == 0 or low + _BEFORE <= start
        covers_end = high == self.size or end + _AFTER <= high
        if not (covers_start and covers_end and low <= start and high > 0):
            low, high = max(0, start - _BEFORE), min(self.size, end + _STRETCH)
            found = secrets_behind_hidden(self.data[low:high], self._own)
            self._scanned, self._secrets = (low, high), [one.moved(low) for one in found]
        return self._secrets

    def whole_character(self, at: int) -> int:
        """`at`, moved back so that it is not inside a UTF-8 character."""
        for _ in range(3):
            if at <= 0 or at >= self.size or self.data[at] & 0xC0 != 0x80:
                break
            at -= 1
        return at

    def line_end(self, start: int) -> int:
        """Where the line that contains `start` ends, including its line feed."""
        found = self.data.find(b"\n", start)
        return self.size if found < 0 else found + 1

    def lines(self, start: int = 0) -> Iterator[tuple[int, int]]:
        """Start and end of each line from offset `start` on, including line feeds."""
        while start < self.size:
            end = self.line_end(start)
            yield start, end
            start = end


@contextmanager
def opened(
    body: Body, key: bytes, limits: Bounds, piece: int, own: DeploymentRules = NONE
) -> Iterator[Artifact]:
    """The artifact of a body. The content of a container (an MCP result), or of what Python
    printed, is read by its meaning, up to `limits.analyse_bytes`."""
    if isinstance(body, str):
        yield _inside(body.encode("utf-8", "replace"), key, limits, piece, own)
    elif isinstance(body, bytes):
        yield _inside(body, key, limits, piece, own)
    elif body.stat().st_size == 0:
        yield Artifact(b"", key, piece, own)
    else:
        with body.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            if len(whole) <= limits.analyse_bytes:
                yield _inside(bytes(whole), key, limits, piece, own)
            else:
                yield Artifact(whole, key, piece, own)


_MAY_BE_WRAPPED = (b"{", b"[", b"(", b"m", b"c", b"C", b"T")
"""How JSON begins, and what Python prints: `meta=…`, `content=…`, `CallToolResult(…)`,
`TextContent(…)`."""


def _inside(data: bytes, key: bytes, limits: Bounds, piece: int, own: DeploymentRules) -> Artifact:
    if len(data) > limits.analyse_bytes or data.lstrip()[:1] not in _MAY_BE_WRAPPED:
        return Artifact(data, key, piece, own)
    text = data.decode("utf-8", "replace")
    inside = unwrap(text, limits.depth)
    structured: Artifact | None = None
    if inside is not None:
        text = "\n".join((*inside.texts, *inside.other))
        if (held := inside.structured) is not None:
            structured = Artifact(encoded(held).encode(), key, piece, own)
    if structured is not None and not text:
        return structured
    if structured is None and (field := embedded_text(text)) is not None:
        if not begins_as_json(field.text):  # whose own paths the summary names
            structured = Artifact(text.encode("utf-8", "replace"), key, piece, own)
        text = field.text.rstrip("\n") + field.mark if field.mark else field.text
    if looks_like_repr(text.strip()):
        text = repr_to_json(text)
    return Artifact(text.encode("utf-8", "replace"), key, piece, own, structured)
