"""How one kind of credential is found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
import re2


class SecretRule(msgspec.Struct, frozen=True):
    name: str
    needles: tuple[bytes, ...]
    """In lower case; a text without any of them cannot match."""
    source: bytes
    """The pattern, for RE2, which is linear in any text."""
    group: int = 0
    """Which group is the secret."""
    doubtful: bool = False
    """A match counts only if its value looks random."""
    named: bool = False
    """A name in the match says what the value is; the name of a cursor says that it is not a
    secret."""
    check: str = ""
    """What a value must be. `shown`: no placeholder from a manual. `word`: also no word that says
    what happens to a password. `password`: also not only plain words. `mixed`: also letters and
    digits, and no path, time or size. `key`: nothing but a key."""

    @property
    def pattern(self) -> Any:
        """Compiled at its first use: most texts need few of the rules."""
        return compiled(self.source)

    @property
    def floats(self) -> bool:
        """Whether its pattern begins with a class of characters, so that it may begin nearly
        everywhere."""
        return _FLOATS.match(self.source) is not None


WORD_START = r"(?:\b|\\u[0-9A-Fa-f]{4}|\\[bf])"
"""Where a word begins: also after an escape of JSON, which itself ends in a letter or a digit."""
_FLOATS = re.compile(
    rb"(?:\(\?[ims]+\))?(?:%b)?(?:\((?:\?:)?|\\b)*(?:\[|\\[sSwWdD])"
    % re.escape(WORD_START.encode())
)


def rule(
    name: str,
    needles: str | Iterable[str],
    pattern: str,
    group: int = 0,
    doubtful: bool = False,
    check: str = "",
    named: bool = False,
) -> SecretRule:
    """`needles` are separated by blanks, or listed; `pattern` is for RE2, `group` is hidden."""
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
        named,
        check,
    )


@cache
def compiled(source: bytes) -> Any:
    """A pattern for RE2."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    # The default of 8 MiB is too little for the longest counted repetitions.
    options.max_mem = 32 << 20
    return re2.compile(source, options)
