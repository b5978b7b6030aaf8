"""Cases: moments of recorded sessions before a call whose values the session had stated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from weft_eval.grounding import Compile
from weft_eval.next_call import values_taken
from weft_eval.reading.forms import FORMS, prompts_of
from weft_eval.token_counts import count
from weft_eval.transcripts import CallStep, LabelledTranscript


class GoldCall(msgspec.Struct, frozen=True):
    """A tool call that was really made."""

    name: str
    arguments: str
    """As JSON."""


class ReadingCase(msgspec.Struct, frozen=True):
    """What a reader is asked, in every form, and the right answer."""

    id: str
    kind: str
    """The file or log that contains the session."""
    budget: int
    values: list[str]
    """Those of the call's values that the session had stated."""
    full_tokens: int
    """Tokens of the whole history."""
    gold: list[GoldCall]
    """One, or several where the agent called in parallel: any of them is right."""
    prompts: dict[str, str]
    """By form."""
    policy: str = ""
    """What the session's system messages say."""


class CaseChoice(msgspec.Struct, frozen=True):
    """Which moments become cases."""

    count: int = 24
    """At most this many of each kind and budget."""
    per_session: int = 2
    shortest: int = 0
    """Least tokens of the history; the budget if that is more, so that something is left out."""
    longest: int = 16_000
    seed: int = 1
    without: frozenset[str] = frozenset()
    """Tools that are never a next step, such as `think`."""


class CaseCandidate(msgspec.Struct, frozen=True):
    """A moment that may become a case."""

    transcript: LabelledTranscript
    step: CallStep
    values: list[str]
    tokens: int


def candidates(
    transcripts: Sequence[LabelledTranscript], choice: CaseChoice, budget: int
) -> Iterator[CaseCandidate]:
    """All that qualify, in order."""
    shortest = max(choice.shortest, budget + 1)
    for transcript in transcripts:
        sizes = [count(item.text) for item in transcript.items]
        for step in transcript.steps:
            size = sum(sizes[: step.position])
            if shortest <= size <= choice.longest and not choice.without.intersection(step.tools):
                earlier = "\n".join(item.text for item in transcript.items[: step.position])
                values = values_taken(step.arguments, earlier)
                if values:
                    yield CaseCandidate(transcript, step, values, size)


def drawn(found: Sequence[CaseCandidate], choice: CaseChoice, budget: int) -> list[CaseCandidate]:
    """Those that the seed draws: the same for the same sessions, seed and budget."""
    order = list(found)
    random.Random(f"{choice.seed}/{budget}").shuffle(order)
    used: Counter[str] = Counter()
    taken: list[CaseCandidate] = []
    for candidate in order:
        if len(taken) < choice.count and used[candidate.transcript.name] < choice.per_session:
            used[candidate.transcript.name] += 1
            taken.append(candidate)
    place = {transcript: at for at, transcript in enumerate(_names(found))}
    taken.sort(key=lambda one: (place[one.transcript.name], one.step.position))
    return taken


def make_cases(
    kind: str,
    transcripts: Sequence[LabelledTranscript],
    compile_at: Compile,
    budget: int,
    choice: CaseChoice,
    forms: Sequence[str] = FORMS,
) -> list[ReadingCase]:
    """The cases of one kind of sessions at one budget."""
    found = drawn(list(candidates(transcripts, choice, budget)), choice, budget)
    return [
        _case(f"{kind}-{budget}-{number:03}", kind, candidate, compile_at, budget, forms)
        for number, candidate in enumerate(found)
    ]


def tools_of(transcripts: Sequence[LabelledTranscript]) -> dict[str, list[str]]:
    """The tools that sessions call, each with the names of arguments in their calls."""
    known: dict[str, dict[str, None]] = {}
    for transcript in transcripts:
        for step in transcript.steps:
            for name, arguments in zip(step.tools, step.arguments, strict=True):
                known.setdefault(name, {}).update(dict.fromkeys(arguments))
    return {name: sorted(given) for name, given in sorted(known.items())}


def _case(
    id: str,
    kind: str,
    candidate: CaseCandidate,
    compile_at: Compile,
    budget: int,
    forms: Sequence[str],
) -> ReadingCase:
    transcript, step = candidate.transcript, candidate.step
    return ReadingCase(
        id=id,
        kind=kind,
        budget=budget,
        values=candidate.values,
        full_tokens=candidate.tokens,
        gold=[
            GoldCall(name, msgspec.json.encode(arguments).decode())
            for name, arguments in zip(step.tools, step.arguments, strict=True)
        ],
        prompts=prompts_of(transcript, step.position, compile_at, budget, forms),
        policy=transcript.policy,
    )


def _names(found: Sequence[CaseCandidate]) -> list[str]:
    return list(dict.fromkeys(candidate.transcript.name for candidate in found))
