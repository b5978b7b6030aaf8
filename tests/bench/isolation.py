"""What one tenant's heavy work costs another: the p99 of its small compiles and the longest
`/live` of each service, without the load and beside it, in turn.

`python -m tests.bench.isolation [WINDOWS]`. The loads are those of `tests/heavy_load.py`: 20
drill-downs of a 6 MB table, 4 compiles at 128,000 tokens, 4 hydrations of large texts and 20 small
compiles in the air at any time; and results of 50 MB, 6 MB and 250 KB that are published one after
the other, with three compiles from them in the air.
"""

import asyncio
import sys

from tests.bench.stack import stack
from tests.bench.table import show
from tests.heavy_load import LOADS, Measured, measured, ready

WINDOWS = 7
TIMES = 200
"""Compiles in each."""


async def measure(windows: int, load: str) -> Measured:
    async with stack() as (up, _), ready(up.settings) as clients:
        return await measured(clients, up.settings, load, windows, TIMES)


def report(load: str, found: Measured) -> None:
    quiet, beside = found.compile_p99(found.quiet), found.compile_p99(found.beside)
    rows = [("a small compile, p99", quiet * 1e3, beside * 1e3, beside / quiet)]
    for service in found.services:
        quiet = found.live_longest(found.quiet, service)
        beside = found.live_longest(found.beside, service)
        rows.append((f"/live of the {service}, longest", quiet * 1e3, beside * 1e3, beside / quiet))
    windows = len(found.quiet)
    title = f"Beside another tenant's heavy work, {load} (medians of {windows} windows)"
    show(title, ("what", "quiet, ms", "beside, ms", "ratio"), rows)


def main() -> None:
    windows = int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS
    for load in LOADS:
        report(load, asyncio.run(measure(windows, load)))


if __name__ == "__main__":
    main()
