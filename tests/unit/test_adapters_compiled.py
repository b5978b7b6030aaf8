"""Real sessions, compiled for every phase and budget: both providers would take the messages, and
the messages hold every entry of the prompt."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from tests.data import DATA, needs_data
from tests.provider_rules import check_anthropic, check_openai
from tests.session_view import ListView

from weft.adapters import Transcript, anthropic, openai, read_transcripts
from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ItemKind
from weft_schemas.policy import Phase

BUDGETS = (500, 1_000, 2_000, 4_000)
EVERY = 3
"""One in so many transcripts; each meets every phase at one of the budgets."""

FILES = {
    "taubench": "taubench/*.json",
    "livemcpbench": "livemcpbench/*.json",
    "openhands": "openhands/*.json*",
    "contextweaver": "contextweaver/scenarios/*.jsonl",
}


def transcripts(pattern: str) -> Iterator[Transcript]:
    for path in sorted(Path(DATA).glob(pattern)):
        yield from read_transcripts(path.read_bytes(), file=path.name)


@needs_data
@pytest.mark.parametrize("name", FILES)
def test_messages_of_real_sessions_are_valid_and_whole(name: str) -> None:
    budgets = cycle(BUDGETS)
    for transcript in list(transcripts(FILES[name]))[::EVERY]:
        view = ListView(transcript.items)
        for phase in Phase:
            entries = compile_pack(view, CompileRequest(phase, budget=next(budgets))).pack.entries
            made = openai.messages(entries)
            check_openai(made)
            check_anthropic(anthropic.messages(entries))
            assert_holds(made["messages"], entries)
        next(budgets)  # so that no phase always meets the same budget


def assert_holds(messages: list[dict], entries: tuple[PackEntry, ...]) -> None:
    texts = "\n".join(message["content"] or "" for message in messages)
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    shown = [entry for entry in entries if entry.kind is not ItemKind.TOOL_CALL]
    assert all(entry.text in texts for entry in shown if entry.text.strip())
    assert len(calls) == len(entries) - len(shown), "no orphans, so every call is one"
