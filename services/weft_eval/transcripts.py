"""Recorded sessions with their gold labels: the calls that the agent made next, and questions with
the items that answer them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from weft import adapters
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind

UNANSWERABLE = 5
"""LoCoMo's category of questions that nothing in the conversation answers."""


class CallStep(msgspec.Struct, frozen=True):
    """A moment before the agent called its tools: the first `position` items have happened."""

    position: int
    arguments: tuple[Any, ...]
    """One object for each of the calls that came next."""
    tools: tuple[str, ...] = ()
    """Names of the tools called."""


class LabelledQuestion(msgspec.Struct, frozen=True):
    """A question about the whole session, with its gold items."""

    text: str
    evidence: tuple[str, ...]
    """Ids of the items that contain the answer."""


class LabelledTranscript(msgspec.Struct, frozen=True):
    """One session with its steps and questions."""

    name: str
    items: tuple[ContextItem, ...]
    steps: tuple[CallStep, ...] = ()
    questions: tuple[LabelledQuestion, ...] = ()
    policy: str = ""
    """The text of its system messages, which the caller adds to a prompt."""


def read_labelled(path: Path) -> list[LabelledTranscript]:
    """The sessions of a file in any format that `weft publish` reads; LoCoMo's with its questions.
    Raises `InvalidInput` naming file, line and field."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None
    return [
        _with_questions(f"{path.stem}-{index}", one)
        for index, one in enumerate(adapters.read_transcripts(content, file=str(path)))
    ]


def labelled(name: str, items: Sequence[ContextItem]) -> LabelledTranscript:
    """A session's items with its steps. The text of its system messages is not among the items: the
    caller adds it."""
    policy = "\n\n".join(item.text for item in items if item.kind is ItemKind.POLICY)
    said = tuple(item for item in items if item.kind is not ItemKind.POLICY)
    return LabelledTranscript(name, said, steps_of(said), policy=policy)


def _with_questions(name: str, read: adapters.Transcript) -> LabelledTranscript:
    transcript = labelled(name, read.items)
    if read.format != "locomo":
        return transcript
    questions = tuple(_questions(read.value, {item.id for item in transcript.items}))
    return msgspec.structs.replace(transcript, questions=questions)


def steps_of(items: Sequence[ContextItem]) -> tuple[CallStep, ...]:
    """The moments before each turn that calls tools: parallel calls, and what was said with them,
    are one turn."""
    turns: dict[str, list[int]] = {}
    for position, item in enumerate(items):
        turn = item.metadata.get("turn_id") or f"{position}"
        turns.setdefault(turn, []).append(position)
    steps = []
    for places in turns.values():
        calls = [items[at] for at in places if items[at].kind is ItemKind.TOOL_CALL]
        if calls:
            names = tuple(str(call.metadata.get("tool_name") or "") for call in calls)
            steps.append(CallStep(places[0], tuple(map(_arguments, calls)), names))
    return tuple(steps)


def _arguments(call: ContextItem) -> dict[str, Any]:
    """Its arguments; if they are not an object, their text as the only one."""
    held = call.metadata.get("arguments")
    return held if isinstance(held, dict) else {"arguments": call.text}


def _questions(case: Any, known: set[str]) -> Iterator[LabelledQuestion]:
    for question in case.get("qa") or ():
        evidence = tuple(one for one in _evidence(question) if one in known)
        if evidence and question["category"] != UNANSWERABLE:
            yield LabelledQuestion(question["question"], evidence)


def _evidence(question: dict[str, Any]) -> Iterator[str]:
    """Gold ids; some labels contain several, separated by `;` or a space."""
    for label in question["evidence"]:
        yield from label.replace(";", " ").split()
