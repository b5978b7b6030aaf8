"""Evidence recall: of the turns that answer a question, how many are whole in the prompt compiled
for it, in an item that is listed as included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import msgspec

from weft import tokens
from weft_eval.grounding import Compile
from weft_eval.provided import PROVIDERS, shown_by
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack
from weft_schemas.policy import Phase

SHORT = 20
"""A turn with fewer characters says too little to be found other than by chance; counted
separately."""
SHOWN = 0.5
"""A text counts as shown if at least this share of its words is in its entry."""


class EvidenceRecall(msgspec.Struct):
    """Counts over all questions."""

    turns: int = 0
    found: int = 0
    shown: int = 0
    """Turns with at least half of their words in their entry."""
    questions: int = 0
    """Questions with at least one long gold turn."""
    shown_of_questions: float = 0.0
    """Sum over these questions of the share of their long gold turns that is shown."""
    openai: int = 0
    """Whole in the messages for OpenAI."""
    anthropic: int = 0
    """Whole in the messages for Anthropic."""
    oracle: int = 0
    """How many fit the budget if the answer is known, nothing else is shown and labels cost
    nothing: no choice of items can do better."""
    short_turns: int = 0
    short_found: int = 0
    tokens: int = 0
    frame: int = 0
    missed: list[tuple[str, str, str]] = []
    """(transcript, question, turn id)."""

    @property
    def share(self) -> float:
        return self.found / self.turns if self.turns else 1.0

    @property
    def shares(self) -> dict[str, float]:
        """In addition to `share`: the share in each provider's messages, the share that was
        possible, and the mean share of a question's turns that is shown."""
        mean = self.shown_of_questions / self.questions if self.questions else 1.0
        return {"shown_mean": mean} | {
            name: getattr(self, name) / self.turns if self.turns else 1.0
            for name in ("shown", *PROVIDERS, "oracle")
        }


def measure_evidence(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int
) -> EvidenceRecall:
    """Compile for phase `answer` with each question as the query, after the whole session."""
    total = EvidenceRecall()
    for transcript in transcripts:
        texts = {item.id: item.text for item in transcript.items}
        for question in transcript.questions:
            request = CompileRequest(phase=Phase.ANSWER, query=question.text, budget=budget)
            pack = compile_at(transcript, len(transcript.items), request)
            gold = {turn: texts[turn] for turn in question.evidence}
            missed = _score(total, gold, pack)
            total.missed += [(transcript.name, question.text, turn) for turn in missed]
            total.oracle += _affordable(gold.values(), budget)
    return total


def _score(total: EvidenceRecall, gold: Mapping[str, str], pack: ContextPack) -> list[str]:
    """Add what one pack shows of the gold turns: of the long ones, also those that it does not show
    whole."""
    prompt = {
        entry.item_id: entry.text
        for entry in pack.entries
        if entry.item_id in pack.stats.included_items and entry.text in pack.prompt
    }
    whole = [turn for turn, text in gold.items() if text in prompt.get(turn, "")]
    long = [turn for turn, text in gold.items() if len(text) >= SHORT]
    messages = {name: shown_by(name, pack.entries) for name in PROVIDERS}
    total.tokens += pack.stats.prompt_tokens
    total.turns += len(long)
    total.found += sum(turn in whole for turn in long)
    shown = sum(words_shown(gold[turn], prompt.get(turn, "")) >= SHOWN for turn in long)
    total.shown += shown
    if long:
        total.questions += 1
        total.shown_of_questions += shown / len(long)
    total.openai += sum(gold[turn] in messages["openai"].get(turn, "") for turn in long)
    total.anthropic += sum(gold[turn] in messages["anthropic"].get(turn, "") for turn in long)
    total.short_turns += len(gold) - len(long)
    total.short_found += len(whole) - sum(turn in whole for turn in long)
    return [turn for turn in long if turn not in whole]


def words_shown(text: str, block: str) -> float:
    """The share of a text's words that its block contains, each as often as in the text."""
    words = Counter(text.split())
    return (words & Counter(block.split())).total() / words.total() if words else 0.0


def _affordable(texts: Iterable[str], budget: int) -> int:
    """How many of the turns fit the budget, shortest first."""
    costs = sorted(tokens.count(text) for text in texts if len(text) >= SHORT)
    return sum(spent <= budget for spent in accumulate(costs))
