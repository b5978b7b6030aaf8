"""BEAM's chats: long messages, and questions with the ids of the messages that they rest on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft_eval.transcripts import LabelledQuestion, LabelledTranscript
from weft_schemas.items import ContextItem, ItemKind

KINDS = {"user": ItemKind.USER_TURN, "assistant": ItemKind.AGENT_MSG}


def read_chats(folder: Path) -> list[LabelledTranscript]:
    """One transcript a chat, in the order of their numbers."""
    chats = [path for path in folder.iterdir() if (path / "chat.json").is_file()]
    return [_chat(path) for path in sorted(chats, key=lambda path: int(path.name))]


def _chat(folder: Path) -> LabelledTranscript:
    batches = json.loads((folder / "chat.json").read_text())
    items = tuple(
        ContextItem(str(message["id"]), KINDS[message["role"]], message["content"])
        for batch in batches
        for turn in batch["turns"]
        for message in turn
    )
    known = {item.id for item in items}
    asked = json.loads((folder / "probing_questions.json").read_text())
    questions = []
    for question in (one for of_type in asked.values() for one in of_type):
        gold = dict.fromkeys(_ids(question.get("source_chat_ids")))
        evidence = tuple(one for one in gold if one in known)
        if evidence:
            questions.append(LabelledQuestion(question["question"], evidence))
    return LabelledTranscript(f"beam-{folder.name}", items, questions=tuple(questions))


def _ids(held: Any) -> Iterator[str]:
    """Ids may stand in a list, or by the statement that they are the source of."""
    if isinstance(held, dict):
        held = list(held.values())
    if isinstance(held, list):
        for one in held:
            yield from _ids(one)
    elif held is not None:
        yield str(held)
