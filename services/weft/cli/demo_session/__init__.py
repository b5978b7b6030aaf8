"""The demo's recorded session, which only a checkout has: a coding agent that repairs a small
project. The recording contains no credential; where the agent's tools showed one, `load` puts in a
fake that this module makes."""

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
"""Stands in the file for the fake key in the tool's output."""


def load() -> list[ContextItem]:
    """The session's items in order, with the fake key put back. No I/O except reading the file.

    Raises `NotFound` if weft was installed without it.
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
    """A fake in the form of an AWS access key id, which the firewall must mask. It is put together
    here so that no file contains anything in the form of a credential; it never opened anything."""
    return "AKIA" + "WEFT" + "DEMONOTREAL2"
