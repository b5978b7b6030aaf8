"""YAML, settings and XML by their keys: lines whose key names an identifier first, each line as it
stands."""

from __future__ import annotations

import re

from weft.firewall.leaves import key_worth, value_worth
from weft.firewall.summarise.budget import Budget, Piece, compose, line_cap

_LINE = 160
"""Characters of a line that are shown."""
_MAX_LINES = 2_500
"""Lines that are looked at: a later one is worth less than any of the first."""
_PAIR = re.compile(r"(\s*(?:- )?)[\"']?([\w./@ -]{1,60}?)[\"']?\s{0,4}[:=](?:\s+(.*))?\Z")
_ELEMENT = re.compile(r"(\s*)<([\w:.-]{1,60})([^<>]{0,400})/?>([^<]{0,400})")


def summarise_keyed(text: str, budget: Budget) -> str:
    pieces: list[Piece] = []
    seen: dict[str, int] = {}
    worths: dict[str, float] = {}
    lines = text.splitlines()[:_MAX_LINES]
    cap = line_cap(len(lines), budget, _LINE)
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        key, value, indent = _taken_apart(line)
        if key not in worths:
            worths[key] = key_worth((key,))
        worth = worths[key] + value_worth(value) if key else -0.5
        # The more often a key has stood, the less its next value tells; deep lines are details.
        count = seen[key] = seen.get(key, 0) + 1
        worth -= 0.12 * indent + 0.004 * number + 0.01 * count
        if line.lstrip().startswith("- ") and key:
            worth += 0.4
        pieces.append(Piece(number, worth, _shown(line, cap)))
    return compose(pieces, budget, gap="") or budget.cut(text)


def _taken_apart(line: str) -> tuple[str, str, int]:
    """Key, value and depth of a line; no key where it has none."""
    start = line[:600]
    pair = _PAIR.match(start)
    if pair is not None:
        value = (pair.group(3) or "").strip().strip("'\"")
        return pair.group(2), value, len(pair.group(1).expandtabs()) - pair.group(1).count("- ") * 2
    element = _ELEMENT.match(start)
    if element is not None:
        return (
            element.group(2),
            (element.group(4) or element.group(3)).strip(),
            len(element.group(1)),
        )
    return "", "", len(start) - len(start.lstrip())


def _shown(line: str, cap: int) -> str:
    plain = line.rstrip()
    return plain if len(plain) <= cap else f"{plain[:cap]}…(+{len(plain) - cap} chars)"
