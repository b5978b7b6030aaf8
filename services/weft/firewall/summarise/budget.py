"""Chooses what a summary can hold: the most valuable pieces until the tokens are used up, shown in
their original order, with a count of what was left out between them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import msgspec

from weft import tokens

_MARGIN = 2
"""Tokens reserved for the joins between pieces."""
_ROOM = 0.4
"""If less than this share of the limit is left, a piece is left out rather than cut."""
_MISSES = 12
"""After this many pieces in a row that do not fit, the rest is given up."""


class Piece(msgspec.Struct, frozen=True):
    """One line or block that a summary may show."""

    order: float
    """Its position in the summary."""
    worth: float
    """Pieces with a higher value are taken first; equal ones in order."""
    text: str
    units: int = 1
    """How many lines, rows or sentences of the source it shows, from `order` on; 0 if it only says
    something about them."""


class Budget(msgspec.Struct, frozen=True):
    """Tokens, counted in an encoding."""

    limit: int
    encoding: str

    @property
    def most(self) -> int:
        """If the pieces' value falls with their order, no more than this many are ever examined:
        each takes two tokens, and after `_MISSES` that do not fit the rest is given up."""
        return _MISSES * (self.limit // 2 + 1)

    def count(self, text: str) -> int:
        return tokens.count(text, self.encoding)

    def fits(self, text: str) -> bool:
        return self.count(text) <= self.limit

    def cut(self, text: str) -> str:
        """`text` itself if it fits, otherwise its longest prefix that fits."""
        return tokens.truncate(text, self.limit, self.encoding)


def compose(
    pieces: list[Piece],
    budget: Budget,
    unit: str = "",
    total: int = 0,
    later: Callable[[], list[Piece]] | None = None,
) -> str:
    """The most valuable pieces that fit, each on a line of its own.

    With a `unit`, such as `lines`, `order` counts these from 0 and the source has `total` of them;
    a mark then says how many are missing at each gap. `later` returns pieces that are less valuable
    than all others: it is called only if there is room after these.
    """
    standing = sorted(pieces, key=_ORDER)
    mark = budget.count(_mark(total, unit)) + 1 if unit else 0
    chosen, is_given_up = _chosen(standing, budget, unit, total, mark)
    if later is not None and not is_given_up:
        return compose([*pieces, *later()], budget, unit, total)
    if unit:
        _fill(standing, chosen, mark, budget)
    while True:
        shown = _joined(standing, chosen, unit, total)
        if not chosen or budget.fits(shown):
            return shown
        chosen.popitem()


def _chosen(
    standing: list[Piece], budget: Budget, unit: str, total: int, mark: int
) -> tuple[dict[int, str], bool]:
    """The text of each piece that is shown, by position, the most valuable first; and whether the
    rest was given up for lack of room."""
    worth = [piece.worth for piece in standing]
    chosen: dict[int, str] = {}
    left = budget.limit - _MARGIN - mark
    misses = 0
    # Python's sort is stable, in reverse too: pieces of equal value stay in order.
    for index in sorted(range(len(standing)), key=worth.__getitem__, reverse=True):
        piece, text = standing[index], standing[index].text
        # The tokens of a text that is far too long are not counted.
        cost = budget.count(text) + 1 if len(text) <= _CHARS * max(left, 1) else left + 1
        if unit and piece.units:
            # It either splits one gap in two or fills one.
            cost += mark * (1 - _touching_ends(standing, chosen, index, total))
        if cost > left and left > budget.limit * _ROOM:
            text = _shortened(text, left - mark, budget)
            cost = budget.count(text) + 1
        if cost > left:
            misses += 1
            if misses >= _MISSES:
                return chosen, True
            continue
        misses = 0
        left -= cost
        chosen[index] = text
    return chosen, False


_ORDER = attrgetter("order")


def _fill(standing: list[Piece], chosen: dict[int, str], mark: int, budget: Budget) -> None:
    """Show a single piece between two that are shown if a mark would cost as much."""
    for index in range(1, len(standing) - 1):
        piece = standing[index]
        if index in chosen or index - 1 not in chosen or index + 1 not in chosen:
            continue
        if len(piece.text) <= _CHARS * mark and budget.count(piece.text) + 1 <= mark:
            chosen[index] = piece.text


_CHARS = 16
"""A token is rarely longer than this many characters."""


def _shortened(text: str, limit: int, budget: Budget) -> str:
    """The start of a piece, and how much of it is missing."""
    start = tokens.truncate(text, max(0, limit - _MARK), budget.encoding)
    return f"{start}…(+{len(text) - len(start)} chars)" if start else ""


_MARK = 8
"""Tokens of the mark after a piece that is cut."""


def _mark(count: int, unit: str) -> str:
    return f"… {count} {unit if count != 1 else unit.removesuffix('s')} …"


def _touching_ends(standing: list[Piece], chosen: dict[int, str], index: int, total: int) -> int:
    """How many ends of a piece touch shown text or an end of the source."""
    piece = standing[index]
    end = piece.order + piece.units
    before = index > 0 and index - 1 in chosen and _end(standing[index - 1]) == piece.order
    after = index + 1 < len(standing) and index + 1 in chosen and standing[index + 1].order == end
    return (before or piece.order <= 0) + (after or end >= total)


def _end(piece: Piece) -> float:
    return piece.order + piece.units


def _joined(standing: list[Piece], chosen: dict[int, str], unit: str, total: int) -> str:
    lines: list[str] = []
    position = 0
    for index in sorted(chosen):
        piece = standing[index]
        missing = int(piece.order) - position if piece.units else 0
        if unit and missing > 0:
            lines.append(_mark(missing, unit))
        lines.append(chosen[index])
        if piece.units:
            position = int(_end(piece))
    if unit and total > position and chosen:
        lines.append(_mark(total - position, unit))
    return "\n".join(lines)


def cut_line(line: str, limit: int) -> str:
    """A line as it is, with its indentation; or its start and how much is missing."""
    line = line.rstrip()
    return line if len(line) <= limit else f"{line[:limit]}…(+{len(line) - limit} chars)"


def line_cap(lines: int, budget: Budget, base: int) -> int:
    """How many characters of a line are shown: more than `base` if there are few lines."""
    return max(base, 4 * budget.limit // max(1, lines))


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters; says how many are missing."""
    flat = " ".join(text.split()) if len(text) <= 4 * limit else " ".join(text[: 4 * limit].split())
    if len(flat) <= limit and len(text) <= 4 * limit:
        return flat
    return f"{flat[:limit]}…(+{len(text) - limit} chars)"
