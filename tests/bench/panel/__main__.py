"""The panel in one process group, without services: what stands in the prompts compiled for real
sessions, beside plain ways to fill the same budget.

`python -m tests.bench.panel [--only grounding,evidence,beam,documents,coding] [--half tuned]
[--sample 100] [--budgets 1000,2000] [--alone]` reads the sessions of `WEFT_DATA`. Sessions at even
places of their files are tuned on, those at odd places confirm.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.bench.panel.measuring import PROCESSES, WEFT, Asked, Found, budgets, measure, share
from tests.bench.panel.rows import BASELINES, ROWS, Row, chosen
from tests.bench.table import show
from tests.data import DATA

COLUMNS = ("row", "budget", "wanted", WEFT, *BASELINES, "n", "ms a compile", "s")


def main() -> int:
    given = arguments()
    if not DATA.is_dir():
        print(f"no sessions at {DATA}; set WEFT_DATA to where they are", file=sys.stderr)
        return 2
    asked = Asked(given.half, given.sample, given.budgets, given.baselines)
    lines: list[list[object]] = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for row in chosen(given.only):
            begun = time.perf_counter()
            found = measure(row, asked, pool)
            took = time.perf_counter() - begun
            print(f"{row.title}: {took:.0f} s", file=sys.stderr, flush=True)
            lines += lines_of(row, found)
    of_half = {"tuned": "sessions tuned on (even)", "confirm": "sessions that confirm (odd)"}
    show(f"Panel: {of_half.get(given.half, 'all sessions')}", COLUMNS, lines)
    return 0


def lines_of(row: Row, found: Found) -> list[list[object]]:
    """One line a metric and budget; time stands at the first metric."""
    lines: list[list[object]] = []
    for number, metric in enumerate(row.metrics):
        for budget in budgets(found):
            at = {name: one for (size, name), one in found.items() if size == budget}
            wanted = dict(zip(row.budgets, metric.wanted, strict=False)).get(budget)
            cells: list[object] = [f"{row.title}: {metric.title}", budget, _cell(wanted)]
            for name in (WEFT, *BASELINES):
                said = name in at and (name == WEFT or not metric.only_weft)
                cells.append(_cell(share(at[name].total, metric.share) if said else None))
            ours = at[WEFT]
            count = getattr(ours.total, row.count)
            timed = [ours.compiling * 1e3 / max(ours.compiles, 1), ours.seconds]
            lines.append([*cells, f"{count} {row.unit}", *(timed if number == 0 else ["", ""])])
    return lines


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted({row.only for row in ROWS})
    parser.add_argument("--only", default="", help="comma-separated: " + ", ".join(names))
    parser.add_argument("--half", choices=("tuned", "confirm", "all"), default="tuned")
    parser.add_argument("--sample", type=int, help="about so many steps or questions a row")
    parser.add_argument("--budgets", default="", help="comma-separated, instead of a row's own")
    parser.add_argument("--alone", dest="baselines", action="store_false", help="no baselines")
    parser.add_argument("--baselines", dest="baselines", action="store_true", default=True)
    given = parser.parse_args()
    given.only = [name for name in given.only.split(",") if name]
    given.budgets = tuple(int(size) for size in given.budgets.split(",") if size)
    unknown = set(given.only) - set(names)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
