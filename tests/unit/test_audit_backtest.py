"""Recorded compiles of a session again, under their own policy and under another."""

import msgspec
import pytest
from tests.audited import KEY, answer, call, envelope, log_of, recorded, turn

from weft.audit.backtest import BacktestTask, Tally, backtest, prefix_share
from weft.audit.backtest_from_log import Backtest
from weft.audit.missing_records import MissingRecords
from weft.cli.backtest import _tell
from weft_schemas.items import ItemKind
from weft_schemas.policy import ContextBudget, ContextPolicy, Phase, PhaseRule

LATER = (
    call("c2", "u2", number="INV-4711", customer="C-77"),
    answer("r2", "c2", "RAW"),
    envelope(7, "r2", "paid " + "and confirmed by the bank in writing " * 40),
    turn("u3", "Thanks. Which others are open?"),
)


def task(policy: ContextPolicy, *phases_at: tuple[Phase, int]) -> BacktestTask:
    records = log_of(*LATER)
    audits = tuple(recorded(records, at, phase)[1] for phase, at in phases_at)
    return BacktestTask("session", audits, tuple(records), policy, KEY, records[-1].sequence)


def test_under_the_same_policy_nothing_differs():
    places = ((Phase.CALL, 5), (Phase.ANSWER, 8), (Phase.ANSWER, 9))
    result = backtest(task(ContextPolicy(), *places))
    assert result.altered == []
    assert result.unlike == []
    assert result.recorded == result.proposed
    assert result.recorded.compiles == 3
    assert result.recorded.followed == 1


def test_the_next_calls_values_are_looked_for_in_a_context_for_a_call():
    result = backtest(task(ContextPolicy(), (Phase.CALL, 5), (Phase.ANSWER, 9)))
    assert result.recorded.values == 2
    assert result.recorded.grounded == 2


def test_a_compile_that_no_call_follows_has_nothing_to_ground():
    assert backtest(task(ContextPolicy(), (Phase.CALL, 8))).recorded.values == 0


def test_a_policy_without_results_loses_their_values_and_says_so():
    rule = PhaseRule(kinds=(ItemKind.AGENT_MSG,))
    rules = dict.fromkeys(Phase, rule)
    result = backtest(task(ContextPolicy(phases=rules), (Phase.CALL, 5)))
    [altered] = result.altered
    assert "r1" in altered.went
    assert altered.tokens[1] < altered.tokens[0]
    assert result.proposed.grounded < result.recorded.grounded
    assert result.proposed.dropped.get("kind_limit")


def test_a_smaller_budget_costs_fewer_tokens():
    policy = ContextPolicy(budgets=ContextBudget(80, 80, 80, 80))
    result = backtest(task(policy, (Phase.ANSWER, 9)))
    assert result.proposed.tokens <= 80 < result.recorded.tokens
    assert result.proposed.compiles == 1


def test_each_way_goes_on_from_its_own_prompts():
    records = log_of(*LATER)
    _, first = recorded(records, 5)
    _, second = recorded(records, 9, base=first)
    policy = ContextPolicy(budgets=ContextBudget(500, 500, 500, 500))
    made = BacktestTask("session", (second,), tuple(records), policy, KEY, 9, (first,))
    alone = backtest(made)
    assert alone.unlike == []
    both = backtest(msgspec.structs.replace(made, audits=(first, second), bases=()))
    assert (both.unlike, both.recorded.followed) == ([], 1)


def test_a_record_that_this_release_would_not_make_is_named():
    made = task(ContextPolicy(), (Phase.ANSWER, 9))
    odd = tuple(msgspec.structs.replace(audit, digest="0" * 64) for audit in made.audits)
    assert backtest(msgspec.structs.replace(made, audits=odd)).unlike == [odd[0].id]


def test_without_the_compiler_s_key_nothing_is_said_to_be_selected_otherwise():
    made = task(ContextPolicy(), (Phase.CALL, 5), (Phase.ANSWER, 9))
    result = backtest(msgspec.structs.replace(made, key=b""))
    assert (result.unlike, result.other_key) == ([], [audit.id for audit in made.audits])
    assert backtest(made).other_key == []


def test_the_command_names_the_key(capsys: pytest.CaptureFixture[str]):
    made = task(ContextPolicy(), (Phase.CALL, 5), (Phase.ANSWER, 9))
    found = Backtest("p", Tally(), Tally(), [], {}, 1, 1.0)
    found.add(backtest(msgspec.structs.replace(made, key=b"")), 1, 1.0)
    _tell(found.summary())
    told = capsys.readouterr().err
    assert "of 2 only fenced blocks or handles differ from the record: WEFT_FINGERPRINT_KEY" in told
    assert "another selection" not in told


def test_what_another_release_rendered_is_not_held_against_the_selection():
    made = task(ContextPolicy(), (Phase.ANSWER, 9))
    older = tuple(
        msgspec.structs.replace(audit, digest="0" * 64, render_version="1") for audit in made.audits
    )
    assert backtest(msgspec.structs.replace(made, audits=older)).unlike == []


def test_what_was_trimmed_away_is_counted():
    made = task(ContextPolicy(), (Phase.ANSWER, 9))
    result = backtest(msgspec.structs.replace(made, records=()))
    assert (result.missing, result.recorded.compiles) == (1, 0)


def test_a_compile_that_showed_something_trimmed_is_counted_and_not_made_again():
    """Its session goes on behind the cut, so there is something to compile."""
    made = task(ContextPolicy(), (Phase.ANSWER, 5), (Phase.ANSWER, 9))
    kept = tuple(record for record in made.records if record.sequence >= 5)
    result = backtest(msgspec.structs.replace(made, records=kept, gone=MissingRecords(trimmed=5)))
    assert (result.missing, result.recorded.compiles, result.unlike) == (2, 0, [])


def test_a_compile_that_showed_nothing_trimmed_is_made_again():
    """Its session began behind the cut."""
    made = task(ContextPolicy(), (Phase.ANSWER, 9))
    result = backtest(msgspec.structs.replace(made, gone=MissingRecords(trimmed=1)))
    assert (result.missing, result.recorded.compiles) == (0, 1)


def test_tallies_add_up():
    total = Tally()
    for _ in range(2):
        total.add(Tally(1, 10, 2, {"budget": 1}, 4, 3, 1, 0.5))
    summary = total.summary()
    assert (summary["tokens_mean"], summary["dropped"]) == (10.0, {"budget": 2})
    assert (summary["grounding"], summary["prefix_stability"]) == (0.75, 0.5)
    assert Tally().summary()["grounding"] is None


@pytest.mark.parametrize(
    ("previous", "following", "share"),
    [("", "a", 1.0), ("abcd", "abcdef", 1.0), ("abcd", "abxd", 0.5), ("abcd", "ab", 0.5)],
)
def test_the_share_of_a_prompt_that_the_next_begins_with(previous, following, share):
    assert prefix_share(previous, following) == share
