"""Kinds, limits and replaced plans."""

from tests.session_view import ListView

from weft.compiler.candidates.closure import Group, dependency_closure
from weft.compiler.candidates.phase_rules import shown_in_phase, within_limits
from weft.compiler.ledger import Ledger
from weft_schemas.items import ContextItem, ItemKind
from weft_schemas.policy import Phase, PhaseRule

ALL = tuple(ItemKind)


def groups(items: list[ContextItem]) -> tuple[Group, ...]:
    view = ListView(items)
    return dependency_closure(view, view.span(0, len(items)), Ledger())


def said(item_id: str, kind: ItemKind = ItemKind.AGENT_MSG, **metadata: str) -> ContextItem:
    return ContextItem(item_id, kind, f"text of {item_id}", metadata=metadata)


def ids(made: tuple[Group, ...]) -> list[str]:
    return [group.rows[0].id for group in made]


def test_a_kind_that_the_phase_does_not_show_takes_its_group_with_it() -> None:
    call = ContextItem("c", ItemKind.TOOL_CALL, "f()", metadata={"tool_name": "f"})
    items = [said("a"), call, ContextItem("r", ItemKind.TOOL_RESULT, "ok", "c")]
    rule = PhaseRule((ItemKind.AGENT_MSG, ItemKind.TOOL_CALL))
    ledger = Ledger()
    assert ids(shown_in_phase(groups(items), Phase.ROUTE, rule, ledger)) == ["a"]
    assert [(drop.item_id, drop.reason) for drop in ledger.dropped] == [
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
    ledger = Ledger()
    assert ids(shown_in_phase(groups(items), Phase.CALL, PhaseRule(ALL), ledger)) == ["p2", "p3"]
    assert [(drop.item_id, drop.reason, drop.detail) for drop in ledger.dropped] == [
        ("p1", "superseded", "by plan p3")
    ]


def test_of_a_limited_kind_the_best_stay_and_pinned_ones_go_first() -> None:
    made_of = groups([said("a"), said("b"), said("c")])
    scores = {group.key: score for group, score in zip(made_of, (3.0, 2.0, 1.0), strict=True)}
    rule = PhaseRule(ALL, limits={ItemKind.AGENT_MSG: 2})

    def kept(*pinned: int) -> list[str]:
        settled = frozenset(pinned)
        return ids(within_limits(made_of, scores, settled, Phase.CALL, rule, Ledger()))

    assert kept() == ["a", "b"]
    assert kept(made_of[2].key) == ["a", "c"]
