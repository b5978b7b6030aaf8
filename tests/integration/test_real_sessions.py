"""Real sessions through the real services: published, firewalled, indexed, and compiled for every
phase and at every budget; each phase meets another budget in the next session. What must hold of
all sessions, phases and budgets is held in process, by tests/promises and tests/property."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.data import DATA, needs_data
from tests.integration.command_line import services
from tests.provider_rules import check_anthropic, check_openai

import weft
from weft import tokens
from weft.adapters import Transcript, read_transcripts
from weft.client import Client
from weft.client.pack import Pack
from weft_schemas.items import ContextItem, ItemKind, Sensitivity
from weft_schemas.policy import Phase

BUDGETS = (500, 1_000, 2_000, 4_000)
FILES = {
    "taubench": "taubench/*.json",
    "livemcpbench": "livemcpbench/*.json",
    "openhands": "openhands/*.json*",
    "locomo": "locomo/*.json",
    "contextweaver": "contextweaver/scenarios/*.jsonl",
}
EVERY = {"taubench": 2, "livemcpbench": 2}
"""Of data with many sessions alike, every second one."""
AT_ONCE = 4
"""Sessions in flight: enough for two cores, and a tenant's requests wait 5 s at most."""
LARGE = {"openhands": 2, "livemcpbench": 2}
"""Fewer where large prompts wait for one another."""

pytestmark = [needs_data, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("weft")
    async with services(folder, "--router", "0") as url, weft.connect(url) as connected:
        yield connected


def transcripts(pattern: str) -> Iterator[Transcript]:
    for path in sorted(Path(DATA).glob(pattern)):
        yield from read_transcripts(path.read_bytes(), file=path.name)


@pytest.mark.parametrize("name", FILES)
async def test_every_session_compiles_for_every_phase_and_within_every_budget(
    client: Client, name: str
) -> None:
    room = asyncio.Semaphore(LARGE.get(name, AT_ONCE))
    sessions = list(transcripts(FILES[name]))[:: EVERY.get(name, 1)]

    async def one(number: int, transcript: Transcript) -> None:
        async with room:
            turn = number % len(BUDGETS)
            budgets = (*BUDGETS[turn:], *BUDGETS[:turn])
            await goes_through(client, f"{name}-{number}", transcript.items, budgets)

    async with asyncio.TaskGroup() as group:  # after a failure none goes on beside the next test
        for numbered in enumerate(sessions):
            group.create_task(one(*numbered))
    assert sessions


async def goes_through(
    client: Client, session: str, items: tuple[ContextItem, ...], budgets: tuple[int, ...]
) -> None:
    ack = await client.publish(session, items)
    for phase, budget in zip(Phase, budgets, strict=True):
        pack = await client.compile(session, phase, budget=budget, after=ack.sequence, timeout=60)
        assert not pack.pending, (session, pack.pending)
        check_budget(pack, budget)
        check_pairs(pack, items)
        check_stats(pack, items)
    again = await client.compile(session, Phase.ANSWER, budget=1_000, timeout=60)
    once_more = await client.compile(session, Phase.ANSWER, budget=1_000, timeout=60)
    assert again.digest == once_more.digest


def check_budget(pack: Pack, budget: int) -> None:
    """The prompt and both providers' messages, the latter by the compiler's own count."""
    assert tokens.count(pack.prompt) <= budget
    assert pack.stats.prompt_tokens == tokens.count(pack.prompt)
    assert all(count <= budget for count in pack.stats.message_tokens.values())
    check_openai(pack.request("openai"))
    check_anthropic(pack.request("anthropic"))


def check_pairs(pack: Pack, items: tuple[ContextItem, ...]) -> None:
    """No call without its results, no result without its call."""
    shown = set(pack.stats.included_items)
    calls = {item.id for item in items if item.kind is ItemKind.TOOL_CALL}
    for item in items:
        if item.kind is ItemKind.TOOL_RESULT and item.parent_id in calls:
            assert (item.id in shown) == (item.parent_id in shown), item.id


def check_stats(pack: Pack, items: tuple[ContextItem, ...]) -> None:
    stats = pack.stats
    assert stats.included_count + stats.dropped_count == stats.total_candidates
    assert stats.included_count == len(stats.included_items) == len(set(stats.included_items))
    assert stats.dropped_count == len(stats.dropped_items)
    assert sum(stats.dropped_reasons.values()) == stats.dropped_count
    assert sum(stats.tokens_per_section.values()) == stats.prompt_tokens
    known = {item.id: item for item in items}
    for item_id in stats.included_items:
        assert not known[item_id].sensitivity.reaches(Sensitivity.CONFIDENTIAL)
