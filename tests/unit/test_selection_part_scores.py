"""How much each part of an item counts."""

import json

import pytest
from tests.choosing import choice_of

from weft.compiler.ledger import Ledger
from weft.compiler.profiles import FEW, LEFT_ASIDE_FACTOR, MIN_PARTS, SPOKEN_OF_FACTOR
from weft.compiler.selection.part_scores import Scores, scored_parts
from weft.compiler.selection.select import select
from weft_schemas.items import ContextItem, ItemKind

HOSTS = [
    {"host": f"HIST-BR-{n:02}", "note": f"serves the branch office {n} and no other " * 9}
    for n in range(2 * MIN_PARTS)
]
CALL = ContextItem("c", ItemKind.TOOL_CALL, "", metadata={"tool_name": "hosts"})


def factors(records: list[dict[str, str]], scores: dict[str, object]) -> dict[str, float]:
    """What each part of a listed result counts more with these scores, by its text."""
    choice = choice_of([CALL, ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(records), "c")], 99)
    (group,) = choice.groups
    item_renditions = choice.renditions[group.rows[1].sequence]
    plain = Scores({group.key: 1.0}, {})
    given = Scores({group.key: 1.0}, {}, **scores)
    pairs = zip(
        scored_parts(group, item_renditions, given, 10_000),
        scored_parts(group, item_renditions, plain, 10_000),
        strict=True,
    )
    return {one.text: one.score / before.score for one, before in pairs}


def test_the_record_that_differs_counts_most_though_other_passages_answer_better() -> None:
    rows = [{"row": n, "ok": n != 133, "error": None if n != 133 else "twice"} for n in range(200)]
    choice = choice_of([CALL, ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(rows), "c")], 99)
    (group,) = choice.groups
    item_renditions = choice.renditions[group.rows[1].sequence]
    found = Scores({group.key: 1.0}, {group.rows[1].sequence: {0: 9.0, 1: 8.0}})
    best = max(scored_parts(group, item_renditions, found, 10_000), key=lambda one: one.score)
    assert '"row": 133' in best.text


@pytest.mark.parametrize("since", ["last", "after the result"])
def test_the_few_parts_of_a_list_that_state_what_was_spoken_of_count_more(since: str) -> None:
    spoken = frozenset({"HIST-BR-03"})
    made = factors(HOSTS, {"stated": spoken} if since == "last" else {"after": {3: spoken}})
    assert {text for text, factor in made.items() if factor == pytest.approx(SPOKEN_OF_FACTOR)} == {
        text for text in made if "HIST-BR-03" in text
    }


def test_what_many_parts_state_tells_nothing() -> None:
    shared = [{**record, "note": f"rack-7 {record['note']}"} for record in HOSTS]
    assert len(shared) > FEW
    made = factors(shared, {"stated": frozenset({"rack-7"})})
    assert set(made.values()) == {1.0}


def test_records_of_a_list_count_less_once_a_call_took_another() -> None:
    made = factors(HOSTS, {"called": {3: frozenset({"HIST-BR-03"})}})
    left = {text for text, factor in made.items() if factor == pytest.approx(LEFT_ASIDE_FACTOR)}
    assert any("HIST-BR-04" in text for text in left)
    assert not any("HIST-BR-03" in text for text in left)
    assert set(made) - left


def test_records_count_as_before_while_a_loop_goes_through_their_list() -> None:
    choice = choice_of([CALL, ContextItem("r", ItemKind.TOOL_RESULT, json.dumps(HOSTS), "c")], 99)
    (group,) = choice.groups
    row = group.rows[1]
    item_renditions, ahead = choice.renditions[row.sequence], {row.sequence: [(0, 1)]}
    called = {row.sequence: frozenset({"HIST-BR-03"})}
    plain = scored_parts(group, item_renditions, Scores({group.key: 1.0}, {}, ahead=ahead), 10_000)
    scores = Scores({group.key: 1.0}, {}, ahead=ahead, called=called)
    assert scored_parts(group, item_renditions, scores, 10_000) == plain


ENTRIES = [f"[{n}] Title {n}.\n{f'Entry {n} says what others say. ' * 19}" for n in range(1, 9)]
ENTRY = 160
"""Tokens of an entry, about."""


def offered(entries: list[str], budget: int, held: frozenset[int] = frozenset()) -> set[int]:
    """The numbers of the parts of a text that are offered."""
    text = "\n\n".join(entries)
    choice = choice_of([CALL, ContextItem("r", ItemKind.TOOL_RESULT, text, "c")], 99)
    (group,) = choice.groups
    item_renditions, scores = (
        choice.renditions[group.rows[1].sequence],
        Scores({group.key: 1.0}, {}),
    )
    return {part.number for part in scored_parts(group, item_renditions, scores, budget, held)}


def test_parts_that_are_shown_already_take_no_room_of_others() -> None:
    first = offered(ENTRIES, ENTRY + 40)
    assert first
    more = offered(ENTRIES, ENTRY + 40, frozenset(first))
    assert more
    assert not more & first


def test_a_text_much_longer_than_the_room_offers_what_follows_the_parts_that_are_shown() -> None:
    held = frozenset(range(60))
    lines = "\n".join(f"O-{n:03} | basket {n} | 12.90 EUR | shipped" for n in range(400))
    more = offered([lines], 200, held)
    assert len(more) >= 5
    assert not more & held


def test_what_is_too_large_leaves_its_room_to_smaller_parts() -> None:
    long, short = "It rose by 2 % in each of the years, as others saw. " * 12, "It fell. " * 20
    sizes = (long, long, long, long, short, long, short, long, short, long)
    entries = [
        f"[P{n}] Title of paper {n}.\ndoi:10.5555/{n}\n{text}" for n, text in enumerate(sizes)
    ]
    items = [
        ContextItem("u", ItemKind.USER_TURN, "Which papers are there?"),
        CALL,
        ContextItem("r", ItemKind.TOOL_RESULT, "\n\n".join(entries), "c"),
    ]
    choice = choice_of(items, 412)
    shown = select(choice, Ledger()).shown
    assert choice.cost.exact(shown) > 380


def test_of_a_page_much_larger_than_the_room_its_navigation_is_not_offered() -> None:
    links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(9))
    body = "".join(f"<p>{f'Sentence {n} of the report. ' * 12}</p>" for n in range(30))
    page = (
        f"<html><body><header><nav><ul>{links}</ul></nav></header><main>{body}</main></body></html>"
    )
    choice = choice_of([CALL, ContextItem("r", ItemKind.TOOL_RESULT, page, "c")], 99)
    (group,) = choice.groups
    item_renditions = choice.renditions[group.rows[1].sequence]
    offered = scored_parts(group, item_renditions, Scores({group.key: 1.0}, {}), 150)
    assert offered
    assert not any("Page 3" in part.text for part in offered)
