"""Compiles the recorded requests of one session again, under the policy they had and under another.

It is a pure function of the session's records, so any process can take any session."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from weft.audit.difference import difference
from weft.audit.grounding import grounded, sources_of
from weft.audit.history import fresh_model
from weft.audit.missing_records import MissingRecords, missing_of
from weft.audit.reproduce import differing_by_key
from weft.compiler.compile import Compilation, compile_pack
from weft.compiler.pack import CODE_VERSION
from weft.compiler.rendering.prompt import RENDER_VERSION
from weft.log.record import LogRecord
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileAudit, ContextPack
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import ContextPolicy, Phase


class Tally(msgspec.Struct):
    """Results of compiles, as sums, so that those of several sessions can be added."""

    compiles: int = 0
    tokens: int = 0
    """Of all prompts."""
    included: int = 0
    dropped: dict[str, int] = {}
    """Reason → items."""
    values: int = 0
    """Argument values of the next calls, as far as the session had stated them before."""
    grounded: int = 0
    """How many of these values the context showed."""
    followed: int = 0
    """Compiles that followed another one of the same session and phase."""
    stability: float = 0.0
    """Sum over these compiles: the share of the earlier prompt with which the later one begins."""

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name in ("compiles", "tokens", "included", "values", "grounded", "followed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.stability += other.stability
        self.dropped = dict(Counter(self.dropped) + Counter(other.dropped))

    def summary(self) -> dict[str, Any]:
        """The sums as shares and means; null if nothing was counted."""
        return {
            "compiles": self.compiles,
            "tokens": self.tokens,
            "tokens_mean": _share(self.tokens, self.compiles, 1),
            "included": self.included,
            "dropped": dict(sorted(self.dropped.items())),
            "grounding": _share(self.grounded, self.values, 4),
            "values": self.values,
            "prefix_stability": _share(self.stability, self.followed, 4),
        }


class ChangedCompile(msgspec.Struct, frozen=True):
    """One compile whose result differs under the other policy."""

    id: str
    phase: str
    came: tuple[str, ...]
    went: tuple[str, ...]
    changed: tuple[str, ...]
    tokens: tuple[int, int]
    """As recorded, and under the other policy."""


class SessionResult(msgspec.Struct):
    """All recorded compiles of one session, both ways."""

    session: str
    recorded: Tally
    proposed: Tally
    altered: list[ChangedCompile]
    unlike: list[str]
    """Ids of compiles that now select something else than was recorded, although policy, versions
    and key are the same. They are compared with what is selected now."""
    other_key: list[str]
    """Ids of compiles that were recorded under another WEFT_FINGERPRINT_KEY: the same blocks, of
    which only those differ that the key is in."""
    missing: int = 0
    """Compiles that showed what the log does not hold any more. They are not made again."""


class BacktestTask(msgspec.Struct, frozen=True):
    """What one process needs for one session."""

    session: str
    audits: tuple[CompileAudit, ...]
    """Of one tenant, in the order in which they were recorded."""
    records: tuple[LogRecord, ...]
    """Everything that its compiles could read, and the session's later items, in order."""
    policy: ContextPolicy
    key: bytes
    through: int
    bases: tuple[CompileAudit, ...] = ()
    """Recorded compiles of the session that others name in `stable_from`."""
    gone: MissingRecords = MissingRecords()
    stored: dict[str, bytes] = {}
    """Bodies in the object store that the records' envelopes show, by their SHA-256."""


def backtest(task: BacktestTask) -> SessionResult:
    """Compile every recorded request of the task under its own policy and under the other one."""
    result = SessionResult(task.session, Tally(), Tally(), [], [], [])
    bases = _Bases({audit.id: audit for audit in (*task.bases, *task.audits)}, {})
    items = items_of(task.session, task.records)
    earlier: dict[tuple[Phase, bool], str] = {}
    for encoding in dict.fromkeys(audit.encoding for audit in task.audits):
        model = fresh_model(task.records, task.through, encoding, task.stored)
        for audit in task.audits:
            if audit.encoding == encoding:
                view = model.view(audit.tenant, task.session, audit.sequence)
                if not view.item_count() or missing_of(audit, view, task.gone):
                    result.missing += 1
                else:
                    _one(audit, view, task, bases, items, earlier, result)
        model.close()
    return result


class _Bases(msgspec.Struct):
    """Compiles by recorded id, for `stable_from`: as they were, and as the other policy made them.
    So each policy continues from its own prompts."""

    recorded: dict[str, CompileAudit]
    proposed: dict[str, CompileAudit]


def _one(
    audit: CompileAudit,
    view: SessionView,
    task: BacktestTask,
    bases: _Bases,
    items: Sequence[tuple[int, ContextItem]],
    earlier: dict[tuple[Phase, bool], str],
    result: SessionResult,
) -> None:
    own, stable = audit.request, audit.request.stable_from or ""
    base = bases.recorded.get(stable)
    was = compile_pack(view, own, key=task.key, base=base)
    proposed = msgspec.structs.replace(own, policy=task.policy)
    base = bases.proposed.get(stable, base)
    made = compile_pack(view, proposed, key=task.key, base=base)
    bases.proposed[audit.id] = made.audit
    packs = (was.pack, made.pack)
    if packs[0].digest != audit.digest and _is_of_this_release(audit):
        (result.other_key if _has_other_key(audit, was) else result.unlike).append(audit.id)
    for pack, tally, other in (
        (packs[0], result.recorded, False),
        (packs[1], result.proposed, True),
    ):
        tally.add(_tally(pack, items, earlier.get((pack.phase, other))))
        earlier[pack.phase, other] = pack.prompt
    if packs[0].prompt != packs[1].prompt:
        result.altered.append(_altered(audit.id, packs[0], packs[1], view))


def _is_of_this_release(audit: CompileAudit) -> bool:
    return (audit.code_version, audit.render_version) == (CODE_VERSION, RENDER_VERSION)


def _has_other_key(audit: CompileAudit, made: Compilation) -> bool:
    was, now = (
        [(one.item_id, one.view) for one in manifest]
        for manifest in (audit.manifest, made.audit.manifest)
    )
    return was == now and bool(differing_by_key(audit.manifest, made.pack.entries))


def _tally(
    pack: ContextPack, items: Sequence[tuple[int, ContextItem]], previous: str | None
) -> Tally:
    values, grounded = _grounding(pack, items)
    return Tally(
        compiles=1,
        tokens=pack.stats.prompt_tokens,
        included=pack.stats.included_count,
        dropped=dict(pack.stats.dropped_reasons),
        values=values,
        grounded=grounded,
        followed=int(previous is not None),
        stability=0.0 if previous is None else prefix_share(previous, pack.prompt),
    )


def _grounding(pack: ContextPack, items: Sequence[tuple[int, ContextItem]]) -> tuple[int, int]:
    """The number of values in the next call, and how many of them the context shows; (0, 0) if the
    compile was not for a call, or no call followed."""
    if pack.phase is not Phase.CALL:
        return 0, 0
    position = sum(sequence <= pack.sequence for sequence, _ in items)
    arguments = tuple(_next_arguments(item for _, item in items[position:]))
    sources = sources_of([item for _, item in items[:position]], arguments)
    blocks = {entry.item_id: entry.text for entry in pack.entries if entry.text in pack.prompt}
    return len(sources), len(grounded(sources, blocks))


def _next_arguments(later: Iterable[ContextItem]) -> Iterable[Any]:
    """Arguments of the calls that follow, up to the first item of another kind."""
    for item in later:
        if item.kind is not ItemKind.TOOL_CALL:
            return
        yield item.metadata.get("arguments") or {}


def _altered(id: str, own: ContextPack, proposed: ContextPack, view: SessionView) -> ChangedCompile:
    found = difference(own, proposed, view, view)
    names = {
        kind: tuple(change.item_id for change in found.changes if change.change == kind)
        for kind in ("came", "went", "changed")
    }
    tokens = (own.stats.prompt_tokens, proposed.stats.prompt_tokens)
    return ChangedCompile(id=id, phase=str(own.phase), tokens=tokens, **names)


def items_of(session: str, records: Iterable[LogRecord]) -> list[tuple[int, ContextItem]]:
    """A session's items as agents published them, each with its sequence. If an id occurs more than
    once, the first item counts."""
    found: dict[str, tuple[int, ContextItem]] = {}
    for record in records:
        if not record.subject.startswith("w.in."):
            continue
        try:
            event = record.event()
        except InvalidInput:
            continue
        if isinstance(event, ContextItem) and record.address().session == session:
            found.setdefault(event.id, (record.sequence, event))
    return list(found.values())


def prefix_share(previous: str, following: str) -> float:
    """The share of a prompt with which the next one begins, in characters: what a provider's cache
    can reuse."""
    if not previous:
        return 1.0
    most = min(len(previous), len(following))
    differs = bisect_left(
        range(most), True, key=lambda at: previous[: at + 1] != following[: at + 1]
    )
    return differs / len(previous)


def _share(part: float, whole: int, digits: int) -> float | None:
    return round(part / whole, digits) if whole else None
