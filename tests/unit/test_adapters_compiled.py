"""Real sessions, compiled for every phase and budget: both providers would take the messages, and
the messages hold every entry of the prompt."""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest
from tests.data import DATA, needs_data
from tests.provider_rules import check_anthropic, check_openai, made_calls, results_of

from weft import tokens
from weft.adapters import Transcript, anthropic, openai, read_transcripts
from weft.adapters.call_results import is_verbatim
from weft.compiler.compile import compile_pack
from weft.firewall.derive import envelope_for
from weft.readmodel.model import ReadModel, records_of
from weft.readmodel.view import SessionView
from weft_schemas.compile import CompileRequest, PackEntry
from weft_schemas.events import Event, Origin
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import ContextPolicy, Phase, SensitivityAction

BUDGETS = (500, 1_000, 2_000, 4_000, 32_000)
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
        view = folded(transcript.items)
        for phase in Phase:
            pack = compile_pack(view, CompileRequest(phase, budget=next(budgets))).pack
            entries = pack.entries
            assert max(pack.stats.message_tokens.values()) <= pack.stats.budget
            for made, check in (
                (openai.messages(entries), check_openai),
                (anthropic.messages(entries), check_anthropic),
            ):
                check(made)
                assert_holds(made, entries)
        next(budgets)  # so that no phase always meets the same budget


def folded(items: Sequence[ContextItem]) -> SessionView:
    """The session's read model, each result with its envelope."""
    events: list[Event] = []
    for item in items:
        events.append(item)
        if item.kind is ItemKind.TOOL_RESULT:
            origin = Origin(len(events), item.id, "firewall")
            made = envelope_for(
                item,
                item.text,
                origin=origin,
                rules=ContextPolicy().firewall,
                fingerprint_key=b"",
                encoding=tokens.DEFAULT_ENCODING,
                tenant="t",
                session="s",
            )
            events.append(made)
    return ReadModel.in_memory(records_of(events, "t", "s")).view("t", "s")


def assert_holds(made: dict, entries: tuple[PackEntry, ...]) -> None:
    texts = "\n".join([*texts_of(made), *results_of(made).values()])
    whole = [entry for entry in entries if is_verbatim(entry)]
    assert all(entry.text in texts for entry in entries if entry not in whole)
    assert [arguments for _, _, arguments in made_calls(made)] == [
        entry.arguments for entry in whole
    ]
    marks = re.findall(r"^… (\d+) …(?: calls: .*)?$", "\n".join(texts_of(made)), re.MULTILINE)
    assert sum(map(int, marks)) == sum(entry.omitted_before for entry in entries)


def texts_of(made: dict) -> Iterator[str]:
    yield made.get("system", "")
    for message in made["messages"]:
        content = message["content"] or ""
        blocks = [{"text": content}] if isinstance(content, str) else content
        yield from (block["text"] for block in blocks if "text" in block)


FAILED = 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no such order'


@pytest.mark.parametrize(
    ("text", "metadata", "is_error"),
    [
        (FAILED, {}, True),
        (FAILED, {"is_error": False}, None),
        ("3 orders", {"is_error": True}, True),
        ("3 orders", {}, None),
        ('{"status":"failed","id":1}', {}, None),
    ],
)
def test_a_failed_result_is_told_to_anthropic(
    text: str, metadata: dict, is_error: bool | None
) -> None:
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Which orders are there?"),
        ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "orders", "arguments": {}}),
        ContextItem("r", ItemKind.TOOL_RESULT, text, "c", metadata=metadata),
    ]
    pack = compile_pack(folded(items), CompileRequest(Phase.INTERPRET)).pack
    made = anthropic.messages(pack.entries)
    check_anthropic(made)
    [block] = [one for one in made["messages"][-1]["content"] if one["type"] == "tool_result"]
    assert block.get("is_error") is is_error
    shown = openai.messages(pack.entries)["messages"][-1]["content"]
    assert shown.startswith(openai.FAILED) is bool(is_error)


def test_a_redacted_result_keeps_its_own_metadata_alone() -> None:
    """What the firewall found out is content; what the publisher said is metadata."""
    call = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "f", "arguments": {}})
    policy = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)
    for metadata in ({}, {"is_error": True}):
        result = ContextItem(
            "r", ItemKind.TOOL_RESULT, FAILED, "c", None, Sensitivity.RESTRICTED, metadata
        )
        asked = CompileRequest(Phase.INTERPRET, policy=policy)
        pack = compile_pack(folded([call, result]), asked).pack
        shown = {entry.item_id: entry.is_error for entry in pack.entries if entry.item_id}
        assert shown == {"c": False, "r": bool(metadata)}
