"""Compares two compiles of a session: what came, what went, what changed, and why."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.compiler.rendering.memory import FACTS
from weft.readmodel.view import SessionView
from weft_schemas.compile import ContextPack, PackEntry

CAME, WENT, CHANGED = "came", "went", "changed"
HEADER = "header"
"""The section of facts and episodes."""


class BlockChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block that differs between the two prompts."""

    item_id: str
    """For a header or the tools, the name of the block."""
    change: str
    """`came`, `went` or `changed`."""
    why: str
    before: str = ""
    """View in the first prompt, empty if it is not there."""
    after: str = ""


class CompileSummary(msgspec.Struct, frozen=True):
    """A short account of one of the two compiles."""

    id: str
    sequence: int
    policy_version: int
    prompt_tokens: int
    budget: int
    included: int
    dropped: dict[str, int]


class Difference(msgspec.Struct, frozen=True):
    session: str
    before: CompileSummary
    after: CompileSummary
    same: int
    """Number of blocks with the same text in both."""
    changes: tuple[BlockChange, ...]
    """In the order of the prompts: blocks of the second, then those that only the first had."""
    notes: tuple[str, ...] = ()
    """What neither side can show."""


def difference(
    before: ContextPack, after: ContextPack, was: SessionView, now: SessionView
) -> Difference:
    """How the second pack differs from the first. They were compiled from the views `was` and
    `now`."""
    shown, earlier = _by_name(after.entries), _by_name(before.entries)
    changes = []
    for name, entry in shown.items():
        old = earlier.get(name)
        if old is None:
            why = _why_came(entry, before, was, now)
            changes.append(BlockChange(name, CAME, why, "", entry.view))
        elif old.text != entry.text:
            why = _why_changed(old, entry, was, now)
            changes.append(BlockChange(name, CHANGED, why, old.view, entry.view))
    for name, entry in earlier.items():
        if name not in shown:
            changes.append(BlockChange(name, WENT, _why_went(entry, after, now), entry.view))
    altered = sum(change.change != WENT for change in changes)
    return Difference(
        after.session, _side(before), _side(after), len(shown) - altered, tuple(changes)
    )


def _by_name(entries: Iterable[PackEntry]) -> dict[str, PackEntry]:
    """The view of a header also lists its content, which is not part of its name."""
    return {entry.item_id or entry.view.partition(" ")[0]: entry for entry in entries}


def _side(pack: ContextPack) -> CompileSummary:
    stats = pack.stats
    return CompileSummary(
        id=pack.id,
        sequence=pack.sequence,
        policy_version=pack.policy_version,
        prompt_tokens=stats.prompt_tokens,
        budget=stats.budget,
        included=stats.included_count,
        dropped=stats.dropped_reasons,
    )


def _why_came(entry: PackEntry, before: ContextPack, was: SessionView, now: SessionView) -> str:
    name = entry.item_id
    if entry.section == HEADER:
        return "the first had no room for it" if _remembers(entry, was) else "remembered since"
    if not name:
        return "made from the request"
    if any(item.item_id == name for item in before.pending):
        row = next(iter(now.by_ids([name])), None)
        event = f", event {row.version}" if row is not None and not row.pending else ""
        return f"its envelope had not come yet{event}"
    drop = _drop(name, before)
    if drop:
        return f"the first dropped it: {drop}"
    if not was.by_ids([name]):
        return f"published later, event {now.by_ids([name])[0].sequence}"
    return "no candidate in the first: neither pinned, recent, nor a match"


def _why_went(entry: PackEntry, after: ContextPack, now: SessionView) -> str:
    name = entry.item_id
    if entry.section == HEADER and not _remembers(entry, now):
        return "nothing was remembered at that sequence"
    if not name:
        return "no room for it within the budget and the policy"
    if any(item.item_id == name for item in after.pending):
        return "its envelope has not come yet"
    drop = _drop(name, after)
    if drop:
        return drop
    if not now.by_ids([name]):
        return "not in the log at that sequence"
    return "no candidate any more: neither pinned, recent, nor a match"


def _why_changed(old: PackEntry, new: PackEntry, was: SessionView, now: SessionView) -> str:
    name = new.item_id
    if new.section == HEADER:
        return f"other {new.view.partition(' ')[0]} are shown, or other values"
    before, after = was.by_ids([name]), now.by_ids([name])
    if before and after and before[0].version != after[0].version:
        return f"derived again: its text is that of event {after[0].version}"
    if before and after and before[0].summary_version != after[0].summary_version:
        return f"summarised again by event {after[0].summary_version}"
    if old.view != new.view:
        return f"shown as {new.view} instead of {old.view}"
    return "another part of it is shown"


def _remembers(header: PackEntry, view: SessionView) -> bool:
    """Whether there is any fact or episode for this header."""
    if header.view.startswith(FACTS):
        return any(fact.value for fact in view.facts(view.scopes()))
    return bool(view.episodes(view.scopes(), 1))


def _drop(name: str, pack: ContextPack) -> str:
    for drop in pack.stats.dropped_items:
        if drop.item_id == name:
            return f"{drop.reason} ({drop.detail})" if drop.detail else drop.reason
    return ""
