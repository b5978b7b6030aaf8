"""The firewall's limits for one item."""

from __future__ import annotations

import msgspec

from weft.bodies.masking import MAX_CLEAN_BYTES


class Bounds(msgspec.Struct, frozen=True):
    """Limits per item. When an item exceeds one, the firewall does less and adds a `bounded`
    signal; it never raises."""

    analyse_bytes: int = MAX_CLEAN_BYTES
    """Bytes that are scanned and summarised. Of a larger body, three quarters of this come from its
    head and one quarter from its tail; a JSON text is read up to five eighths of this, which is
    always before the gap, and its tail is only scanned. At about 10 MB/s this limits an item to
    about half a second, one that is nothing but secrets to some ten seconds, and its memory to
    about 20 times this size."""
    count_bytes: int = 64 << 10
    """Bytes whose tokens are counted, spread over the body; the rest is extrapolated. Counting
    costs about 1 ms per 10 KB, as much as all guards together."""
    whole_bytes: int = 128 << 10
    """Largest text that passes whole, whatever a rule says: with its JSON escapes it must fit into
    one message of the log, and a server accepts 1 MiB by default."""
    depth: int = 4
    """How many nested containers are unwrapped (an MCP result inside an MCP result)."""
    matches: int = 10_000
    """How many injected instructions of one kind, and how many candidates for personal data that
    is not masked, are counted. What is masked is found however often it occurs."""
    masks: int = 10_000
    """Most masked spans that an envelope lists: each takes about 70 bytes of an event. The clean
    text of a body with more is not recorded."""
