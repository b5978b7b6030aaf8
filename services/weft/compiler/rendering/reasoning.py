"""The reasoning that goes back to its provider with the calls of the open exchange.

It stands in no prompt; only the messages for its provider have it. It takes its share of the budget
before anything is chosen, the latest turn first. A call that cannot have its reasoning back is told
in words, since a provider that wants it refuses the call without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from weft.adapters.exchanges import is_verbatim
from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.rendering.chat_tokens import unbroken
from weft.compiler.rendering.counting import Count, reasoning_tokens
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.reasoning import Reasoning, clear_texts, reasoning_of

SHARE = 1 / 3
"""Of the budget, at most. What is signed is counted by its length, which is too much rather than
too little; so a larger share would seldom be used."""
NO_ROOM = "it takes more than its share of the budget"
FOREIGN_TOKENS = "a chat template's token stands in it"


class Carried(msgspec.Struct, frozen=True):
    """What goes back, by the sequences of the calls."""

    turns: tuple[tuple[int, ...], ...] = ()
    """Calls that were made at once."""
    reasoning: Mapping[int, Reasoning] = {}
    tokens: int = 0
    withheld: frozenset[int] = frozenset()
    """Calls whose reasoning cannot go back, with those of their turns."""


def carried(groups: Sequence[Group], budget: int, count: Count, ledger: Ledger) -> Carried:
    """Of the calls that the agent has not answered the user after. What is withheld is noted."""
    turns, reasoning, withheld, total = (
        list[tuple[int, ...]](),
        dict[int, Reasoning](),
        set[int](),
        0,
    )
    for turn in reversed(_turns(_open(groups))):
        found = {row.sequence: one for row in turn if (one := reasoning_of(row.metadata))}
        if not found:
            continue
        tokens = sum(reasoning_tokens(one, count) for one in found.values())
        reason = _reason(found.values()) or (NO_ROOM if total + tokens > budget * SHARE else "")
        if reason:
            withheld.update(row.sequence for row in turn)
            ledger.note(f"the reasoning before call {turn[0].id!r} does not go back: {reason}")
        else:
            turns.append(tuple(row.sequence for row in turn))
            reasoning |= found
            total += tokens
    return Carried(tuple(turns), reasoning, total, frozenset(withheld))


def attached(entries: Sequence[PackEntry], what: Carried) -> list[PackEntry]:
    """The entries with it, where a call stands as it was made. What stood before the calls of a
    turn stands before the first of them that is there."""
    shown = {one.sequence: at for at, one in enumerate(entries) if is_verbatim(one)}
    made = list(entries)
    for turn in what.turns:
        before = [
            block for at in turn if at in what.reasoning for block in what.reasoning[at].before
        ]
        for sequence in turn:
            if sequence not in shown:
                continue
            of_turn = next(what.reasoning[at] for at in turn if at in what.reasoning)
            own = what.reasoning.get(sequence)
            one = Reasoning(of_turn.format, tuple(before), own.call if own else {})
            before = []
            if one.before or one.call:
                at = shown[sequence]
                made[at] = msgspec.structs.replace(made[at], reasoning=one)
    return made


def _open(groups: Sequence[Group]) -> Sequence[Group]:
    """The exchanges since the latest user turn. A user who speaks before the calls are answered has
    not ended theirs: a provider takes what it is sent behind results for the same turn."""
    at = len(groups)
    while at and groups[at - 1].rows[0].kind is ItemKind.USER_TURN:
        at -= 1
    if at and not groups[at - 1].is_exchange:
        at = len(groups)
    while at and groups[at - 1].rows[0].kind is not ItemKind.USER_TURN:
        at -= 1
    return [group for group in groups[at:] if group.is_exchange]


def _turns(groups: Sequence[Group]) -> list[list[ItemRow]]:
    turns: dict[str, list[ItemRow]] = {}
    for group in groups:
        call = group.rows[0]
        turns.setdefault(str(call.metadata.get("turn_id") or call.id), []).append(call)
    return list(turns.values())


def _reason(found: Iterable[Reasoning]) -> str:
    """Why it cannot go back."""
    for one in found:
        if one.withheld:
            return one.withheld
        if any(unbroken(text) != text for text in clear_texts(one)):
            return FOREIGN_TOKENS
    return ""
