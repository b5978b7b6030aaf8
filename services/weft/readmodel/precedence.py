"""Which of several derived events about the same thing counts. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Derivation(msgspec.Struct, frozen=True):
    """A derived event that counts or counted, by one worker about one thing."""

    origin: int
    """Sequence of the source event."""
    run: str
    part: str
    """Distinguishes events of one source and run, such as two scopes."""
    version: int
    """Its own sequence."""


def superseded_by(new: Derivation, known: Iterable[Derivation]) -> list[Derivation] | None:
    """The known events that `new` supersedes from its own sequence on; None if it does not count.

    Of several with the same source, run and part, the first counts. A newer source outranks an
    older one. For one source, a named run outranks live work (an empty name) and earlier named
    runs.
    """
    superseded = []
    for old in known:
        if (old.origin, old.run) == (new.origin, new.run):
            if old.part == new.part:
                return None
            continue
        if old.origin > new.origin or (old.origin == new.origin and old.run and not new.run):
            return None
        superseded.append(old)
    return superseded
