"""Which of several derived events about the same thing counts: a pure function of earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec


class Derivation(msgspec.Struct, frozen=True):
    """One derived event that counts or counted, of one worker about one thing."""

    origin: int
    """Sequence of the source event."""
    run: str
    part: str
    """Distinguishes events of one source and run, such as two scopes."""
    version: int
    """Its own sequence."""


class Verdict(Enum):
    COUNTS = "counts"
    DUPLICATE = "duplicate"
    """The same source, run and part again."""
    LATE = "late"
    """An event that outranks it was folded before."""


def judge(new: Derivation, known: Iterable[Derivation]) -> tuple[Verdict, list[Derivation]]:
    """Whether `new` counts, and which known ones it supersedes from its own sequence on.

    Of one source, run and part the first counts. A newer source event about the same thing
    outranks an older; of one source a named run outranks live work (an empty name), and of two
    named runs the later in the log.
    """
    superseded = []
    for old in known:
        if (old.origin, old.run) == (new.origin, new.run):
            if old.part == new.part:
                return Verdict.DUPLICATE, []
            continue
        if old.origin > new.origin or (old.origin == new.origin and old.run and not new.run):
            return Verdict.LATE, []
        superseded.append(old)
    return Verdict.COUNTS, superseded
