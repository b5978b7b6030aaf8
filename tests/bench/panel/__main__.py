"""The panel: what stands in the prompts compiled for real sessions, beside plain ways to fill the
same budget; what stable prompts repeat; what prompts promise; and how long a compile takes. In
processes of its own, without services.

`python -m tests.bench.panel [--only grounding,speed] [--half tuned|confirm|all] [--sample 100]
[--budgets 1000,2000] [--alone]` reads the sessions of `WEFT_DATA`. Sessions at even places of their
files are tuned on, those at odd places confirm: read them once per finished design.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.bench.panel import promises
from tests.bench.panel.measuring import PROCESSES, WEFT, Asked, Found, budgets, measure, share
from tests.bench.panel.rows import BASELINES, ROWS, Row, chosen
from tests.bench.panel.speed import speed
from tests.bench.table import show
from tests.data import DATA

COLUMNS = ("row", "budget", "wanted", WEFT, *BASELINES, "n", "ms", "s")
LEGEND = """ms: mean of a compile. s: of a processor, with the measuring. Beside weft,
at the same budgets: newest items until full; all turns and calls with old results cleared; BM25
over items; BM25 over passages of about 150 tokens; the same, a user's turns counting three times.
"""
HALVES = {
    "tuned": "sessions tuned on (at even places)",
    "confirm": "sessions that confirm (at odd places)",
    "all": "all sessions",
}


def main() -> int:
    given = arguments()
    if not DATA.is_dir():
        print(f"no sessions at {DATA}; set WEFT_DATA to where they are", file=sys.stderr)
        return 2
    asked = Asked(given.half, given.sample, given.budgets, given.baselines)
    rows = [row for row in chosen(given.only) if row.only != "promises" or promises.check()]
    if rows:
        with ProcessPoolExecutor(PROCESSES) as pool:
            lines = [line for row in rows for line in lines_of(row, measured(row, asked, pool))]
        used = [at for at, _ in enumerate(COLUMNS) if any(line[at] != "" for line in lines)]
        cells = [[line[at] for at in used] for line in lines]
        show(f"Panel: {HALVES[given.half]}", [COLUMNS[at] for at in used], cells)
        print(LEGEND)
    if not given.only or "speed" in given.only:
        speed()
    return 0


def measured(row: Row, asked: Asked, pool: ProcessPoolExecutor) -> Found:
    begun = time.perf_counter()
    found = measure(row, asked, pool)
    took = time.perf_counter() - begun
    print(f"{row.only} {row.title}: {took:.0f} s", file=sys.stderr, flush=True)
    return found


def lines_of(row: Row, found: Found) -> list[list[object]]:
    """One line a metric and budget; time stands at the first metric."""
    lines: list[list[object]] = []
    for number, metric in enumerate(row.metrics):
        for budget in budgets(found):
            at = {name: one for (size, name), one in found.items() if size == budget}
            wanted = metric.goal(row.budgets.index(budget)) if budget in row.budgets else ""
            cells: list[object] = [f"{row.title}: {metric.title}", budget, wanted]
            for name in (WEFT, *BASELINES):
                said = name in at and (name == WEFT or not metric.only_weft)
                cells.append(_cell(share(at[name].total, metric.share)) if said else "")
            ours = at[WEFT]
            count = f"{getattr(ours.total, row.count):,} {row.unit}"
            timed = [ours.compiling * 1e3 / max(ours.compiles, 1), ours.seconds]
            lines.append([*cells, count, *(timed if number == 0 else ["", ""])])
    return lines


def _cell(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted({*(row.only for row in ROWS), "speed"})
    parser.add_argument("--only", default="", help="comma-separated: " + ", ".join(names))
    parser.add_argument("--half", choices=tuple(HALVES), default="tuned")
    parser.add_argument("--sample", type=int, help="about so many steps or questions a row")
    parser.add_argument("--budgets", default="", help="comma-separated, instead of a row's own")
    parser.add_argument("--alone", dest="baselines", action="store_false", help="no baselines")
    given = parser.parse_args()
    given.only = [name for name in given.only.split(",") if name]
    given.budgets = tuple(int(size) for size in given.budgets.split(",") if size)
    unknown = set(given.only) - set(names)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
