"""What weft is compared with: newest items until full, old results cleared, BM25 over items and
over passages, and contextweaver. Each has the interface of weft's compile, so that the same measure
can read all of them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from weft import bm25 as ranking
from weft import tokens
from weft.terms import analyse
from weft_eval.token_counts import count
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import BuildStats, CompileRequest, ContextPack, PackEntry
from weft_schemas.items import ContextItem, ItemKind

CLEARED = "[Old tool result cleared]"
"""Replaces a result that no longer fits."""
PASSAGE = 150
"""Size of a passage, about, in tokens."""

_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?])\s+"))
"""Where to cut a text that is too long, the best place first: between paragraphs, lines,
sentences."""


def newest(transcript: LabelledTranscript, position: int, request: CompileRequest) -> ContextPack:
    """Whole items from the end, up to the first one that does not fit."""
    return _fill(request, list(reversed(_labelled(transcript.items[:position]))), stop=True)


def cleared(transcript: LabelledTranscript, position: int, request: CompileRequest) -> ContextPack:
    """All turns and calls, with as many of the newest results whole as fit, and a stub for each
    older one; without the oldest items if even that is too much."""
    items = transcript.items[:position]
    results = {at for at, item in enumerate(items) if item.kind is ItemKind.TOOL_RESULT}
    whole = [entry.text for entry in _labelled(items)]
    shown = [
        f"{items[at].kind.value}: {CLEARED}" if at in results else text
        for at, text in enumerate(whole)
    ]
    budget = request.budget or 0
    total = sum(count(text + "\n") for text in shown)
    for at in sorted(results, reverse=True):
        more = count(whole[at] + "\n") - count(shown[at] + "\n")
        if total + more > budget:
            break
        shown[at] = whole[at]
        total += more
    first = 0
    while total > budget:
        total -= count(shown[first] + "\n")
        first += 1
    entries = [
        PackEntry(item.id, item.kind, text, "context", sequence=at)
        for at, (item, text) in enumerate(zip(items, shown, strict=True))
    ][first:]
    return _pack(request, "\n".join(entry.text for entry in entries), entries)


def bm25(transcript: LabelledTranscript, position: int, request: CompileRequest) -> ContextPack:
    """Whole items by BM25 for the query (the latest user turn if there is none), as many as fit."""
    items = transcript.items[:position]
    scores = ranking.scores([_terms(item.text) for item in items], _query(items, request))
    places = sorted(range(len(items)), key=lambda place: (-scores[place], -place))
    labelled = _labelled(items)
    return _fill(request, [labelled[place] for place in places], stop=False)


def bm25_passages(
    transcript: LabelledTranscript, position: int, request: CompileRequest, user: float = 1.0
) -> ContextPack:
    """Passages by BM25, as many as fit, in their order; those of a user's turns count `user`
    times."""
    items = transcript.items[:position]
    held = [(at, text) for at, item in enumerate(items) for text in passages(item.text)]
    scores = ranking.scores([_terms(text) for _, text in held], _query(items, request))
    weights = [user if item.kind is ItemKind.USER_TURN else 1.0 for item in items]
    places = sorted(range(len(held)), key=lambda n: (-scores[n] * weights[held[n][0]], -n))
    shown: dict[int, list[int]] = {}
    room = request.budget or 0
    for place in places:
        at, text = held[place]
        cost = count(text + "\n")
        if at not in shown:
            cost += count(f"{items[at].kind.value}: ")
        if cost <= room:
            shown.setdefault(at, []).append(place)
            room -= cost
    entries = [
        PackEntry(items[at].id, items[at].kind, _joined(items[at], held, chosen), "context")
        for at, chosen in sorted(shown.items())
    ]
    return _pack(request, "\n".join(entry.text for entry in entries), entries)


def bm25_passages_of_users(
    transcript: LabelledTranscript, position: int, request: CompileRequest
) -> ContextPack:
    """The same with a user's turns counting three times."""
    return bm25_passages(transcript, position, request, 3.0)


@lru_cache(maxsize=65_536)
def passages(text: str, limit: int = PASSAGE) -> tuple[str, ...]:
    """A text in passages of at most about `limit` tokens: cut between paragraphs if that is enough,
    otherwise between lines, otherwise between sentences."""
    return tuple(_grouped(list(_pieces(text, limit, 0)), limit))


def _pieces(text: str, limit: int, level: int) -> Iterator[str]:
    if level == len(_BREAKS) or count(text) <= limit:
        if text.strip():
            yield text
        return
    for part in _BREAKS[level].split(text):
        yield from _pieces(part, limit, level + 1)


def _grouped(pieces: Sequence[str], limit: int) -> Iterator[str]:
    """Neighbours joined while they are no longer than a passage."""
    group: list[str] = []
    size = 0
    for piece in pieces:
        cost = count(piece) + 1
        if group and size + cost > limit:
            yield "\n".join(group)
            group, size = [], 0
        group.append(piece)
        size += cost
    if group:
        yield "\n".join(group)


def _joined(item: ContextItem, held: Sequence[tuple[int, str]], chosen: Sequence[int]) -> str:
    return f"{item.kind.value}: " + "\n".join(held[place][1] for place in sorted(chosen))


def _query(items: Sequence[ContextItem], request: CompileRequest) -> dict[str, float]:
    """The terms of the query, each once."""
    users = [item.text for item in items if item.kind is ItemKind.USER_TURN]
    return dict.fromkeys(_terms(request.query or (users[-1] if users else "")), 1.0)


def contextweaver(
    transcript: LabelledTranscript, position: int, request: CompileRequest
) -> ContextPack:
    """contextweaver's `build_sync` with its defaults. Slow: minutes for a long session. Raises
    ImportError if it is not installed."""
    from contextweaver.context.manager import ContextManager
    from contextweaver.types import ContextItem as TheirItem
    from contextweaver.types import ItemKind as TheirKind
    from contextweaver.types import Phase as TheirPhase

    manager = ContextManager()
    for item in transcript.items[:position]:
        kind = TheirKind(item.kind.value)
        manager.ingest(TheirItem(item.id, kind, item.text, parent_id=item.parent_id))
    pack = manager.build_sync(
        TheirPhase(request.phase.value), request.query, budget_tokens=request.budget
    )
    shown = [
        PackEntry(item.id, item.kind, item.text, "context")
        for item in transcript.items[:position]
        if item.text and item.text in pack.prompt
    ]
    return _pack(request, pack.prompt, shown)


def _labelled(items: Sequence[ContextItem]) -> list[PackEntry]:
    return [
        PackEntry(item.id, item.kind, f"{item.kind.value}: {item.text}", "context", sequence=place)
        for place, item in enumerate(items)
    ]


def _fill(request: CompileRequest, wanted: Sequence[PackEntry], *, stop: bool) -> ContextPack:
    room = request.budget or 0
    taken = []
    for entry in wanted:
        cost = count(entry.text + "\n")
        if cost <= room:
            taken.append(entry)
            room -= cost
        elif stop:
            break
    taken.sort(key=lambda entry: entry.sequence)
    return _pack(request, "\n".join(entry.text for entry in taken), taken)


def _pack(request: CompileRequest, prompt: str, entries: Sequence[PackEntry]) -> ContextPack:
    stats = BuildStats(
        included_items=tuple(entry.item_id for entry in entries),
        prompt_tokens=count(prompt),
        tokens_per_section={"context": sum(count(entry.text) for entry in entries)},
        encoding=tokens.DEFAULT_ENCODING,
    )
    sha256 = hashlib.sha256(prompt.encode()).hexdigest()
    return ContextPack("", "", "", request.phase, prompt, tuple(entries), stats, 0, 0, sha256)


@lru_cache(maxsize=65_536)
def _terms(text: str) -> Counter[str]:
    return analyse(text)
