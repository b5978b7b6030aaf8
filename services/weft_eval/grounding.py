"""Grounding: of the argument values of the next tool call that the session has already stated, how
many are in the prompt compiled for it, in the block of an item that states them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import inf

import msgspec

from weft.audit.grounding import ValueSources, contexts, grounded, sources_of, stands_in
from weft_eval.provided import PROVIDERS, shown_by
from weft_eval.token_counts import count
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.policy import Phase

Compile = Callable[[LabelledTranscript, int, CompileRequest], ContextPack]
"""Compiles after the first n items of a transcript were published."""


class GroundingRecall(msgspec.Struct):
    """Counts over all steps."""

    values: int = 0
    """Values that the session stated before."""
    found: int = 0
    """In the block of an included item that stated them, next to their field or in their
    sentence."""
    in_source: int = 0
    """In the block of an included item that stated them, anywhere in it."""
    in_prompt: int = 0
    """As a whole word anywhere in the prompt."""
    openai: int = 0
    """Found in the messages for OpenAI, by the same rule."""
    anthropic: int = 0
    """Found in the messages for Anthropic."""
    oracle: int = 0
    """How many fit the budget if the next call is known, nothing else is shown and labels cost
    nothing: no choice of items and parts can do better."""
    steps: int = 0
    tokens: int = 0
    frame: int = 0
    """Tokens of prompts that belong to no block."""
    missed: list[tuple[str, int, str]] = []
    """(transcript, position, value)."""

    @property
    def share(self) -> float:
        return self.found / self.values if self.values else 1.0

    @property
    def shares(self) -> dict[str, float]:
        """In addition to `share`: the share in each provider's messages, and the share that was
        possible."""
        return {
            name: getattr(self, name) / self.values if self.values else 1.0
            for name in (*PROVIDERS, "in_prompt", "oracle")
        }

    @property
    def frame_share(self) -> float:
        return self.frame / self.tokens if self.tokens else 0.0


def measure_grounding(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int, query: str = ""
) -> GroundingRecall:
    """Compile for phase `call` before every step, and look for its values."""
    total = GroundingRecall()
    for transcript in transcripts:
        for step in transcript.steps:
            sources = sources_of(transcript.items[: step.position], step.arguments)
            if sources:
                request = CompileRequest(phase=Phase.CALL, budget=budget, query=query)
                pack = compile_at(transcript, step.position, request)
                score(total, transcript.name, step.position, sources, pack)
                total.oracle += _affordable(sources, budget)
    return total


def score(
    total: GroundingRecall, name: str, position: int, sources: ValueSources, pack: ContextPack
) -> None:
    """Add what one pack shows of the values that its step needs."""
    blocks = {entry.item_id: entry.text for entry in pack.entries if entry.text in pack.prompt}
    total.steps += 1
    total.tokens += pack.stats.prompt_tokens
    total.frame += pack.stats.prompt_tokens - sum(
        count for section, count in pack.stats.tokens_per_section.items() if section != "frame"
    )
    total.values += len(sources)
    total.openai += len(grounded(sources, shown_by("openai", pack.entries)))
    total.anthropic += len(grounded(sources, shown_by("anthropic", pack.entries)))
    found = grounded(sources, blocks)
    total.found += len(found)
    for value, items in sources.items():
        total.in_prompt += stands_in(value, pack.prompt)
        total.in_source += any(stands_in(value, blocks.get(item.id, "")) for item in items)
        if value not in found:
            total.missed.append((name, position, value))


def _affordable(sources: ValueSources, budget: int) -> int:
    """How many of the values fit the budget at best: labels and field names cost nothing, and all
    values in a sentence share its cost."""
    needed: dict[str, set[str]] = {}
    for value, items in sources.items():
        for item in items:
            for field, sentence in contexts(value, item):
                needed.setdefault(value if field else sentence, set()).add(value)
    costs = dict.fromkeys(sources, inf)
    for text, held in needed.items():
        for value in held:
            costs[value] = min(costs[value], count(text) / len(held))
    return sum(spent <= budget for spent in accumulate(sorted(costs.values())))
