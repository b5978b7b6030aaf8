"""Counts tokens line by line, for every encoding that is not one of tiktoken's.

A text counts as the sum of its lines, each with its break, so that the counts of a prompt's blocks
add up exactly. A tokenizer that sees the whole text seldom makes more of it: it joins what is apart
here (docs/operations.md has the measured differences).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

_PIECE = 20_000
"""A line with more characters than this is counted in pieces, which bounds what one line can
cost."""
_SHORT, _MAX_REMEMBERED = 200, 50_000
"""Characters of a line that is remembered, and how many lines are: some 15 MB."""


class LineCounter:
    """Counts text by what a line costs."""

    def __init__(self, cost: Callable[[str], int]) -> None:
        """`cost` gives the tokens of a line, at least 1."""
        self._cost = cost
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return sum(map(self._line, _lines(text)))

    def truncated(self, text: str, limit: int) -> str:
        """The beginning of a text, of at most so many tokens."""
        end, left = 0, limit
        for line in _lines(text):
            tokens = self._line(line)
            if tokens > left:
                return text[: end + self._fitting(line, left)]
            end, left = end + len(line), left - tokens
        return text

    def _fitting(self, line: str, limit: int) -> int:
        """Characters of a line's beginning that cost no more than that."""
        low, high = 0, len(line)
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._line(line[:middle]) <= limit else (low, middle)
        return low if self._line(line[:low]) <= limit else 0

    def _line(self, line: str) -> int:
        if not line:
            return 0
        known = self._known.get(line)
        if known is None:
            known = self._cost(line)
            if len(line) <= _SHORT:
                if len(self._known) >= _MAX_REMEMBERED:
                    self._known.clear()
                self._known[line] = known
        return known


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start, start + _PIECE) + 1 or start + _PIECE
        yield text[start:end]
        start = end
