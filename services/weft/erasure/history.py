"""The erasures of a log, from their records: which events each named, what its receipts count, and
whether it is finished. Pure: takes the tenants' own events in order."""

from __future__ import annotations

import shlex
from collections import defaultdict
from math import inf
from typing import NamedTuple

import msgspec

from weft.erasure.sequence_runs import Run, merged, size
from weft_schemas.events import (
    ErasedEvent,
    ErasingEvent,
    ErasureReceiptEvent,
    Event,
    ScopeErasedEvent,
)


class Target(NamedTuple):
    """What is erased: a session, a scope, or the whole tenant if both are null."""

    tenant: str
    session: str | None = None
    scope: str | None = None

    def __str__(self) -> str:
        if self.scope is not None:
            return f"scope {self.scope!r} of tenant {self.tenant!r}"
        if self.session is not None:
            return f"session {self.session!r} of tenant {self.tenant!r}"
        return f"tenant {self.tenant!r}"

    @property
    def command(self) -> str:
        """The command that erases it, and finishes an erasure that was interrupted."""
        words = ["weft", "erase"]
        if self.scope is not None:
            words += ["--scope", self.scope]
        elif self.session is not None:
            words += ["--session", self.session]
        return shlex.join([*words, "--tenant", self.tenant])


class _Tombstone(NamedTuple):
    sequence: int
    events: int
    """Its events in the log at that time, as earlier releases counted them; else 0."""


class _Receipt(NamedTuple):
    sequence: int
    events: int
    """How many it counts."""


class TargetHistory(msgspec.Struct):
    """What is known of the erasure of one target, over all its runs."""

    tombstones: list[_Tombstone] = []
    named: list[tuple[int, Run]] = []
    """Sequence of the record, and a run that it names."""
    receipts: list[_Receipt] = []

    def runs(self) -> list[Run]:
        """All that it has named, merged."""
        return merged(run for _, run in self.named)

    def uncounted(self) -> int:
        """How many of the events that it has named no receipt counts yet."""
        return max(0, size(self.runs()) - sum(one.events for one in self._receipts(named=True)))

    def counted_only(self) -> list[tuple[int, int]]:
        """Events that it removed without naming them: the sequence before which they were, and how
        many. Earlier releases counted them in receipts, or in the tombstone of an erasure that a
        later release finished."""
        receipts: list[tuple[int, int]] = [*self._receipts(named=False)]
        if not self.named:
            return receipts
        largest = max(self.tombstones, key=lambda one: one.events)
        named = merged((run[0], min(run[1], largest.sequence - 1)) for _, run in self.named)
        left = largest.events - size(named) - sum(events for _, events in receipts)
        return [*receipts, (largest.sequence, max(0, left))]

    def _receipts(self, *, named: bool) -> list[_Receipt]:
        """Those of runs that named what they deleted, or of those before that did not."""
        first = min((at for at, _ in self.named), default=inf)
        return [one for one in self.receipts if (one.sequence > first) is named]

    def began(self) -> int:
        """The sequence of its latest tombstone or of what it named last."""
        latest = max((one.sequence for one in self.tombstones), default=0)
        return max(latest, max((at for at, _ in self.named), default=0))

    def finished(self) -> int:
        """The sequence of its latest receipt, 0 without one."""
        return max((one.sequence for one in self.receipts), default=0)


class ErasureHistory:
    """The histories of all targets. A record that does not fit its tombstone accounts for
    nothing: one of another tenant, or one that names what came after it."""

    def __init__(self) -> None:
        self.of: defaultdict[Target, TargetHistory] = defaultdict(TargetHistory)
        self._targets: dict[tuple[str, int], Target] = {}
        """By tenant and tombstone."""

    def take(self, tenant: str, sequence: int, event: Event) -> None:
        """Take the next of the tenants' own events; others than records of erasures are ignored."""
        match event:
            case ErasedEvent():
                counted = event.events if isinstance(event.events, int) else 0
                self._bury(Target(tenant, event.session), sequence, max(0, counted))
            case ScopeErasedEvent():
                self._bury(Target(tenant, None, event.scope), sequence, 0)
            case ErasingEvent():
                target = self._targets.get((tenant, event.tombstone_sequence))
                if target is not None:
                    runs = ((first, min(last, sequence - 1)) for first, last in event.sequences)
                    self.of[target].named += [(sequence, run) for run in runs]
            case ErasureReceiptEvent():
                target = self._targets.get((tenant, event.tombstone_sequence))
                if target is not None:
                    # A receipt may say anything, but it brings no message back.
                    removed = max(0, event.removed.get("events", 0))
                    self.of[target].receipts.append(_Receipt(sequence, removed))

    def _bury(self, target: Target, sequence: int, events: int) -> None:
        self._targets[target.tenant, sequence] = target
        self.of[target].tombstones.append(_Tombstone(sequence, events))

    def named(self) -> list[Run]:
        """All that any erasure has named, merged."""
        return merged(run for one in self.of.values() for _, run in one.named)

    def of_scopes(self, tenant: str) -> list[Target]:
        """The scopes of a tenant of which something was erased."""
        return [
            target
            for target, one in self.of.items()
            if target.tenant == tenant and target.scope is not None and one.named
        ]

    def of_session(self, tenant: str, session: str) -> Target | None:
        """The erasure of a session, or of its whole tenant; None if there was none."""
        for target in (Target(tenant, session), Target(tenant)):
            if target in self.of:
                return target
        return None

    def counted_only(self) -> list[tuple[int, int]]:
        """Events that erasures removed without naming them, in order: the sequence before which
        they were, and how many."""
        return sorted(one for target in self.of.values() for one in target.counted_only())

    def unfinished(self) -> list[Target]:
        """Targets without a receipt after their latest records, of their own or of their
        tenant."""
        return [
            target
            for target, one in self.of.items()
            if max(one.finished(), self._finished(target.tenant)) < one.began()
        ]

    def _finished(self, tenant: str) -> int:
        whole = self.of.get(Target(tenant))
        return whole.finished() if whole is not None else 0
