"""Document recall: of the documents that a task needs, how many are in the prompt compiled for it,
when the whole library is published as `doc_snippet` items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from weft_eval.evidence import SHOWN
from weft_eval.grounding import Compile
from weft_eval.transcripts import LabelledQuestion, LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.errors import InvalidInput
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase


class DocumentRecall(msgspec.Struct):
    """Counts over all tasks."""

    documents: int = 0
    found: int = 0
    """Documents with at least half of their words shown."""
    listed: int = 0
    """Documents listed as included, however short."""
    tokens: int = 0
    frame: int = 0

    @property
    def share(self) -> float:
        return self.found / self.documents if self.documents else 1.0


def read_library(folder: Path) -> LabelledTranscript:
    """A tau2 folder: `documents/*.json` as items, `tasks.json` as questions.

    A task's query is what its customer is told to want: the instructions of the scenario.
    """
    if not (folder / "tasks.json").is_file():
        raise InvalidInput(f"{folder}: holds no tasks.json; name a folder with documents/ and it")
    items = []
    for path in sorted((folder / "documents").glob("*.json")):
        content = json.loads(path.read_text())
        text = f"{content['title']}\n{content['content']}"
        items.append(ContextItem(content["id"], ItemKind.DOC_SNIPPET, text))
    known = {item.id for item in items}
    questions = []
    for task in json.loads((folder / "tasks.json").read_text()):
        needed = tuple(held for held in task.get("required_documents") or () if held in known)
        if needed:
            questions.append(LabelledQuestion(_wanted(task), needed))
    return LabelledTranscript(folder.name, tuple(items), questions=tuple(questions))


def _wanted(task: dict[str, object]) -> str:
    scenario = task["user_scenario"]
    instructions = scenario["instructions"] if isinstance(scenario, dict) else scenario
    return instructions if isinstance(instructions, str) else json.dumps(instructions)


def measure_documents(
    transcripts: Sequence[LabelledTranscript], compile_at: Compile, budget: int
) -> DocumentRecall:
    """Compile for phase `answer` with each task as the query."""
    total = DocumentRecall()
    for transcript in transcripts:
        texts = {item.id: item.text for item in transcript.items}
        for question in transcript.questions:
            request = CompileRequest(phase=Phase.ANSWER, query=question.text, budget=budget)
            pack = compile_at(transcript, len(transcript.items), request)
            blocks = {entry.item_id: entry.text for entry in pack.entries}
            total.tokens += pack.stats.prompt_tokens
            for needed in question.evidence:
                total.documents += 1
                total.listed += needed in blocks
                total.found += words_present(texts[needed], blocks.get(needed, "")) >= SHOWN
    return total


def words_present(text: str, block: str) -> float:
    """The share of a text's words that its block contains, however often."""
    words = text.split()
    shown = set(block.split())
    return sum(word in shown for word in words) / len(words) if words else 0.0
