"""Half a character in JSON, as of a text that a program cut within one: JSON can carry it, no text
can, and the SDK refuses the whole message."""

from __future__ import annotations

import re

_SURROGATE = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""A surrogate that stands alone; backslashes and whole pairs are passed over."""


def without_halves(line: bytes) -> bytes:
    """The message with the sign for a lost character in the place of each half one."""
    if rb"\ud" not in line and rb"\uD" not in line:
        return line
    return _SURROGATE.sub(lambda found: found[1] or rb"\ufffd", line)
