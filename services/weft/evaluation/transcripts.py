"""Recorded sessions with gold labels, as items and cases: what a file says, before any compile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind


class Step(msgspec.Struct, frozen=True):
    """A moment before the agent called its tools: the first `position` items have happened."""

    position: int
    arguments: tuple[Any, ...]
    """Of the calls that came next, one object each."""


class Question(msgspec.Struct, frozen=True):
    """Asked when the whole session has happened."""

    text: str
    evidence: tuple[str, ...]
    """Ids of the items that hold the answer."""


class Transcript(msgspec.Struct, frozen=True):
    """One session with what can be asked of it."""

    name: str
    items: tuple[ContextItem, ...]
    steps: tuple[Step, ...] = ()
    questions: tuple[Question, ...] = ()


def read_transcripts(path: Path) -> list[Transcript]:
    """The sessions of a file: chats (a list of messages, or `traj` or `messages`) or LoCoMo
    conversations. Raises `InvalidInput` naming file and session."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON: {error}") from None
    cases = content if isinstance(content, list) else [content]
    if cases and isinstance(cases[0], dict) and "role" in cases[0]:
        cases = [{"messages": cases}]
    return [_transcript(path, index, case) for index, case in enumerate(cases)]


def _transcript(path: Path, index: int, case: Any) -> Transcript:
    name = f"{path.stem}-{index}"
    try:
        if "conversation" in case:
            return _conversation(name, case)
        return chat(name, case.get("traj") or case["messages"])
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path}, session {index}: neither an OpenAI chat nor a LoCoMo conversation ({error!r})"
        ) from None


def chat(name: str, messages: list[dict[str, Any]]) -> Transcript:
    """An OpenAI chat as items, with a step before each message that calls tools.

    The system message is the caller's own and stays out.
    """
    items: list[ContextItem] = []
    steps: list[Step] = []
    open_calls: dict[str, ContextItem] = {}
    for index, message in enumerate(messages):
        role, text = message["role"], _text(message.get("content"))
        if role == "user":
            items.append(ContextItem(f"m{index}", ItemKind.USER_TURN, text))
        elif role == "tool":
            items.append(_result(index, message, text, open_calls))
        elif role == "assistant":
            calls = [_call(index, at, call) for at, call in enumerate(_calls(message))]
            if calls:
                position = len(items)
                steps.append(Step(position, tuple(call.metadata["arguments"] for call in calls)))
            if text:
                items.append(ContextItem(f"m{index}", ItemKind.AGENT_MSG, text))
            items.extend(calls)
            open_calls.update({call.metadata["call_id"]: call for call in calls})
    return Transcript(name, tuple(items), steps=tuple(steps))


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return json.dumps(content, ensure_ascii=False)


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message.get("tool_calls") or []


def _call(index: int, at: int, call: dict[str, Any]) -> ContextItem:
    name, raw = call["function"]["name"], call["function"]["arguments"]
    try:
        arguments = json.loads(raw)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"arguments": raw}
    return ContextItem(
        f"m{index}.c{at}",
        ItemKind.TOOL_CALL,
        f"{name}({raw})",
        metadata={
            "tool_name": name,
            "call_id": call["id"],
            "arguments": arguments,
            "turn_id": f"t{index}",
        },
    )


def _result(
    index: int, message: dict[str, Any], text: str, calls: dict[str, ContextItem]
) -> ContextItem:
    call = calls.get(message["tool_call_id"])
    metadata = {"call_id": message["tool_call_id"]}
    if call is not None:
        metadata["tool_name"] = call.metadata["tool_name"]
    return ContextItem(
        f"m{index}",
        ItemKind.TOOL_RESULT,
        text,
        parent_id=call.id if call else None,
        metadata=metadata,
    )


def _conversation(name: str, case: dict[str, Any]) -> Transcript:
    items = tuple(_turns(case["conversation"]))
    known = {item.id for item in items}
    questions = tuple(
        Question(question["question"], evidence)
        for question in case["qa"]
        if question["category"] != 5  # unanswerable
        and (evidence := tuple(_evidence(question, known)))
    )
    return Transcript(name, items, questions=questions)


def _evidence(question: dict[str, Any], known: set[str]) -> Iterator[str]:
    """Gold ids that exist; some labels hold several, separated by `;` or a space."""
    for label in question["evidence"]:
        for turn_id in label.replace(";", " ").split():
            if turn_id in known:
                yield turn_id


def _turns(conversation: dict[str, Any]) -> Iterator[ContextItem]:
    first_speaker = conversation["speaker_a"]
    number = 1
    while (turns := conversation.get(f"session_{number}")) is not None:
        began = conversation[f"session_{number}_date_time"]
        when = datetime.strptime(began, "%I:%M %p on %d %B, %Y").isoformat() + "Z"
        for turn in turns:
            kind = ItemKind.USER_TURN if turn["speaker"] == first_speaker else ItemKind.AGENT_MSG
            text = turn["text"]
            if caption := turn.get("blip_caption"):
                text += f" [image: {caption}]"
            yield ContextItem(
                turn["dia_id"],
                kind,
                text,
                metadata={"author": turn["speaker"], "occurred_at": when},
            )
        number += 1
