"""Choosing what a summary can hold: pieces in order of worth until the tokens are spent, shown in
the order in which they stood."""

from __future__ import annotations

from operator import attrgetter

import msgspec

from weft import tokens

_MARGIN = 2
"""Tokens kept back for the joins between pieces."""
_ROOM = 0.4
"""Share of the limit that must be left for a piece to be cut rather than left out."""
_MISSES = 12
"""Pieces in a row that do not fit before the rest is given up."""


class Piece(msgspec.Struct, frozen=True):
    """One line or block that a summary may show."""

    order: float
    """Where it stands in the summary."""
    worth: float
    """Higher is taken first; equal worth in order."""
    text: str


class Budget(msgspec.Struct, frozen=True):
    """Tokens, in an encoding."""

    limit: int
    encoding: str

    @property
    def most(self) -> int:
        """Of pieces whose worth falls with their order, more than these are never looked at: each
        takes two tokens, and after `_MISSES` without room the rest is given up."""
        return _MISSES * (self.limit // 2 + 1)

    def count(self, text: str) -> int:
        return tokens.count(text, self.encoding)

    def fits(self, text: str) -> bool:
        return self.count(text) <= self.limit

    def cut(self, text: str) -> str:
        """`text` itself if it fits, else its longest prefix that does."""
        return tokens.truncate(text, self.limit, self.encoding)


def compose(pieces: list[Piece], budget: Budget, gap: str = "…") -> str:
    """The worthiest pieces that fit, each on a line of its own, `gap` where some are left out
    between two that are not neighbours."""
    standing = sorted(pieces, key=_ORDER)
    worth = [piece.worth for piece in standing]
    chosen: dict[int, str] = {}
    left = budget.limit - _MARGIN
    misses = 0
    # Python sorts stably, in reverse too: equal worth stays in order.
    for index in sorted(range(len(standing)), key=worth.__getitem__, reverse=True):
        text = standing[index].text
        # A token is rarely longer than 16 characters: what is far too long is not even counted.
        cost = budget.count(text) + 1 if len(text) <= 16 * max(left, 1) else left + 1
        if cost > left and left > budget.limit * _ROOM:
            text = f"{tokens.truncate(text, left - 2, budget.encoding)}…"
            cost = budget.count(text) + 1
        if cost > left:
            misses += 1
            if misses >= _MISSES:
                break
            continue
        misses = 0
        left -= cost
        chosen[index] = text
    while True:
        text = _joined(chosen, gap)
        if not chosen or budget.fits(text):
            return text
        chosen.popitem()


_ORDER = attrgetter("order")


def _joined(chosen: dict[int, str], gap: str) -> str:
    lines: list[str] = []
    last = -1
    for index in sorted(chosen):
        if gap and last >= 0 and index != last + 1:
            lines.append(gap)
        lines.append(chosen[index])
        last = index
    return "\n".join(lines)


def line_cap(lines: int, budget: Budget, base: int) -> int:
    """Characters of a line that are shown: more than `base` where there are few lines."""
    return max(base, 4 * budget.limit // max(1, lines))


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters; says how many are missing."""
    flat = " ".join(text.split()) if len(text) <= 4 * limit else " ".join(text[: 4 * limit].split())
    if len(flat) <= limit and len(text) <= 4 * limit:
        return flat
    return f"{flat[:limit]}…(+{len(text) - limit} chars)"
