"""Markdown as its headings, with under each what names something: links, code, numbers."""

from __future__ import annotations

import re

from weft.firewall.summarise.budget import Budget, Piece, compose, line_cap, shorten
from weft.firewall.summarise.prose import telling

_LINE = 260
"""Characters of a line that are shown."""
_MAX_LINES = 20_000
_HEADING = re.compile(r"(#{1,6}) +\S")
_NOISE = re.compile(
    r"^\W*$|^\s*(?:\[?!\[[^\]]{0,200}\]\([^)]{0,400}\)\]?(?:\([^)]{0,400}\))?\s*)+$"
)


def summarise_markdown(text: str, budget: Budget) -> str:
    lines = text.splitlines()[:_MAX_LINES]
    cap = line_cap(len(lines), budget, _LINE)
    pieces: list[Piece] = []
    since = 0
    fenced = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            since = 0
            worth = 90.0 - 4 * len(heading.group(1)) - number * 0.01
        elif not line.strip() or _NOISE.match(line[:600]):
            continue
        else:
            since += 1
            worth = 62.0 - 6 * min(since, 4) - number * 0.01 + telling(line[:_LINE])
        pieces.append(Piece(number, worth, shorten(line, cap)))
    return compose(pieces, budget, gap="") or budget.cut(text)
