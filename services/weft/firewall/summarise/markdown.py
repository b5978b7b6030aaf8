"""Markdown by its unchanged paragraphs, the first of a section under its heading. Those that name
something (links, code, numbers) come first; gaps between them are counted."""

from __future__ import annotations

import re

import msgspec

from weft.firewall.summarise.budget import Budget, Piece, compose, cut_line, line_cap
from weft.firewall.summarise.prose import specificity

_LINE = 260
"""Characters of a line that are shown."""
_LINES = 4
"""Lines of a paragraph that are chosen together; a longer one is chosen in parts."""
_MAX_LINES = 20_000
_HEADING = re.compile(r"(#{1,6}) +\S")
_NOISE = re.compile(
    r"^\W*$|^\s*(?:\[?!\[[^\]]{0,200}\]\([^)]{0,400}\)\]?(?:\([^)]{0,400}\))?\s*)+$"
)
_NOTHING = -20.0
"""Value of rules, badges and pictures."""


class _Block(msgspec.Struct):
    """Lines that are shown together."""

    first: int
    last: int
    level: int
    """Level of the heading with which it begins; 0 if there is none."""
    since: int
    """Number of blocks before it in its section."""
    headings_only: bool = True
    """So far; whatever comes next belongs to them."""


def summarise_markdown(text: str, budget: Budget) -> str:
    every = text.splitlines()
    lines = every[:_MAX_LINES]
    cap = line_cap(len(lines), budget, _LINE)
    blocks = _blocks(lines)
    ends = [block.first for block in blocks[1:]] + [len(lines)]
    pieces: list[Piece] = []
    for block, end in zip(blocks, ends, strict=True):
        shown = [cut_line(line, cap) for line in lines[block.first : block.last + 1]]
        # Blank lines after a block do not count as missing.
        units = end - block.first
        pieces.append(Piece(block.first, _worth(block, shown), "\n".join(shown), units))
    if pieces and pieces[0].order > 0:
        first = pieces[0]
        pieces[0] = Piece(0, first.worth, first.text, first.units + int(first.order))
    return compose(pieces, budget, "lines", len(every)) or budget.cut(text)


def _blocks(lines: list[str]) -> list[_Block]:
    blocks: list[_Block] = []
    open_block: _Block | None = None
    fenced, since = False, 0
    for number, line in enumerate(lines):
        heading = None if fenced else _HEADING.match(line)
        if line.lstrip().startswith("```"):
            fenced = not fenced
        only = open_block is not None and open_block.level and open_block.headings_only
        if heading is not None and only and open_block is not None:
            open_block.last = number
        elif heading is not None:
            since = 0
            open_block = _Block(number, number, len(heading.group(1)), 0)
            blocks.append(open_block)
        elif not line.strip():
            # A heading keeps the paragraph below it.
            if open_block is not None and not (open_block.level and open_block.headings_only):
                open_block = None
        elif open_block is not None and number - open_block.first < _LINES + bool(open_block.level):
            open_block.last = number
            open_block.headings_only = False
        else:
            since += 1
            open_block = _Block(number, number, 0, since)
            blocks.append(open_block)
    return blocks


def _worth(block: _Block, shown: list[str]) -> float:
    if block.first == 0:
        return 95.0
    if block.level:
        return 90.0 - 4 * block.level - block.first * 0.01
    if all(_NOISE.match(line[:600]) for line in shown):
        return _NOTHING
    return 62.0 - 6 * min(block.since, 4) - block.first * 0.01 + specificity(shown[0])
