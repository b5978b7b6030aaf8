"""Says of a recorded compile why each item is in its prompt, or why not.

The record says what was shown. What was left out is not recorded: the selection runs again and
says it, over a view at the same sequence."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from weft.audit.missing_records import MissingRecords, missing_of
from weft.compiler.attempt import explanation
from weft.compiler.compile import Compilation, compile_pack, within_scopes
from weft.compiler.pack import CODE_VERSION
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit
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
    again = compile_pack(within_scopes(view, audit.request), audit.request, key=key, base=base)
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


def _manifest_items(audit: CompileAudit, again: Compilation) -> list[ExplainedItem]:
    """What the manifest names. The section of an item is known if it is selected again."""
    sections = {one.item_id: f"in section {one.section}, " for one in again.pack.entries}
    return [
        ExplainedItem(
            one.item_id,
            True,
            "included",
            f"{sections.get(one.item_id, '')}shown as {one.view.partition(' ')[0]}",
            one.sequence,
            again.scores.get(one.item_id),
        )
        for one in audit.manifest
        if one.item_id
    ]


def _left_out(audit: CompileAudit, again: Compilation, view: SessionView) -> list[ExplainedItem]:
    """What was pending, as recorded, and what is dropped again."""
    shown = {one.item_id for one in audit.manifest}
    pending = [one.item_id for one in audit.pending if one.item_id]
    dropped = [one.item_id for one in again.pack.stats.dropped_items]
    names = [one for one in dict.fromkeys((*pending, *dropped)) if one not in shown]
    places = {row.id: row.sequence for row in view.by_ids(names)}
    return [_explained(one, again, places.get(one, 0)) for one in names]


def _others(
    again: Compilation, view: SessionView, known: Mapping[str, ExplainedItem]
) -> dict[str, ExplainedItem]:
    """Every other item of the session, the oldest first."""
    rows = reversed(view.recent(view.item_count()))
    return {row.id: _explained(row.id, again, row.sequence) for row in rows if row.id not in known}


def _no_candidate(item: str, again: Compilation, view: SessionView) -> ExplainedItem:
    for row in view.by_ids([item]):
        return _explained(item, again, row.sequence)
    raise NotFound(
        f"session {view.session!r} has no item {item!r} at or before sequence {view.sequence}; see "
        "its items with `weft events`"
    )


def _explained(item: str, again: Compilation, sequence: int) -> ExplainedItem:
    reply = explanation(item, again)
    included = reply.included  # by this release, and not at that time
    return ExplainedItem(
        item,
        False,
        "no candidate" if included else reply.reason,
        "the record does not name it; this release would show it" if included else reply.detail,
        sequence,
        reply.scores.get("score"),
    )


def _notes(
    audit: CompileAudit, again: Compilation, view: SessionView, gone: MissingRecords
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
    if again.pack.digest != audit.digest:
        return (
            "the prompt is not the same again, so why items were left out may have been otherwise; "
            f"`weft reproduce {audit.id}` says where it differs",
        )
    return ()
