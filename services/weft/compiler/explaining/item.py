"""The explanation of one item, read from the trace of a compile, so that the two agree."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from weft.compiler.candidates.closure import Group
from weft.compiler.candidates.find import MAX_ATTACHED
from weft.compiler.compile import Trace
from weft.compiler.explaining.brought_in import reason_of
from weft.compiler.explaining.left_out import absent, lack_of
from weft.compiler.explaining.shortened import shown_as
from weft.compiler.rendering.memory import facts_told
from weft.readmodel.rows import ItemRow
from weft_schemas.compile import ExplainReply, PackEntry
from weft_schemas.items import ItemKind


def explanation(item_id: str, trace: Trace) -> ExplainReply:
    """Why the session's item is in the pack, or why it is not."""
    return Explanations(trace).of(item_id)


class Explanations:
    """Of the items of one compile. What all of them need is read once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        pack, view = trace.made.pack, trace.state.view
        self._entries = {one.item_id: one for one in pack.entries if one.item_id}
        self._drops = {one.item_id: one for one in pack.stats.dropped_items}
        self._pending = {one.item_id for one in pack.pending}
        asked = view.of_kind(ItemKind.USER_TURN, view.item_count())
        self._asked = sorted(one.ordinal for one in asked)

    def of(self, item_id: str) -> ExplainReply:
        """Why the session's item is in the pack, or why it is not."""
        trace = self.trace
        row = next(iter(trace.state.view.by_ids([item_id])), None)
        turn, turns = (0, 0) if row is None else (self._turn_of(row), len(self._asked))
        entry, drop = self._entries.get(item_id), self._drops.get(item_id)
        reply = ExplainReply(
            item_id=item_id,
            included=entry is not None,
            candidate=entry is not None or drop is not None,
            reason="included" if entry else drop.reason if drop else "no candidate",
            detail="",
            sequence=trace.made.pack.sequence,
            turn=turn if turns else msgspec.UNSET,
        )
        score = trace.made.scores.get(item_id)
        if score is not None:
            reply = msgspec.structs.replace(reply, scores={"score": score})
        if entry is not None:
            reply = _included(trace, reply, entry)
        elif drop is not None:
            lack = lack_of(trace, drop)
            reply = _with(reply, lack.sentence, lack.rank, lack.ranked)
        elif item_id in self._pending:
            said = "It has no envelope yet."
            reply = msgspec.structs.replace(reply, reason="pending", detail=said)
        elif row is not None:
            reply = _with(reply, absent(trace, row).sentence)
        sentences = [reply.detail, *_turn_said(turn, turns), *_memory_said(trace, item_id)]
        return msgspec.structs.replace(reply, detail=" ".join(sentences))

    def _turn_of(self, row: ItemRow) -> int:
        """The number of the user's turn to which an item belongs, from 1, 0 before the first.
        Documents stand before the message to which they belong."""
        at = row.ordinal
        if row.kind is ItemKind.DOC_SNIPPET and (name := row.metadata.get("turn_id")):
            near = self.trace.state.view.span(at, at + MAX_ATTACHED)
            turns = (one for one in near if one.kind is ItemKind.USER_TURN)
            at = next((one.ordinal for one in turns if one.metadata.get("turn_id") == name), at)
        return bisect_right(self._asked, at)


def _included(trace: Trace, reply: ExplainReply, entry: PackEntry) -> ExplainReply:
    group, row = _place(trace, entry.sequence)
    reason = reason_of(trace, group, row)
    said = f"{reason.sentence} {shown_as(trace, row, reason)}"
    made = _with(reply, said, reason.rank, reason.ranked)
    return msgspec.structs.replace(
        made, rule=str(reason.rule), signals=entry.signals or msgspec.UNSET
    )


def _with(reply: ExplainReply, said: str, rank: int = 0, ranked: int = 0) -> ExplainReply:
    return msgspec.structs.replace(
        reply,
        detail=said,
        rank=rank or msgspec.UNSET,
        ranked=ranked or msgspec.UNSET,
    )


def _place(trace: Trace, sequence: int) -> tuple[Group, ItemRow]:
    """The group of an item that is shown, and its row there."""
    return next(
        (group, row)
        for group in trace.state.groups
        for row in group.rows
        if row.sequence == sequence
    )


def _turn_said(turn: int, turns: int) -> list[str]:
    if not turns:
        return []
    if not turn:
        return ["It is from before the user's first message."]
    return [f"It is in turn {turn:,} of {turns:,}."]


def _memory_said(trace: Trace, item_id: str) -> list[str]:
    """What the memory at the top of the prompt tells from this item."""
    told = facts_told(trace.made.pack.entries, trace.state.view, item_id)
    if not told:
        return []
    what = "fact" if len(told) == 1 else "facts"
    return [f"The memory at the top of the prompt has its {what} {', '.join(told)}."]
