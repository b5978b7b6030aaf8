"""What one tenant's heavy requests cost another: the p99 of its small compiles and the longest
`/live` of each service, without the load and beside it, in turn.

`python -m tests.bench.isolation [WINDOWS]`. The load is that of `tests/heavy_load.py`: 20
drill-downs of a 6 MB table, 4 compiles at 128,000 tokens, 4 hydrations of large texts and 20 small
compiles in the air at any time.
"""

import asyncio
import sys

from tests.bench.stack import stack
from tests.bench.table import show
from tests.heavy_load import Measured, live_beside_huge_results, measured, ready

WINDOWS = 7
TIMES = 200
"""Compiles in each."""


async def measure(windows: int) -> tuple[Measured, dict[str, float]]:
    async with stack() as (up, _), ready(up.settings) as (victim, hostile, ports):
        url, secret = up.settings.nats_url, up.settings.fingerprint_key
        found = await measured(victim, ports, url, secret, windows, TIMES)
        return found, await live_beside_huge_results(hostile, ports)


def main() -> None:
    found, huge = asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS))
    quiet, beside = found.compile_p99(found.quiet), found.compile_p99(found.beside)
    rows = [("a small compile, p99", quiet * 1e3, beside * 1e3, beside / quiet)]
    for service in found.services:
        quiet = found.live_longest(found.quiet, service)
        beside = found.live_longest(found.beside, service)
        rows.append((f"/live of the {service}, longest", quiet * 1e3, beside * 1e3, beside / quiet))
    title = f"Beside another tenant's heavy requests (medians of {len(found.quiet)} windows)"
    show(title, ("what", "quiet, ms", "beside, ms", "ratio"), rows)
    longest = [(service, huge[service] * 1e3) for service in found.services]
    show("Beside results of 250 KB", ("/live of the", "longest, ms"), longest)


if __name__ == "__main__":
    main()
