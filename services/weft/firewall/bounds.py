"""The firewall's limits for any one item, as one value."""

from __future__ import annotations

import msgspec


class Bounds(msgspec.Struct, frozen=True):
    """Limits per item. Over one of them the firewall degrades and says so with a `bounded` signal;
    it never raises."""

    analyse_bytes: int = 4 << 20
    """Bytes that are scanned and summarised. Of a larger body, three quarters of this from its
    head and one quarter from its tail. At some 10 MB/s this bounds an item to about half a
    second, and its memory to some 20 times this."""
    count_bytes: int = 64 << 10
    """Bytes whose tokens are counted, spread over the body; the rest is extrapolated from them.
    Counting costs about 1 ms per 10 KB, as much as all guards together."""
    whole_bytes: int = 128 << 10
    """Largest text that passes whole, whatever a rule says: with its JSON escapes it must fit a
    message of the log, of which a server takes 1 MiB by default."""
    depth: int = 4
    """Containers (an MCP result inside an MCP result) that are unwrapped."""
    matches: int = 10_000
    """Findings of one guard that are looked at; more of them count as this many."""
