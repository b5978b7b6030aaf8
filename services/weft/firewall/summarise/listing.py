"""Names, one a line (`ls`, `find`, `grep -l`): how many of which kind, and as many as fit."""

from __future__ import annotations

import re
from collections import Counter

from weft.firewall.summarise.budget import Budget, Piece, compose

_LINE = 160
_LONG = re.compile(
    r"^[-dlcbps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\S+)\s+\S+\s+\S+\s+\S+\s+(.+)$"
)
_ENDING = re.compile(r"\.(\w{1,6})(?:[:\s]|$)")


def summarise_listing(text: str, budget: Budget) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    endings = Counter(m.group(1).lower() for line in lines if (m := _ENDING.search(line[-200:])))
    kinds = ", ".join(f".{ending} {n}" for ending, n in endings.most_common(8))
    told = f"listing: {len(lines)} lines" + (f"; {kinds}" if kinds else "")
    pieces = [Piece(-1, 100, told)]
    for number, line in enumerate(lines[:5_000]):
        long = _LONG.match(line[:400])
        shown = f"{long.group(2)}{'/' if line[0] == 'd' else ''} {long.group(1)}" if long else line
        pieces.append(Piece(number, 50 - number * 0.01, shown[:_LINE]))
    return compose(pieces, budget)
