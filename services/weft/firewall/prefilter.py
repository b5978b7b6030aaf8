"""One pass over a text that tells which literals it holds, so that the rules which need one of the
others are never run."""

from __future__ import annotations

from collections.abc import Iterable

import re2

_MEMORY = 64 << 20
"""Bytes that the automaton's cache may take: the literals of all rules need far less, and a cache
that is full is emptied, never trusted less."""


class Prefilter:
    """A set of literals, compiled once."""

    def __init__(self, literals: Iterable[bytes]) -> None:
        self._literals = sorted(set(literals))
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for literal in self._literals:
            self._set.Add(re2.escape(literal.decode("latin-1")))
        self._set.Compile()

    def present(self, data: bytes) -> frozenset[bytes]:
        """Those of the literals that stand in `data`."""
        return frozenset(self._literals[index] for index in self._set.Match(data) or ())
