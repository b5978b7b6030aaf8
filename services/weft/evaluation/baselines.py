"""What weft is compared with: newest items until full, BM25 over items, and contextweaver. Each
compiles like weft does, so that the same measure reads all of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log

from weft import tokens
from weft.evaluation.transcripts import Transcript
from weft.readmodel.terms import analyse
from weft_schemas.compile import BuildStats, CompileRequest, ContextPack, PackEntry
from weft_schemas.items import ContextItem, ItemKind

K1, B = 1.2, 0.75
"""The usual BM25 constants."""


def newest(transcript: Transcript, position: int, request: CompileRequest) -> ContextPack:
    """Whole items from the end, until one does not fit."""
    return _fill(request, list(reversed(_labelled(transcript.items[:position]))), stop=True)


def bm25(transcript: Transcript, position: int, request: CompileRequest) -> ContextPack:
    """Whole items by BM25 for the query (the latest user turn where there is none), as many as
    fit."""
    items = transcript.items[:position]
    users = [item.text for item in items if item.kind is ItemKind.USER_TURN]
    scores = _scores(items, request.query or (users[-1] if users else ""))
    places = sorted(range(len(items)), key=lambda place: (-scores[place], -place))
    labelled = _labelled(items)
    return _fill(request, [labelled[place] for place in places], stop=False)


def contextweaver(transcript: Transcript, position: int, request: CompileRequest) -> ContextPack:
    """contextweaver's `build_sync` with its defaults. Slow: minutes for a long session. Raises
    ImportError where it is not installed."""
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
        cost = _count(entry.text + "\n")
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
        prompt_tokens=_count(prompt),
        tokens_per_section={"context": sum(_count(entry.text) for entry in entries)},
        encoding=tokens.DEFAULT_ENCODING,
    )
    sha256 = hashlib.sha256(prompt.encode()).hexdigest()
    return ContextPack("", "", "", request.phase, prompt, tuple(entries), stats, 0, 0, sha256)


@lru_cache(maxsize=65_536)
def _count(text: str) -> int:
    return tokens.count(text)


@lru_cache(maxsize=65_536)
def _terms(text: str) -> Counter[str]:
    return analyse(text)


def _scores(items: Sequence[ContextItem], query: str) -> list[float]:
    held = [_terms(item.text) for item in items]
    lengths = [sum(terms.values()) for terms in held]
    average = sum(lengths) / max(len(lengths), 1) or 1.0
    scores = [0.0] * len(items)
    for term in _terms(query):
        hits = [place for place, terms in enumerate(held) if term in terms]
        rarity = log(1 + (len(items) - len(hits) + 0.5) / (len(hits) + 0.5))
        for place in hits:
            often = held[place][term]
            norm = K1 * (1 - B + B * lengths[place] / average)
            scores[place] += rarity * often * (K1 + 1) / (often + norm)
    return scores
