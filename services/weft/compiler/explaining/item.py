"""The explanation of one item, read from the trace of a compile, so that the two agree."""

from __future__ import annotations

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
    pack, view = trace.made.pack, trace.state.view
    row = next(iter(view.by_ids([item_id])), None)
    turn, turns = (0, 0) if row is None else _turn_of(trace, row)
    entry = next((one for one in pack.entries if one.item_id == item_id), None)
    drop = next((one for one in pack.stats.dropped_items if one.item_id == item_id), None)
    reply = ExplainReply(
        item_id=item_id,
        included=entry is not None,
        candidate=entry is not None or drop is not None,
        reason="included" if entry is not None else "no candidate" if drop is None else drop.reason,
        detail="",
        sequence=pack.sequence,
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
    elif any(item.item_id == item_id for item in pack.pending):
        reply = msgspec.structs.replace(reply, reason="pending", detail="It has no envelope yet.")
    elif row is not None:
        reply = _with(reply, absent(trace, row).sentence)
    said = [reply.detail, *_turn_said(turn, turns), *_memory_said(trace, item_id)]
    return msgspec.structs.replace(reply, detail=" ".join(said))


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


def _turn_of(trace: Trace, row: ItemRow) -> tuple[int, int]:
    """The number of the user's turn to which an item belongs, from 1, 0 before the first; and how
    many there are. Documents stand before the message to which they belong."""
    view, at = trace.state.view, row.ordinal
    if row.kind is ItemKind.DOC_SNIPPET and (name := row.metadata.get("turn_id")):
        near = view.span(at, at + MAX_ATTACHED)
        turns = (one for one in near if one.kind is ItemKind.USER_TURN)
        at = next((one.ordinal for one in turns if one.metadata.get("turn_id") == name), at)
    asked = view.of_kind(ItemKind.USER_TURN, view.item_count())
    return sum(one.ordinal <= at for one in asked), len(asked)


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
