"""What must hold for every compile, on the recorded session: budgets, totals, pairs, floors."""

import msgspec
import pytest
from tests.session_view import ListView

from weft import tokens
from weft.cli.demo_session import demo_key, load
from weft.compiler.compile import compile_pack
from weft.redaction import MaskRedactionHook, redaction_hook
from weft_schemas.compile import BuildStats, CompileRequest, ContextPack
from weft_schemas.errors import ConfigurationError
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase, SensitivityAction

BUDGETS = (1, 40, 300, 700, 2_000, 6_000)


@pytest.fixture(scope="module")
def view() -> ListView:
    return ListView(load())


def compiled(view: ListView, phase: Phase, **request: object) -> ContextPack:
    return compile_pack(view, CompileRequest(phase, **request)).pack


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_prompt_exceeds_its_budget_and_every_candidate_is_counted(view, phase, budget):
    pack = compiled(view, phase, budget=budget, query="which order is the largest")
    stats: BuildStats = pack.stats
    assert tokens.count(pack.prompt) == stats.prompt_tokens <= budget
    assert stats.included_count + stats.dropped_count == stats.total_candidates
    assert sum(stats.dropped_reasons.values()) == len(stats.dropped_items) == stats.dropped_count
    assert demo_key() not in pack.prompt


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_call_and_its_results_are_kept_or_dropped_together(view, phase, budget):
    entries = compiled(view, phase, budget=budget).entries
    kinds = {entry.item_id: entry.kind for entry in entries}
    calls = {one for one, kind in kinds.items() if kind is ItemKind.TOOL_CALL}
    results = [entry for entry in entries if entry.kind is ItemKind.TOOL_RESULT]
    assert {entry.parent_id for entry in results} == calls


@pytest.mark.parametrize("phase", Phase)
def test_the_same_request_gives_the_same_prompt(view, phase):
    one = compiled(view, phase, query="revenue per day")
    assert compiled(ListView(load()), phase, query="revenue per day").digest == one.digest


def test_each_phase_has_its_default_budget(view):
    defaults = ContextBudget()
    assert [defaults.of(phase) for phase in Phase] == [2_000, 3_000, 4_000, 6_000]
    for phase in Phase:
        assert compiled(view, phase).stats.budget == defaults.of(phase)
        assert compiled(view, phase, reserve=500).stats.budget == defaults.of(phase) - 500


def test_an_item_at_the_floor_leaves_its_id_and_reason_and_nothing_else(view):
    secret = next(item for item in load() if item.sensitivity == "confidential")
    pack = compiled(view, Phase.ANSWER, query=secret.text)
    assert ("sensitivity", secret.id) in {(d.reason, d.item_id) for d in pack.stats.dropped_items}
    assert "auditors" not in msgspec.json.encode(pack).decode()


def test_a_policy_can_redact_instead_of_dropping(view):
    secret = next(item for item in load() if item.sensitivity == "confidential")
    policy = ContextPolicy(sensitivity_action=SensitivityAction.REDACT)
    pack = compiled(view, Phase.ANSWER, policy=policy, query="auditors")
    shown = next(entry for entry in pack.entries if entry.item_id == secret.id)
    assert shown.text == "[REDACTED: confidential]"
    assert shown.author == "maya"
    assert "auditors" not in pack.prompt


def test_a_redaction_hook_goes_by_its_name():
    assert isinstance(redaction_hook("mask"), MaskRedactionHook)
    with pytest.raises(ConfigurationError, match="is not installed"):
        redaction_hook("nothing-of-the-kind")


def test_every_kind_but_memory_stands_in_a_large_prompt(view):
    """Memory facts stand in the header, in few words."""
    kinds = {entry.kind for entry in compiled(view, Phase.ANSWER, budget=60_000).entries}
    assert kinds - {ItemKind.MEMORY_FACT} == set(ItemKind) - {ItemKind.MEMORY_FACT}


@pytest.mark.parametrize("phase", [Phase.ROUTE, Phase.INTERPRET, Phase.ANSWER])
def test_what_came_after_the_latest_turn_is_there_whatever_else_matches(view, phase):
    question = "Which order is the largest of them, and in which country was it placed?"
    pack = compiled(view, phase, budget=700, query=question)
    assert 'O-20614,2026-11-14T00:31:00-03:00,C-001,BR,"2,060.09"' in pack.prompt
