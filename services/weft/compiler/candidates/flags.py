"""The guards' signals for the items of a session. An agent's message that repeats a flagged result
is trusted as little as that result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.readmodel.rows import ItemRow
from weft.readmodel.view import SessionView
from weft.shingles import shingles
from weft_schemas.envelope import Signal
from weft_schemas.items import ItemKind
from weft_schemas.policy import FirewallRules, SignalAction, action_on

INJECTION = "injection"
MAX_COMPARED = 32
"""Newest flagged items with which others are compared."""
_REPEATING = frozenset({ItemKind.AGENT_MSG, ItemKind.PLAN_STATE, ItemKind.MEMORY_FACT})
"""Kinds in which an agent repeats what it read."""

Flags = Mapping[int, tuple[Signal, ...]]
"""By sequence; only items with signals."""


def flags_among(view: SessionView, groups: Iterable[Group]) -> Flags:
    """The signals of these groups' items."""
    known = view.flags()
    flagged = [at for at, signals in known.items() if is_flagged(signals)]
    read = [
        (shingles(row.whole), known[row.sequence]) for row in view.rows(flagged[-MAX_COMPARED:])
    ]
    found = {}
    for group in groups:
        for row in group.rows:
            signals = row.envelope.signals if row.envelope else known.get(row.sequence, ())
            if read and row.kind in _REPEATING:
                signals = (*signals, *_repeated_signals(row, read))
            if signals:
                found[row.sequence] = signals
    return found


def is_flagged(signals: Iterable[Signal]) -> bool:
    """Whether a text in the item addresses a model."""
    return any(signal.kind == INJECTION for signal in signals)


def _repeated_signals(
    row: ItemRow, read: Iterable[tuple[frozenset[str], tuple[Signal, ...]]]
) -> Iterable[Signal]:
    """The signals of the flagged items that share a run of words with it, each once."""
    words = shingles(row.whole)
    found: dict[str, Signal] = {}
    for of_flagged, signals in read:
        if words.isdisjoint(of_flagged):
            continue
        for signal in signals:
            if signal.kind == INJECTION:
                detail = f"repeats another item, which {signal.detail}"
                repeated = msgspec.structs.replace(signal, detail=detail)
                found.setdefault(signal.name, repeated)
    return found.values()


def apply_actions(
    groups: Iterable[Group], flags: Flags, rules: FirewallRules, ledger: Ledger
) -> tuple[tuple[Group, ...], frozenset[int]]:
    """Groups without those that the policy drops for their signals, and the sequences of those that
    it redacts."""
    groups = tuple(groups)
    if not rules.actions or not flags:
        return groups, frozenset()
    actions = {at: action_on(rules, signals) for at, signals in flags.items()}
    kept = []
    for group in groups:
        dropped = [row for row in group.rows if actions.get(row.sequence) is SignalAction.DROP]
        for row in dropped:
            ledger.drop([row], "flagged", reasons_of(flags[row.sequence]))
        if dropped:
            ledger.drop(group.rows, "orphan", "its call or result is dropped for what it says")
        else:
            kept.append(group)
    redacted = {at for at, action in actions.items() if action is SignalAction.REDACT}
    return tuple(kept), frozenset(
        row.sequence for group in kept for row in group.rows if row.sequence in redacted
    )


def reasons_of(signals: Iterable[Signal]) -> str:
    """The reasons in words, each once; for signals that are not about addressing a model, their
    names."""
    reasons = []
    for signal in signals:
        speaks = signal.kind == INJECTION and signal.detail
        reasons.append(signal.detail if speaks else f"{signal.kind} {signal.name}")
    return "; ".join(dict.fromkeys(reasons))
