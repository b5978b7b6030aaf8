"""One pass over a text that tells which of many things it may contain, so that the rules for the
others are never run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import re2

_MEMORY = 64 << 20
"""Memory of the automaton's cache, in bytes: the signs of all rules need far less, and a full cache
is emptied, which is slower but never wrong."""

T = TypeVar("T")


class Prefilter(Generic[T]):
    """Signs (RE2 patterns over bytes), compiled once, each with the thing that it indicates."""

    def __init__(self, signs: Mapping[T, str]) -> None:
        self._names = tuple(signs)
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for pattern in signs.values():
            self._set.Add(pattern)
        self._set.Compile()

    def present(self, data: bytes) -> frozenset[T]:
        """The things whose signs occur in `data`."""
        found = self._set.Match(data)
        return frozenset([self._names[index] for index in found]) if found else frozenset()


def literals(these: Iterable[bytes]) -> dict[bytes, str]:
    """Literals, each of which is its own sign."""
    return {literal: "".join(map(_byte, literal)) for literal in sorted(set(these))}


def _byte(one: int) -> str:
    """A byte as a pattern: a character beyond ASCII would become two."""
    return str(re2.escape(chr(one))) if one < 0x80 else f"\\x{one:02x}"
