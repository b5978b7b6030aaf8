"""Values of the next call: of the values that a tool call's arguments take from the session, how
many are in the prompt compiled for it. For code, where an argument is a path, a line or a whole
edit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from weft.leaves import leaves
from weft_eval.grounding import Compile
from weft_eval.token_counts import count
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

MIN_LENGTH, MAX_LENGTH = 4, 80
"""Lengths of an argument that is looked for whole, in characters: a shorter one is found by chance,
a longer one is a text that the agent wrote."""
PROSE = 20
"""From this length on, an argument that was not stated whole is searched for names and paths."""
QUERY = 2_000
"""How many characters of the latest user turn are the query."""

_NAME = re.compile(r"[A-Za-z_][\w./-]{5,}")
"""A name or path within a longer argument."""


class NextCallRecall(msgspec.Struct):
    """Counts over all steps."""

    values: int = 0
    """Values that the session stated before."""
    found: int = 0
    """Values in the prompt."""
    outgrown_values: int = 0
    """Values of steps whose history exceeds the budget."""
    outgrown_found: int = 0
    steps: int = 0
    tokens: int = 0

    @property
    def share(self) -> float:
        return self.found / self.values if self.values else 1.0

    @property
    def shares(self) -> dict[str, float]:
        """In addition to `share`: the same for steps at which something had to be left out."""
        values = self.outgrown_values
        return {"outgrown": self.outgrown_found / values if values else 1.0}


def measure_next_call(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int
) -> NextCallRecall:
    """Compile for phase `call` before every step, with the latest user turn as the query."""
    total = NextCallRecall()
    for transcript in transcripts:
        for step in transcript.steps:
            earlier = transcript.items[: step.position]
            values = values_taken(step.arguments, "\n".join(item.text for item in earlier))
            if values:
                request = CompileRequest(
                    phase=Phase.CALL, budget=budget, query=latest_user_turn(earlier)
                )
                prompt = compile_at(transcript, step.position, request).prompt
                found = sum(contains_value(prompt, value) for value in values)
                _add(total, len(values), found, sum(count(item.text) for item in earlier) > budget)
                total.tokens += count(prompt)
    return total


def _add(total: NextCallRecall, values: int, found: int, is_outgrown: bool) -> None:
    total.steps += 1
    total.values += values
    total.found += found
    if is_outgrown:
        total.outgrown_values += values
        total.outgrown_found += found


def latest_user_turn(items: Sequence[ContextItem]) -> str:
    """The beginning of what the user said last, empty if no user spoke."""
    turns = (item.text for item in reversed(items) if item.kind is ItemKind.USER_TURN)
    return next(turns, "")[:QUERY]


def values_taken(arguments: object, earlier: str) -> list[str]:
    """What the arguments take from the text of a session, sorted: leaves that it states, and names
    and paths that it states from longer ones."""
    found: set[str] = set()
    for _, value in leaves(arguments):
        leaf = str(value)
        if MIN_LENGTH <= len(leaf) <= MAX_LENGTH and leaf in earlier:
            found.add(leaf)
        elif len(leaf) > PROSE:
            found.update(name for name in _NAME.findall(leaf) if name in earlier)
    return sorted(found)


def contains_value(text: str, value: str) -> bool:
    """Whether a text contains a value, plain or as JSON writes it."""
    return value in text or json.dumps(value, ensure_ascii=False)[1:-1] in text
