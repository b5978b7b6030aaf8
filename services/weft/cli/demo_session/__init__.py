"""The demo's recorded session, in a checkout only: a coding agent that mends a small
project. The recording keeps no credential; where its tools showed one, `load` puts a fake of this
module's making."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from weft_schemas.errors import NotFound
from weft_schemas.items import ContextItem

SESSION = "demo"
SESSION_FILE = Path(__file__).with_name("session.jsonl")
"""JSON lines of ContextItem, made by examples/record_session.py."""

KEY_MARK = "{{demo-access-key}}"
"""Stands in the file where the fake key stood in the tool's output."""


def load() -> list[ContextItem]:
    """The session's items in order, with the fake key put back. No I/O but reading the file.

    Raises `NotFound` where weft was installed without it.
    """
    if not SESSION_FILE.exists():
        raise NotFound(
            "the demo's recorded session is not part of an installed weft; run `make demo` in a "
            "checkout, or `weft up` and `weft publish` with a transcript of your own"
        )
    text = SESSION_FILE.read_text("utf-8").replace(KEY_MARK, demo_key())
    decoder = msgspec.json.Decoder(ContextItem)
    return decoder.decode_lines(text)


@cache
def demo_key() -> str:
    """A fake in the form of an AWS access key id, that the firewall must mask. Put together here so
    that no file holds anything in the form of a credential; it never opened anything."""
    return "AKIA" + "WEFT" + "DEMONOTREAL2"
