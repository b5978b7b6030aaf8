"""The plain ways that weft is compared with fill a budget as they say."""

import pytest

from weft import tokens
from weft_eval import baselines
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase

SAID = ContextItem("u1", ItemKind.USER_TURN, "Find the invoice of Aurora.")
OLD = ContextItem("r1", ItemKind.TOOL_RESULT, "invoice 7731 of Aurora " * 30)
NEW = ContextItem("r2", ItemKind.TOOL_RESULT, "weather in Oslo is mild " * 3)
LAST = ContextItem("u2", ItemKind.USER_TURN, "And which invoice was Aurora's?")
SESSION = LabelledTranscript("s", (SAID, OLD, NEW, LAST))
WAYS = (
    baselines.newest,
    baselines.cleared,
    baselines.bm25,
    baselines.bm25_passages,
    baselines.bm25_passages_of_users,
)


def request(budget: int, query: str = "") -> CompileRequest:
    return CompileRequest(phase=Phase.ANSWER, budget=budget, query=query)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("budget", [0, 5, 30, 60, 1_000])
def test_no_prompt_exceeds_its_budget(way, budget: int) -> None:
    pack = way(SESSION, 4, request(budget))
    assert tokens.count(pack.prompt) <= budget
    assert pack.stats.prompt_tokens == tokens.count(pack.prompt)


@pytest.mark.parametrize("way", WAYS)
def test_where_all_fits_all_is_shown_in_order(way) -> None:
    pack = way(SESSION, 4, request(1_000))
    assert [entry.item_id for entry in pack.entries] == ["u1", "r1", "r2", "u2"]
    assert all(item.text.strip() in pack.prompt for item in SESSION.items)


def test_old_results_are_cleared_before_a_turn_is() -> None:
    shown = {
        entry.item_id: entry.text for entry in baselines.cleared(SESSION, 4, request(80)).entries
    }
    assert shown["r1"] == f"tool_result: {baselines.CLEARED}"
    assert NEW.text in shown["r2"]
    assert SAID.text in shown["u1"]


def test_a_passage_is_found_where_its_item_is_too_long() -> None:
    filler = "\n\n".join(f"Paragraph {n} about nothing that matters here." for n in range(200))
    long = ContextItem("l", ItemKind.AGENT_MSG, f"{filler}\n\nThe vault opens at 0451.\n\n{filler}")
    session = LabelledTranscript("s", (long,))
    asked = request(300, "When does the vault open?")
    assert "0451" in baselines.bm25_passages(session, 1, asked).prompt
    assert baselines.bm25(session, 1, asked).prompt == ""


def test_passages_hold_the_whole_text_and_keep_to_their_size() -> None:
    text = "\n".join(f"line {n} of a file, a few words long" for n in range(300))
    held = baselines.passages(text)
    assert "\n".join(held) == text
    assert all(tokens.count(one) <= baselines.PASSAGE + 10 for one in held)


def test_a_users_passages_may_count_more() -> None:
    said = ContextItem("u", ItemKind.USER_TURN, "My sprint ends on Friday, as planned before.")
    answer = ContextItem("a", ItemKind.AGENT_MSG, "A sprint ends; the sprint review follows it.")
    session = LabelledTranscript("s", (said, answer))
    asked = request(18, "sprint ends")
    assert [e.item_id for e in baselines.bm25_passages(session, 2, asked).entries] == ["a"]
    assert [e.item_id for e in baselines.bm25_passages_of_users(session, 2, asked).entries] == ["u"]
