"""Names, one per line (`ls`, `find`, `grep -l`): how many of each kind, and as many lines as fit
from the start, together with the last one."""

from __future__ import annotations

import re
from collections import Counter

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line

_LINE = 160
"""Characters of a line that are shown."""
_MAX_LINES = 5_000
_ENDING = re.compile(r"\.(\w{1,6})(?:[:\s]|$)")


def summarise_listing(text: str, budget: Budget) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    endings = Counter(m.group(1).lower() for line in lines if (m := _ENDING.search(line[-200:])))
    kinds = ", ".join(f".{ending} {n}" for ending, n in endings.most_common(8))
    heading = f"listing: {len(lines)} lines" + (f"; {kinds}" if kinds else "")
    pieces = [Piece(-1, 100, heading, 0)]
    for number, line in enumerate(lines[:_MAX_LINES]):
        pieces.append(Piece(number, 50 - number * 0.01, cut_line(line, _LINE)))
    if len(lines) > 1:
        last = Piece(len(lines) - 1, 60, cut_line(lines[-1], _LINE))
        pieces = [*(piece for piece in pieces if piece.order != last.order), last]
    return compose(pieces, budget, "lines", len(lines))
