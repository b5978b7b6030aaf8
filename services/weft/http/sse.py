"""Server-sent events, as the HTML standard defines them."""

from __future__ import annotations

import re

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": still here\n\n"
"""A comment: keeps proxies from closing a quiet stream."""

_BREAK = re.compile(rb"\r\n|\r|\n")


def event(data: bytes, name: str = "", id: str = "") -> bytes:
    """One event; `data` is JSON. A client that reconnects sends the last `id` it has seen."""
    lines = [b"id: " + id.encode()] if id else []
    if name:
        lines.append(b"event: " + name.encode())
    lines += [b"data: " + line for line in _BREAK.split(data)]
    return b"\n".join(lines) + b"\n\n"


def accepts(header: str) -> bool:
    """Whether an `Accept` header asks for events."""
    return any(part.partition(";")[0].strip() == MEDIA_TYPE for part in header.lower().split(","))
