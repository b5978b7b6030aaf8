"""What cache-stable prompts save and what they cost: the share of a prompt that repeats the
previous one, and grounding and tokens compared with a fresh compile.

Only compiles whose session has outgrown the budget count: before that, nothing has to be replaced.
The prompts compared are the provider's messages, serialised, without policy items and header.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft import tokens
from weft.adapters.drafting import compact
from weft.audit.grounding import sources_of
from weft_eval.grounding import Compile, GroundingRecall, score
from weft_eval.provided import PROVIDERS
from weft_eval.token_counts import count
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


class RepeatedPrefixes(msgspec.Struct):
    """For one provider's messages."""

    shares: list[float] = []
    """For each compile, the share of its tokens that repeats the previous prompt."""
    tokens: int = 0
    fresh_tokens: int = 0
    """Tokens of the fresh compiles."""

    @property
    def prefix_share(self) -> float:
        return sum(self.shares) / len(self.shares) if self.shares else 1.0

    @property
    def token_ratio(self) -> float:
        return self.tokens / self.fresh_tokens if self.fresh_tokens else 1.0


class Stability(msgspec.Struct):
    """Over all compiles that follow another and whose session exceeds the budget."""

    compiles: int = 0
    stable: GroundingRecall = msgspec.field(default_factory=GroundingRecall)
    fresh: GroundingRecall = msgspec.field(default_factory=GroundingRecall)
    providers: dict[str, RepeatedPrefixes] = msgspec.field(
        default_factory=lambda: {name: RepeatedPrefixes() for name in PROVIDERS}
    )

    @property
    def share(self) -> float:
        """The lowest of the providers' prefix shares."""
        return min(held.prefix_share for held in self.providers.values())

    @property
    def shares(self) -> dict[str, float]:
        """In addition to `share`: grounding in both ways and the loss, and the highest ratio of a
        provider's tokens to those of fresh compiles."""
        return {
            "grounding": self.stable.share,
            "afresh": self.fresh.share,
            "lost": self.fresh.share - self.stable.share,
            "token_ratio": max(held.token_ratio for held in self.providers.values()),
        }


def measure_stability(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int
) -> Stability:
    """Compile for phase `call` before every step, on the pack of the previous step and afresh."""
    total = Stability()
    for transcript in transcripts:
        before: ContextPack | None = None
        for step in transcript.steps:
            request = CompileRequest(phase=Phase.CALL, budget=budget)
            fresh = compile_at(transcript, step.position, request)
            stable = fresh
            if before is not None:
                based = msgspec.structs.replace(request, stable_from=before.id)
                stable = compile_at(transcript, step.position, based)
                if history(transcript.items[: step.position]) > budget:
                    sources = sources_of(transcript.items[: step.position], step.arguments)
                    score(total.stable, transcript.name, step.position, sources, stable)
                    score(total.fresh, transcript.name, step.position, sources, fresh)
                    _compare(total, before, stable, fresh)
            before = stable
    return total


def history(items: Sequence[ContextItem]) -> int:
    """Tokens of the whole history."""
    return sum(count(item.text) for item in items)


def _compare(total: Stability, before: ContextPack, after: ContextPack, fresh: ContextPack) -> None:
    total.compiles += 1
    for name, held in total.providers.items():
        old, new = _serialised(name, before), _serialised(name, after)
        held.shares.append(common(old, new) / len(new) if new else 1.0)
        held.tokens += len(new)
        held.fresh_tokens += len(_serialised(name, fresh))


def common(old: Sequence[int], new: Sequence[int]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def _serialised(provider: str, pack: ContextPack) -> list[int]:
    """Token ids of the provider's messages without policy items, header and tools."""
    entries = [entry for entry in pack.entries if entry.item_id]
    shown = [entry for entry in entries if entry.kind is not ItemKind.POLICY]
    counted = pack.stats.encoding
    return tokens.encoding(
        counted if counted in tokens.ENCODINGS else tokens.DEFAULT_ENCODING
    ).encode_ordinary(
        "\n".join(compact(message) for message in PROVIDERS[provider](shown)["messages"])
    )
