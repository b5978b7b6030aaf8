"""What one kind of credential is found by."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
import re2


class SecretRule(msgspec.Struct, frozen=True):
    name: str
    needles: tuple[bytes, ...]
    """Lower case; a text that holds none of them cannot match."""
    source: bytes
    """The pattern, for RE2, which is linear in the text whatever the text is."""
    group: int = 0
    """Which group is the secret."""
    doubtful: bool = False
    """A match counts only if its value looks random."""
    closed_by: int = 0
    """Group of what ends the secret and belongs to it, where a text may be cut off before it."""
    named: bool = False
    """A name in the match says what the value is; that of a cursor says it is no secret."""
    check: str = ""
    """What a value must be: `shown` no placeholder of a manual; `word` that, and no word that says
    what becomes of a password; `password` that, and not of plain words alone; `mixed` that, of
    letters and digits, and no path, time or size; `key` nothing but a key."""

    @property
    def pattern(self) -> Any:
        """Compiled when it is first used: most texts need few of all rules."""
        return _compiled(self.source)


WORD_START = r"(?:\b|\\u[0-9A-Fa-f]{4}|\\[bf])"
"""Where a word begins: behind an escape of JSON too, which ends in a letter or a digit itself."""


def rule(
    name: str,
    needles: str | Iterable[str],
    pattern: str,
    group: int = 0,
    doubtful: bool = False,
    closed_by: int = 0,
    check: str = "",
    named: bool = False,
) -> SecretRule:
    """`needles` are separated by blanks, or listed; `pattern` is for RE2, `group` is what hides."""
    flags = "(?i)" if pattern.startswith("(?i)") else ""
    begun = pattern.removeprefix(flags).removeprefix(r"\b")
    if begun != pattern.removeprefix(flags):
        pattern, group = f"{flags}{WORD_START}({begun})", group + 1
    return SecretRule(
        name,
        tuple(n.encode() for n in (needles.split() if isinstance(needles, str) else needles)),
        pattern.encode(),
        group,
        doubtful,
        closed_by,
        named,
        check,
    )


@cache
def _compiled(source: bytes) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    # The default of 8 MiB is too little for the longest counted repetitions.
    options.max_mem = 32 << 20
    return re2.compile(source, options)
