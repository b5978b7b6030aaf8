"""Stage 5: how much a group matters."""

from collections.abc import Mapping

import pytest
from tests.session_view import ListView

from weft.compiler.candidates.closure import dependency_closure
from weft.compiler.ledger import Ledger
from weft.compiler.profiles import OWN_WORDS_FACTOR, QUESTION_FACTOR, SAME_DAY_BONUS, Emphasis
from weft.compiler.ranking.question import understand
from weft.compiler.ranking.relevance import score_groups
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import PhaseRule

FLAT = Emphasis(relevance=1.0, recency=0.0, half_life=4.0)
CUES = Emphasis(relevance=1.0, recency=0.0, half_life=4.0, cues=True)
NEW = Emphasis(relevance=0.0, recency=1.0, half_life=4.0)
TEXT = "the ship sailed over the sea"


def turn(item_id: str, text: str = TEXT, **metadata: str) -> ContextItem:
    return ContextItem(item_id, ItemKind.USER_TURN, text, metadata=metadata)


def scores(
    items: list[ContextItem],
    query: str = "",
    matches: Mapping[str, float] | None = None,
    emphasis: Emphasis = FLAT,
    rule: PhaseRule | None = None,
    latest_user: str = "",
) -> dict[str, float]:
    """By item id."""
    view = ListView(items)
    rows = view.span(0, len(items))
    at = {row.id: row.sequence for row in rows}
    held = {at[item_id]: score for item_id, score in (matches or {}).items()}
    groups = dependency_closure(view, rows, Ledger())
    rule = rule or PhaseRule(tuple(ItemKind))
    made = score_groups(groups, held, understand(query), rule, emphasis, at.get(latest_user))
    return {row.id: made[row.sequence] for row in rows if row.sequence in made}


def test_a_match_raises_its_neighbours_less_than_itself() -> None:
    made = scores([turn(name) for name in "abcdefg"], matches={"d": 2.0})
    assert made["d"] > made["e"] == made["c"] > made["f"] > made["g"] > 0


def test_what_follows_a_question_is_raised_more_than_what_comes_before_it() -> None:
    items = [turn("a"), turn("b", "who sailed the ship?"), turn("c")]
    made = scores(items, matches={"b": 1.0}, emphasis=CUES)
    assert made["c"] > made["a"]


def test_a_day_with_better_matches_raises_all_that_happened_on_it() -> None:
    first, second = {"occurred_at": "2024-05-01"}, {"occurred_at": "2024-05-09"}
    items = [turn("a", **first), *map(turn, "bcdefg"), turn("h", **second)]
    matches = {"a": 2.0, "h": 1.0}
    made, without = (
        scores(items, matches=matches),
        scores([*map(turn, "abcdefgh")], matches=matches),
    )
    assert made["a"] == pytest.approx(without["a"] + SAME_DAY_BONUS)
    assert made["h"] == pytest.approx(without["h"] + SAME_DAY_BONUS / 2)


def test_years_and_names_count_only_where_a_phase_says_so() -> None:
    items = [turn("a", "the ship of Lord Nelson sailed in 1805"), turn("b", "so do we all here")]
    with_cues, without = scores(items, emphasis=CUES), scores(items)
    assert with_cues["a"] > with_cues["b"] + 0.1
    assert without["a"] == pytest.approx(without["b"], abs=0.02)


def test_a_sign_counts_less_in_a_long_message_where_one_is_to_be_expected() -> None:
    signed = f"{TEXT} in 1912 with Marconi"
    gains = []
    for more in ("", " and so on" * 200):
        items = [turn("a", signed + more), turn("b", f"{TEXT} then with somebody{more}")]
        made = scores(items, emphasis=CUES)
        gains.append(made["a"] - made["b"])
    assert gains[0] > 5 * gains[1] > 0


def test_what_only_asks_counts_less_where_cues_count() -> None:
    items = [turn("a", "did the ship sail?"), turn("x"), turn("y"), turn("z"), turn("w"), turn("b")]
    made = scores(items, matches={"a": 1.0, "b": 1.0}, emphasis=CUES)
    assert made["a"] == pytest.approx(QUESTION_FACTOR * made["b"], rel=0.02)


def test_what_a_nameless_agent_says_counts_less_than_what_others_say() -> None:
    def said(item_id: str, kind: ItemKind, **metadata: str) -> ContextItem:
        return ContextItem(item_id, kind, TEXT, metadata=metadata)

    agent, user = ItemKind.AGENT_MSG, ItemKind.USER_TURN
    apart = [turn(f"{place}") for place in range(4)]
    items = [
        said("u", user),
        *apart,
        said("a", agent),
        *map(turn, "wxyz"),
        said("n", agent, author="Mia"),
    ]
    made = scores(items, matches=dict.fromkeys("uan", 1.0))
    assert made["u"] == pytest.approx(made["n"], rel=0.02)
    assert made["a"] == pytest.approx(OWN_WORDS_FACTOR * made["u"], rel=0.1)


def test_a_document_whose_title_is_asked_for_wins() -> None:
    def document(item_id: str, text: str) -> ContextItem:
        return ContextItem(item_id, ItemKind.DOC_SNIPPET, text)

    items = [
        document("titled", "Closing an account\nCall us."),
        document("other", "Opening hours\nTo close your account, call us."),
        document("one line", "Closing an account"),
    ]
    held = dict.fromkeys(["titled", "other", "one line"], 1.0)
    made = scores(items, "closing an account", held, CUES)
    assert made["titled"] > 1.5 * made["other"]
    assert made["one line"] < made["titled"]


def test_another_day_is_no_neighbour() -> None:
    items = [
        turn("a", occurred_at="2024-01-01T00:00:00Z"),
        turn("b", occurred_at="2024-01-02T00:00:00Z"),
        turn("c", occurred_at="2024-01-02T00:00:00Z"),
    ]
    made = scores(items, matches={"b": 1.0})
    assert made["c"] > made["a"]


def test_the_named_author_and_the_named_time_win_over_a_better_match() -> None:
    items = [turn("a", author="Mia"), turn("x"), turn("y"), turn("z"), turn("b", author="Tom")]
    for query in ("what does Mia like", "what did Mia do"):
        made = scores(items, query, {"a": 1.0, "b": 1.5})
        assert made["a"] > made["b"] > made["x"]
    dated = [
        turn("a", occurred_at="2024-05-08T10:00:00Z"),
        turn("b", occurred_at="2024-06-08T10:00:00Z"),
    ]
    made = scores(dated, "what happened on 8 May 2024", {"a": 1.0, "b": 1.5})
    assert made["a"] > made["b"]


def test_recency_halves_and_never_ends() -> None:
    made = scores([turn(f"t{n}") for n in range(40)], emphasis=NEW)
    assert made["t35"] == pytest.approx(made["t39"] / 2, abs=1e-5)
    assert made["t0"] > 0.08


def test_a_kinds_weight_decides_between_equals_only() -> None:
    items = [turn("a"), ContextItem("u", ItemKind.PLAN_STATE, TEXT), *map(turn, "bcdefg")]
    rule = PhaseRule(tuple(ItemKind), {ItemKind.PLAN_STATE: 2.0})
    made = scores(items, emphasis=NEW, rule=rule)
    assert made["u"] > made["b"]
    assert made["u"] < made["g"]


def test_what_an_agent_says_before_its_calls_and_of_them_counts_in_earlier_turns_too() -> None:
    def said(item_id: str, text: str = 5 * TEXT) -> ContextItem:
        return ContextItem(item_id, ItemKind.AGENT_MSG, text)

    def call(item_id: str) -> ContextItem:
        return ContextItem(item_id, ItemKind.TOOL_CALL, TEXT, metadata={"call_id": item_id})

    items = [turn("u1"), said("plan"), said("short", TEXT), call("c1"), said("report")]
    items += [turn("u2"), said("chat"), turn("u3"), call("c2"), said("question", 5 * TEXT + "?")]
    items += [turn("u4"), call("c3"), said("done", TEXT)]
    flat = Emphasis(relevance=0.0, recency=1.0, half_life=1e9)
    made = scores([*items, turn("u5"), call("c4")], emphasis=flat, latest_user="u5")
    for item_id in ("plan", "report"):
        assert made[item_id] == pytest.approx(flat.plan, rel=0.01)
    for item_id in ("short", "chat", "question", "done"):
        assert made[item_id] == pytest.approx(1.0, rel=0.01)


def test_a_document_raises_nothing_beside_it_and_is_not_raised() -> None:
    items = [ContextItem(name, ItemKind.DOC_SNIPPET, TEXT) for name in "abc"]
    made = scores([*items, turn("t"), turn("u")], matches={"b": 1.0, "u": 1.0})
    assert made["a"] == made["c"] < made["b"]
    assert made["t"] > made["c"]
