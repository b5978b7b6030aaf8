"""The reasoning that goes back to its provider with the calls of the current turn. It is in no
prompt, only in the messages for its provider. Its share of the budget is reserved before anything
is chosen, the latest turn first. A call without its reasoning is told in words: its provider would
refuse the call.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from weft.adapters.call_results import is_verbatim
from weft.compiler.candidates.closure import Group
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import REASONING_SHARE
from weft.compiler.rendering.chat_tokens import break_chat_tokens
from weft.compiler.rendering.counting import Count, reasoning_tokens
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.reasoning import Reasoning, clear_texts, reasoning_of

NO_ROOM = "it takes more than its share of the budget"
FOREIGN_TOKENS = "a chat template's token stands in it"


class ReturnedReasoning(msgspec.Struct, frozen=True):
    """The reasoning that goes back, by the sequences of the calls."""

    turns: tuple[tuple[int, ...], ...] = ()
    """Calls that were made together."""
    reasoning: Mapping[int, Reasoning] = {}
    tokens: int = 0
    withheld: frozenset[int] = frozenset()
    """Calls whose reasoning cannot go back, and the others of their turns."""


def returned_reasoning(
    groups: Sequence[Group], budget: int, count: Count, ledger: Ledger
) -> ReturnedReasoning:
    """The reasoning of the calls after which the agent has not answered the user. What is withheld
    is noted."""
    turns, reasoning, withheld, total = (
        list[tuple[int, ...]](),
        dict[int, Reasoning](),
        set[int](),
        0,
    )
    for turn in reversed(_turns(_current_turn(groups))):
        found = {row.sequence: one for row in turn if (one := reasoning_of(row.metadata))}
        if not found:
            continue
        tokens = sum(reasoning_tokens(one, count) for one in found.values())
        reason = _reason(found.values()) or (
            NO_ROOM if total + tokens > budget * REASONING_SHARE else ""
        )
        if reason:
            withheld.update(row.sequence for row in turn)
            ledger.note(f"the reasoning before call {turn[0].id!r} does not go back: {reason}")
        else:
            turns.append(tuple(row.sequence for row in turn))
            reasoning |= found
            total += tokens
    return ReturnedReasoning(tuple(turns), reasoning, total, frozenset(withheld))


def with_reasoning(entries: Sequence[PackEntry], what: ReturnedReasoning) -> list[PackEntry]:
    """The entries with the reasoning, where a call is shown as it was made. What came before the
    calls of a turn is put before the first that is shown."""
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


def refused_calls(
    groups: Sequence[Group], shown: Container[int], what: ReturnedReasoning
) -> frozenset[int]:
    """The calls of the latest turn that is shown, if they have lost their reasoning and the agent
    says nothing after them: their provider takes them for the current turn, because all that
    came later is left out."""
    known = what.withheld.union(*what.turns)
    groups = [group for group in groups if group.key in shown]
    for group in reversed(groups):
        kind = group.rows[0].kind
        if kind is ItemKind.AGENT_MSG or group.key in known:
            break
        if group.is_call:
            turn = _turns([one for one in groups if one.is_call])[-1]
            lost = any(reasoning_of(row.metadata) for row in turn)
            return frozenset(row.sequence for row in turn) if lost else frozenset()
    return frozenset()


_OF_USERS = frozenset({ItemKind.USER_TURN, ItemKind.DOC_SNIPPET})
"""Kinds of what a user's message contains."""


def _current_turn(groups: Sequence[Group]) -> Sequence[Group]:
    """The calls since the latest user turn. A user message beside the results does not end a
    turn: a provider counts it to the same turn."""
    at = len(groups)
    while at and groups[at - 1].rows[0].kind in _OF_USERS:
        at -= 1
    if at and not groups[at - 1].is_call:
        at = len(groups)
    while at and groups[at - 1].rows[0].kind is not ItemKind.USER_TURN:
        at -= 1
    return [group for group in groups[at:] if group.is_call]


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
        if any(break_chat_tokens(text) != text for text in clear_texts(one)):
            return FOREIGN_TOKENS
    return ""
