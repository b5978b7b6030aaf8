"""What one tenant's heavy work costs another, and its own small requests: the median and p99 of
small compiles and the longest `/live` of each service, without the load and beside it, in turn.

`python -m tests.bench.isolation [WINDOWS] [LOAD]`. The loads are those of `tests/heavy_load.py`: 20
drill-downs of a 6 MB table, 4 compiles at 128,000 tokens, 4 hydrations of large texts and 20 small
compiles in the air at any time; and results of 50 MB, 6 MB and 250 KB that are published one after
the other, with three compiles from them in the air; and 8 compiles at 128,000 tokens in the air.
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
    rows = []
    for share, seconds in (("p50", found.compile_p50), ("p99", found.compile_p99)):
        quiet = seconds(found.quiet)
        for whose, windows in (("another's", found.beside), ("its own", found.own)):
            if windows:
                what, beside = f"{whose} small compile, {share}", seconds(windows)
                rows.append((what, quiet * 1e3, beside * 1e3, beside / quiet))
    for service in found.services:
        quiet = found.live_longest(found.quiet, service)
        beside = found.live_longest(found.beside, service)
        rows.append((f"/live of the {service}, longest", quiet * 1e3, beside * 1e3, beside / quiet))
    title = f"Beside a tenant's heavy work, {load} (medians of {len(found.quiet)} windows)"
    show(title, ("what", "quiet, ms", "beside, ms", "ratio"), rows)


def main() -> None:
    windows = int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS
    for load in sys.argv[2:] or LOADS:
        report(load, asyncio.run(measure(windows, load)))


if __name__ == "__main__":
    main()
