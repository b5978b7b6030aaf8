"""The invariants on real sessions: every phase, and budgets down to a single token. Every session
goes through the real services in tests/integration/test_real_sessions.py."""

import pytest
from tests.compile_invariants import check_pack
from tests.data import DATA, needs_data
from tests.session_view import ListView

from weft.adapters import read_transcripts
from weft.compiler.compile import compile_pack
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

FILES = (
    "taubench/gpt-4o-airline.json",
    "livemcpbench/trajectories_claude-sonnet-4.json",
    "locomo/locomo10.json",
    "openhands/traj_basic.json",
    "contextweaver/scenarios/stress_conversation.jsonl",
    "contextweaver/scenarios/mixed_payload.jsonl",
)
BUDGETS = (1, 60, 500, 2_000)
FEW = 3
"""Sessions of each file, spread over it; the slow test takes all."""


def sessions(name: str) -> list[tuple[ContextItem, ...]]:
    path = DATA / name
    return [tuple(one.items) for one in read_transcripts(path.read_bytes(), file=str(path))]


def check(items: tuple[ContextItem, ...]) -> None:
    view = ListView(items)
    users = [item.text for item in items if item.kind is ItemKind.USER_TURN]
    for phase in Phase:
        for budget in BUDGETS:
            query = users[0] if users and budget % 1_000 == 0 else ""
            request = CompileRequest(phase, query=query, budget=budget)
            pack = compile_pack(view, request).pack
            check_pack(pack, items)
            assert pack.digest == compile_pack(view, request).pack.digest


@needs_data
@pytest.mark.parametrize("name", FILES)
def test_real_sessions_keep_the_invariants(name: str) -> None:
    found = sessions(name)
    for items in found[:: max(1, len(found) // FEW)][:FEW]:
        check(items)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_all_real_sessions_keep_the_invariants(name: str) -> None:
    for items in sessions(name):
        check(items)
