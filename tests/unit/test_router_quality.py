"""Routing on real queries, where they are: floors that a change must not fall through."""

from functools import partial

import pytest
from tests.bench.routing import crowd
from tests.data import DATA, needs_data

from weft.router.confidence import THRESHOLD
from weft.router.router import Router
from weft_eval.hydration import hydration_recall
from weft_eval.routing import abstention, bm25, graph_against_flat, recall, routed
from weft_eval.routing_sets import RoutingSet, bfcl, metatool


@pytest.fixture(scope="module")
def real() -> dict[str, RoutingSet]:
    files = sorted((DATA / "bfcl").glob("BFCL*.json"))
    return {"MetaTool": metatool(DATA / "metatool"), "BFCL": bfcl(files)}


@needs_data
@pytest.mark.parametrize(("name", "floor"), [("MetaTool", 0.7), ("BFCL", 0.93)])
def test_recall_at_five(real: dict[str, RoutingSet], name: str, floor: float) -> None:
    ours = recall("weft", partial(routed, real[name].items), real[name].cases[:600])
    theirs = recall("flat BM25", partial(bm25, real[name].items), real[name].cases[:600])
    assert ours.at[5] >= floor
    assert ours.at[5] > theirs.at[5]


@needs_data
@pytest.mark.parametrize("name", ["MetaTool", "BFCL"])
def test_the_graph_loses_nothing_of_the_flat_ranking(
    real: dict[str, RoutingSet], name: str
) -> None:
    queries = [case.query for case in real[name].cases[:300]]
    assert graph_against_flat(Router(real[name].items), queries).recall >= 0.98


@needs_data
def test_it_abstains_rightly_more_often_than_a_threshold_on_the_score(
    real: dict[str, RoutingSet],
) -> None:
    found = abstention(real["MetaTool"])
    ours, plain = found.curve[0.05]
    assert ours >= 1.2 * plain
    assert found.threshold == pytest.approx(THRESHOLD, abs=0.005)


@needs_data
def test_hydration_offers_the_right_value_among_three() -> None:
    assert hydration_recall(DATA / "taubench" / "gpt-4o-airline.json").in_three >= 0.75


def test_near_copies_are_told_apart_better_than_by_flat_bm25() -> None:
    crowded = crowd(1_000)
    ours = recall("weft", partial(routed, crowded.items), crowded.cases)
    theirs = recall("flat BM25", partial(bm25, crowded.items), crowded.cases)
    assert ours.at[5] > theirs.at[5]


def test_at_ten_thousand_tools_a_tenth_of_the_leaves_is_enough() -> None:
    crowded = crowd(10_000)
    found = graph_against_flat(Router(crowded.items), [case.query for case in crowded.cases])
    assert found.recall >= 0.98
    assert found.leaves_most <= 1_000
