"""How a manifest writes which parts of an item a prompt shows, so that they can be rendered again:
`0-3,7` for the parts 0, 1, 2, 3 and 7, `<40` for the first 40 tokens or so, and behind a `!` the
numbers of the outdated facts that are left out."""

from __future__ import annotations

from collections.abc import Iterable

OUTDATED = "!"


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3 and 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def numbers_in(written: str) -> frozenset[int]:
    """The inverse of `ranges`."""
    found: set[int] = set()
    for run in filter(None, written.split(",")):
        first, _, last = run.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def with_outdated(selector: str, outdated: Iterable[int]) -> str:
    """The selector of an item that is shown without these facts."""
    numbers = ranges(outdated)
    return f"{selector} {OUTDATED}{numbers}" if numbers else selector


def without_outdated(selector: str) -> str:
    """The selector without the outdated facts."""
    return selector.partition(OUTDATED)[0].rstrip()


def outdated_of(selector: str) -> tuple[int, ...]:
    """The numbers of the facts that are left out, in order."""
    return tuple(sorted(numbers_in(selector.partition(OUTDATED)[2])))
