"""Says of a recorded compile why each item is in its prompt, or why not.

The record says what was shown. What was left out is not recorded: the selection runs again and
says it, over a view at the same sequence."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from weft.audit.missing_records import MissingRecords, missing_of
from weft.compiler.compile import traced_compile, within_scopes
from weft.compiler.explaining.item import Explanations
from weft.compiler.pack import CODE_VERSION
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, ExplainReply, ManifestEntry
from weft_schemas.errors import NotFound


class ExplainedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why one item was shown, or was not."""

    item_id: str
    included: bool
    reason: str
    """`included`, `pending`, `no candidate`, or a reason of `BuildStats.dropped_reasons`."""
    detail: str
    sequence: int = 0
    score: float | None = None
    rule: str = ""
    """What brought it in, one of `weft_schemas.compile.RULES`; empty if it is not shown."""
    turn: int | None = None
    """The number of the user's turn to which it belongs, from 1; 0 before the first."""
    rank: int = 0
    """By worth per token, from 1, if it competed for the rest of the budget."""
    ranked: int = 0
    """How many competed."""


class ExplainedCompile(msgspec.Struct, frozen=True):
    """A recorded compile and its items: those shown in the prompt's order, then those left out, and
    those that were no candidates if they are wanted."""

    id: str
    session: str
    sequence: int
    """Of the read model, at the time of the compile."""
    phase: str
    query: str
    policy_version: int
    items: tuple[ExplainedItem, ...]
    others: int
    """Items of the session that were no candidates and are not listed."""
    notes: tuple[str, ...] = ()
    """Why the reasons may not be those of that time."""


def explain_compile(
    audit: CompileAudit,
    view: SessionView,
    *,
    key: bytes = b"",
    base: CompileAudit | None = None,
    gone: MissingRecords | None = None,
    item: str | None = None,
    everything: bool = False,
) -> ExplainedCompile:
    """Explain the items that a compile considered, with `everything` also those that were no
    candidates, or one item. `key`, `base` and `gone` are as for `reproduce`.

    Raises `NotFound` for an erased session, and for an item that it did not have.
    """
    gone = gone or MissingRecords()
    if gone.tombstone:
        raise NotFound(f"session {audit.session!r} was erased by event {gone.tombstone}")
    trace = traced_compile(within_scopes(view, audit.request), audit.request, key=key, base=base)
    again = Explanations(trace)
    found = {
        one.item_id: one for one in (*_manifest_items(audit, again), *_left_out(audit, again, view))
    }
    if item is not None and item not in found:
        found[item] = _no_candidate(item, again, view)
    if everything:
        found |= _others(again, view, known=found)
    items = tuple(found.values()) if item is None else (found[item],)
    return ExplainedCompile(
        id=audit.id,
        session=audit.session,
        sequence=audit.sequence,
        phase=str(audit.request.phase),
        query=audit.request.query,
        policy_version=audit.policy_version,
        items=items,
        others=max(0, view.item_count() - len(found)),
        notes=_notes(audit, again, view, gone),
    )


def _manifest_items(audit: CompileAudit, again: Explanations) -> list[ExplainedItem]:
    """What the manifest names. What brought an item in is known if it is selected again."""
    return [_shown(one, again) for one in audit.manifest if one.item_id]


def _shown(one: ManifestEntry, again: Explanations) -> ExplainedItem:
    reply = again.of(one.item_id)
    if not reply.included:
        view = one.view.partition(" ")[0]
        said = f"The record shows it as {view}; this release would not choose it: {reply.detail}"
        return ExplainedItem(one.item_id, True, "included", said, one.sequence)
    return _explained(reply, one.sequence)


def _left_out(audit: CompileAudit, again: Explanations, view: SessionView) -> list[ExplainedItem]:
    """What was pending, as recorded, and what is dropped again."""
    shown = {one.item_id for one in audit.manifest}
    pending = [one.item_id for one in audit.pending if one.item_id]
    dropped = [one.item_id for one in again.trace.made.pack.stats.dropped_items]
    names = [one for one in dict.fromkeys((*pending, *dropped)) if one not in shown]
    places = {row.id: row.sequence for row in view.by_ids(names)}
    return [_not_shown(one, again, places.get(one, 0)) for one in names]


def _others(
    again: Explanations, view: SessionView, known: Mapping[str, ExplainedItem]
) -> dict[str, ExplainedItem]:
    """Every other item of the session, the oldest first."""
    rows = reversed(view.recent(view.item_count()))
    return {row.id: _not_shown(row.id, again, row.sequence) for row in rows if row.id not in known}


def _no_candidate(item: str, again: Explanations, view: SessionView) -> ExplainedItem:
    for row in view.by_ids([item]):
        return _not_shown(item, again, row.sequence)
    raise NotFound(
        f"session {view.session!r} has no item {item!r} at or before sequence {view.sequence}; see "
        "its items with `weft events`"
    )


def _not_shown(item: str, again: Explanations, sequence: int) -> ExplainedItem:
    """What the record does not show."""
    reply = again.of(item)
    if not reply.included:
        return _explained(reply, sequence)
    said = "The record does not name it; this release would show it."
    score = reply.scores.get("score")
    return ExplainedItem(item, False, "no candidate", said, sequence, score)


def _explained(reply: ExplainReply, sequence: int) -> ExplainedItem:
    return ExplainedItem(
        reply.item_id,
        reply.included,
        reply.reason,
        reply.detail,
        sequence,
        reply.scores.get("score"),
        reply.rule or "",
        reply.turn if isinstance(reply.turn, int) else None,
        reply.rank or 0,
        reply.ranked or 0,
    )


def _notes(
    audit: CompileAudit, again: Explanations, view: SessionView, gone: MissingRecords
) -> tuple[str, ...]:
    missing = missing_of(audit, view, gone)
    if missing:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        return (f"the reasons are of what the log still holds: {missing[0]}{more}",)
    if audit.code_version != CODE_VERSION:
        return (
            f"it was selected by code {audit.code_version}, this release is {CODE_VERSION}: why "
            "items were left out is what this release says",
        )
    if again.trace.made.pack.digest != audit.digest:
        return (
            "the prompt is not the same again, so why items were left out may have been otherwise; "
            f"`weft reproduce {audit.id}` says where it differs",
        )
    return ()
