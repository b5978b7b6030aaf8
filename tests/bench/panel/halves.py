"""Which sessions a design may be tuned on, and which confirm it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft_eval.transcripts import LabelledTranscript

HALVES = {"tuned": 0, "confirm": 1}


def half_of(transcripts: Sequence[LabelledTranscript], half: str) -> list[LabelledTranscript]:
    """Sessions in the order of their files: the even ones are tuned on, the odd ones confirm.
    Where there is but one, its questions are halved alike."""
    if half == "all":
        return list(transcripts)
    first = HALVES[half]
    if len(transcripts) > 1:
        return list(transcripts[first::2])
    return [
        msgspec.structs.replace(one, steps=one.steps[first::2], questions=one.questions[first::2])
        for one in transcripts
    ]


def sampled(
    transcripts: Sequence[LabelledTranscript], cases: int | None
) -> list[LabelledTranscript]:
    """With about so many of their steps and questions, evenly spaced over all of them."""
    total = sum(len(one.steps) + len(one.questions) for one in transcripts)
    if cases is None or cases >= total:
        return list(transcripts)
    found = []
    seen = 0
    for one in transcripts:
        size = len(one.steps) + len(one.questions)
        places = range(seen, seen + size)
        kept = [at * cases // total != (at + 1) * cases // total for at in places]
        steps = tuple(step for step, keep in zip(one.steps, kept, strict=False) if keep)
        rest = kept[len(one.steps) :]
        questions = tuple(asked for asked, keep in zip(one.questions, rest, strict=False) if keep)
        seen += size
        if steps or questions:
            found.append(msgspec.structs.replace(one, steps=steps, questions=questions))
    return found


def portions(
    transcripts: Sequence[LabelledTranscript], count: int
) -> list[list[LabelledTranscript]]:
    """The same cases in so many portions, to be measured by several processes: by session, or by
    question where there is but one session."""
    if len(transcripts) > 1:
        return [found for first in range(count) if (found := list(transcripts[first::count]))]
    return [
        [
            msgspec.structs.replace(
                one, steps=one.steps[first::count], questions=one.questions[first::count]
            )
            for one in transcripts
        ]
        for first in range(count)
    ]
