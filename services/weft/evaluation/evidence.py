"""Evidence recall: of the turns that answer a question, how many stand whole in the prompt compiled
for it, in an item that is listed as included."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.evaluation.grounding import Compile
from weft.evaluation.transcripts import Transcript
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import Phase

SHORT = 20
"""Characters under which a turn says too little to be told from chance; counted apart."""


class Evidence(msgspec.Struct):
    """Counts over all questions."""

    turns: int = 0
    found: int = 0
    short_turns: int = 0
    short_found: int = 0
    tokens: int = 0
    frame: int = 0
    missed: list[tuple[str, str, str]] = []
    """(transcript, question, turn id)."""

    @property
    def share(self) -> float:
        return self.found / self.turns if self.turns else 1.0


def measure_evidence(
    transcripts: Sequence[Transcript], compile_at: Compile, budget: int
) -> Evidence:
    """Compile for phase `answer` with each question as the query, after the whole session."""
    total = Evidence()
    for transcript in transcripts:
        texts = {item.id: item.text for item in transcript.items}
        for question in transcript.questions:
            request = CompileRequest(phase=Phase.ANSWER, query=question.text, budget=budget)
            pack = compile_at(transcript, len(transcript.items), request)
            shown = {entry.item_id: entry.text for entry in pack.entries}
            included = set(pack.stats.included_items)
            total.tokens += pack.stats.prompt_tokens
            for turn in question.evidence:
                text = texts[turn]
                hit = turn in included and text in shown.get(turn, "") and text in pack.prompt
                if len(text) < SHORT:
                    total.short_turns += 1
                    total.short_found += hit
                    continue
                total.turns += 1
                total.found += hit
                if not hit:
                    total.missed.append((transcript.name, question.text, turn))
    return total
