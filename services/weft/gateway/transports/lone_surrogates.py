"""Lone surrogates in JSON, written by programs that cut a text in the middle of a character.
JSON can carry them, but no text can, and the SDK refuses the whole message."""

from __future__ import annotations

import re

_SURROGATE = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""A lone surrogate; backslashes and whole pairs are skipped."""


def without_lone_surrogates(line: bytes) -> bytes:
    """The message with each lone surrogate replaced by the replacement character."""
    if rb"\ud" not in line and rb"\uD" not in line:
        return line
    return _SURROGATE.sub(lambda match: match[1] or rb"\ufffd", line)
