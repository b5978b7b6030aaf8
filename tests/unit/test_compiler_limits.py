"""Kinds, limits, replaced plans, and how many groups have a chance."""

from tests.session_view import ListView

from weft.compiler.closure import Group, close
from weft.compiler.limits import Limited, apply_limits, pool, showable
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase, PhaseRule

ALL = tuple(ItemKind)


def groups(items: list[ContextItem]) -> tuple[Group, ...]:
    view = ListView(items)
    return close(view, view.span(0, len(items))).groups


def said(item_id: str, kind: ItemKind = ItemKind.AGENT_MSG, **metadata: str) -> ContextItem:
    return ContextItem(item_id, kind, f"text of {item_id}", metadata=metadata)


def kept(made: Limited) -> list[str]:
    return [group.rows[0].id for group in made.groups]


def test_a_kind_that_the_phase_does_not_show_takes_its_group_with_it() -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, "f()", metadata={"tool_name": "f"})
    items = [said("a"), call, ContextItem("r", ItemKind.TOOL_RESULT, "ok", "c")]
    rule = PhaseRule((ItemKind.AGENT_MSG, ItemKind.TOOL_CALL))
    made = showable(groups(items), Phase.ROUTE, rule)
    assert kept(made) == ["a"]
    assert [(drop.item_id, drop.reason) for drop in made.dropped] == [
        ("c", "kind_limit"),
        ("r", "kind_limit"),
    ]


def test_a_plan_is_replaced_by_a_newer_one_of_the_same_author_only() -> None:
    plan = ItemKind.PLAN_STATE
    items = [
        said("p1", plan, author="x"),
        said("p2", plan, author="y"),
        said("p3", plan, author="x"),
    ]
    made = showable(groups(items), Phase.CALL, PhaseRule(ALL))
    assert kept(made) == ["p2", "p3"]
    assert [(drop.item_id, drop.reason, drop.detail) for drop in made.dropped] == [
        ("p1", "superseded", "by plan p3")
    ]


def test_of_a_limited_kind_the_best_stay_and_pinned_ones_go_first() -> None:
    made_of = groups([said("a"), said("b"), said("c")])
    scores = {group.key: score for group, score in zip(made_of, (3.0, 2.0, 1.0), strict=True)}
    rule = PhaseRule(ALL, limits={ItemKind.AGENT_MSG: 2})
    assert kept(apply_limits(made_of, scores, frozenset(), Phase.CALL, rule)) == ["a", "b"]
    pinned = frozenset({made_of[2].key})
    assert kept(apply_limits(made_of, scores, pinned, Phase.CALL, rule)) == ["a", "c"]


def test_only_so_many_as_can_fill_the_budget_are_taken_apart() -> None:
    made_of = groups([said(f"a{n}") for n in range(50)])
    scores = {group.key: float(group.key) for group in made_of}
    best = pool(made_of, scores, frozenset({made_of[0].key}), 20)
    assert best[0] == made_of[0]
    assert best[1:] == made_of[-len(best) + 1 :]
    assert len(best) < 12
