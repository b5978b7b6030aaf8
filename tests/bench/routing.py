"""Routing: recall, the graph against the flat ranking, abstention, hydration, speed and growth.

Sets: MetaTool and BFCL where they are, and near-copies of contextweaver's sample catalogue (80
tools; `near_copies` says how they are made) with queries of our own in other words than the tools'.
`--encoder minilm` measures with embeddings, where the extra `embeddings` is installed.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from contextweaver.routing.catalog import generate_sample_catalog

from tests.bench.table import quantile, show
from tests.data import DATA
from weft.router.formats import item_from
from weft.router.fusion import Encoder, encoder_named
from weft.router.router import Router
from weft.router.tree_builder import TreeBuilder
from weft_eval.hydration import hydration_recall
from weft_eval.routing import (
    KS,
    Rank,
    RoutingRecall,
    abstention,
    bm25,
    contextweaver,
    graph_against_flat,
    recall,
    routed,
)
from weft_eval.routing_sets import RoutingCase, RoutingSet, bfcl, metatool, near_copies
from weft_schemas.routing import RouteRequest, SelectableItem

QUERIES = Path(__file__).with_name("routing_queries.json")
SIZES = (1_000, 10_000, 100_000)
ROUTED = 300
"""Queries per size; contextweaver gets fewer, since it takes seconds for each."""
THEIRS_ROUTED = 5
THEIRS_MOST = 10_000
"""Tools: with more, contextweaver takes minutes for a query."""
ADDED = 50


def crowd(count: int) -> RoutingSet:
    base = [item_from(entry, place) for place, entry in enumerate(generate_sample_catalog(), 1)]
    cases = tuple(RoutingCase(query, (gold,)) for query, gold in json.loads(QUERIES.read_text()))
    return RoutingSet(f"{count:,} tools, near-copies", tuple(near_copies(base, count)), cases)


def sets() -> list[RoutingSet]:
    real = []
    if (DATA / "metatool").is_dir():
        real.append(metatool(DATA / "metatool"))
    if (DATA / "bfcl").is_dir():
        real.append(bfcl((DATA / "bfcl").glob("BFCL*.json")))
    return [*real, crowd(80), crowd(1_000)]


def quality(encoder: Encoder | None) -> None:
    rows = []
    for one in sets():
        builds: dict[str, Callable[[], Rank]] = {"weft": partial(routed, one.items)}
        if encoder is not None:
            builds["weft, embeddings"] = partial(routed, one.items, encoder)
        builds["flat BM25"] = partial(bm25, one.items)
        builds["contextweaver"] = partial(contextweaver, one.items)
        rows += [_recall_row(one, recall(name, made, one.cases)) for name, made in builds.items()]
    columns = ["set", "tools", "router", "n", *(f"recall@{k}" for k in KS), "p50 ms", "build s"]
    show("Recall", columns, rows)


def _recall_row(one: RoutingSet, found: RoutingRecall) -> list[object]:
    shares = [found.at[k] for k in KS]
    size = len(one.items)
    return [one.name, size, found.name, found.queries, *shares, found.p50_ms, found.build_s]


def graph() -> None:
    rows = []
    for one in [*sets(), crowd(10_000)]:
        queries = [case.query for case in one.cases[:500]]
        against = graph_against_flat(Router(one.items), queries)
        rows.append(
            [
                one.name,
                len(queries),
                against.recall,
                against.leaves_median,
                against.leaves_most,
                against.leaves_most / against.total,
            ]
        )
    columns = ["set", "n", "share of the flat top 5", "leaves p50", "leaves most", "share most"]
    show("The graph against the flat ranking, same scorer", columns, rows)


def doubt() -> None:
    rows = []
    for one in sets()[:2]:
        found = abstention(one)
        for false, (ours, plain) in found.curve.items():
            rows.append([one.name, len(one.cases) // 2, false, ours, plain])
        print(
            f"{one.name}: weights {[round(w, 2) for w in found.weights]}, threshold "
            f"{found.threshold:.3f}: false {found.false:.3f}, right {found.right:.3f}"
        )
    columns = ["set", "n", "false abstentions", "right ones", "by a plain score"]
    show("Abstention, calibrated on one half, on the other", columns, rows)


def speed() -> None:
    columns = ["tools", "build s", "route p50 ms", "p99 ms", "add one, most ms"]
    columns += ["contextweaver p50 ms", "times faster", "peak MiB"]
    title = f"Speed, {ROUTED} queries (contextweaver {THEIRS_ROUTED})"
    show(title, columns, [_speed_row(crowd(size)) for size in SIZES])


def _speed_row(chosen: RoutingSet) -> list[object]:
    started = time.perf_counter()
    router = Router(chosen.items)
    built = time.perf_counter() - started
    queries = [chosen.cases[n % len(chosen.cases)].query for n in range(ROUTED)]
    ours = [_timed(partial(router.route, RouteRequest(query, ""))) for query in queries]
    more = [[*chosen.items, *_new(chosen.items)[:count]] for count in range(1, ADDED + 1)]
    added = [_timed(partial(router.update, items)) for items in more]
    p50 = median(ours) * 1e3
    theirs = _theirs(chosen) if len(chosen.items) <= THEIRS_MOST else None
    return [
        len(chosen.items),
        built,
        p50,
        quantile(ours, 0.99) * 1e3,
        max(added) * 1e3,
        "-" if theirs is None else theirs,
        "-" if theirs is None else theirs / p50,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    ]


def _theirs(chosen: RoutingSet) -> float:
    rank = contextweaver(chosen.items)
    queries = [case.query for case in chosen.cases[:THEIRS_ROUTED]]
    rank(queries[-1], 5)  # their index is made by the first query
    return median(_timed(partial(rank, query, 5)) for query in queries) * 1e3


def _new(items: tuple[SelectableItem, ...]) -> list[SelectableItem]:
    chosen = items[:: max(1, len(items) // ADDED)][:ADDED]
    return [
        SelectableItem(f"new{n}", f"new_{item.name}", item.description, namespace=item.namespace)
        for n, item in enumerate(chosen)
    ]


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def shape() -> None:
    rows = []
    for one in [*sets(), crowd(10_000)]:
        made = TreeBuilder().build(list(one.items))
        rows.append([one.name, made.strategy, made.reason])
    show("What TreeBuilder chose", ["set", "strategy", "reason"], rows)


def values() -> None:
    file = DATA / "taubench" / "gpt-4o-airline.json"
    if file.is_file():
        found = hydration_recall(file)
        columns = ["values", "among the first 3", "first"]
        show("Hydration on tau-bench", columns, [[found.values, found.in_three, found.first]])


def main() -> None:
    encoder = encoder_named("minilm") if "--encoder" in sys.argv else None
    quality(encoder)
    graph()
    doubt()
    values()
    shape()
    speed()


if __name__ == "__main__":
    main()
