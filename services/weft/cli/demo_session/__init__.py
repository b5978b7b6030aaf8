"""The demo's recorded session: a coding agent that mends a small project. The recording keeps no
credential; where its tools showed one, `load` puts a fake of this module's making."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from weft_schemas.items import ContextItem

SESSION = "demo"
SESSION_FILE = Path(__file__).with_name("session.jsonl")
"""JSON lines of ContextItem, made by examples/record_session.py."""

KEY_MARK = "{{demo-access-key}}"
"""Stands in the file where the fake key stood in the tool's output."""


def load() -> list[ContextItem]:
    """The session's items in order, with the fake key put back. No I/O but reading the file."""
    text = SESSION_FILE.read_text("utf-8").replace(KEY_MARK, demo_key())
    decoder = msgspec.json.Decoder(ContextItem)
    return decoder.decode_lines(text)


@cache
def demo_key() -> str:
    """A fake in the form of an AWS access key id, that the firewall must mask. Put together here so
    that no file holds anything in the form of a credential; it never opened anything."""
    return "AKIA" + "WEFT" + "DEMONOTREAL2"
