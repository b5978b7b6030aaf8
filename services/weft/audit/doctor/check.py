"""The outcome of one check."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckState = Literal["ok", "note", "fault"]
LITTLE_SHARE = 0.1
"""Share of the disk, or of the log's limit, below which free space gets a note."""


class Check(msgspec.Struct, frozen=True):
    name: str
    state: CheckState
    found: str
    do: str = ""
    """What weft would do, or what you should do; empty if there is nothing to do."""
