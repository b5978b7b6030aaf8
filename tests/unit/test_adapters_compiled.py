"""Real sessions, compiled for every phase and budget: both providers would take the messages, and
the messages hold every entry of the prompt."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from tests.data import DATA, needs_data
from tests.provider_rules import check_anthropic, check_openai, made_calls, results_of
from tests.session_view import ListView

from weft.adapters import Transcript, anthropic, openai, read_transcripts
from weft.adapters.conversation import is_verbatim
from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction

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
            for made, check in (
                (openai.messages(entries), check_openai),
                (anthropic.messages(entries), check_anthropic),
            ):
                check(made)
                assert_holds(made, entries)
        next(budgets)  # so that no phase always meets the same budget


def assert_holds(made: dict, entries: tuple[PackEntry, ...]) -> None:
    texts = "\n".join([*texts_of(made), *results_of(made).values()])
    whole = [entry for entry in entries if is_verbatim(entry)]
    assert all(entry.text in texts for entry in entries if entry not in whole)
    assert [arguments for _, _, arguments in made_calls(made)] == [
        entry.arguments for entry in whole
    ]


def texts_of(made: dict) -> Iterator[str]:
    yield made.get("system", "")
    for message in made["messages"]:
        content = message["content"] or ""
        blocks = [{"text": content}] if isinstance(content, str) else content
        yield from (block["text"] for block in blocks if "text" in block)


FAILED = 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no such order'


@pytest.mark.parametrize(
    ("text", "metadata", "told"),
    [(FAILED, {}, True), ("3 orders", {"is_error": True}, True), ("3 orders", {}, None)],
)
def test_a_failed_result_is_told_to_anthropic(text: str, metadata: dict, told: bool | None) -> None:
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Which orders are there?"),
        ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "orders", "arguments": {}}),
        ContextItem("r", ItemKind.TOOL_RESULT, text, "c", metadata=metadata),
    ]
    pack = compile_pack(ListView(items), CompileRequest(Phase.INTERPRET)).pack
    made = anthropic.messages(pack.entries)
    check_anthropic(made)
    [block] = [one for one in made["messages"][-1]["content"] if one["type"] == "tool_result"]
    assert block.get("is_error") is told
    shown = openai.messages(pack.entries)["messages"][-1]["content"]
    assert shown.startswith(openai.FAILED) is bool(told)


def test_a_redacted_result_keeps_its_own_metadata_alone() -> None:
    """What the firewall found out is content; what the publisher said is metadata."""
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    policy = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)
    for metadata in ({}, {"is_error": True}):
        result = ContextItem(
            "r", ItemKind.TOOL_RESULT, FAILED, "c", None, Sensitivity.RESTRICTED, metadata
        )
        view = ListView([call, result], policy)
        pack = compile_pack(view, CompileRequest(Phase.INTERPRET)).pack
        shown = {entry.item_id: entry.is_error for entry in pack.entries}
        assert shown == {"c": False, "r": bool(metadata)}
