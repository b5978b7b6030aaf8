"""Cache-stable prompts through the services: before every tool call a compile on the pack before
(`stable_from`) and one afresh, where the session exceeds the budget.

`python -m tests.bench.stability [taubench|livemcpbench]` reads the sessions of `WEFT_DATA`. Weft
was tuned on the sessions with even numbers; `held back` are the odd ones. Wanted: a prefix share of
.75, grounding at most .02 below the compile afresh, at most 1.1 times its tokens.
"""

import argparse
import asyncio

from tests.bench.quality import measured, transcripts
from tests.bench.stack import stack
from tests.bench.table import show
from weft.evaluation.stability import measure_stability

SETS = {"taubench": "tau-bench", "livemcpbench": "LiveMCPBench"}
BUDGETS = (1_000, 2_000)
COLUMNS = ("", "budget", "prefix share", "grounding", "afresh", "tokens", "compiles", "values")


async def main(wanted: str) -> None:
    async with stack() as (_, client):
        for folder, title in SETS.items():
            if wanted not in ("", folder):
                continue
            cases = transcripts(folder)
            rows: list[list[object]] = []
            for name, chosen in (("held back", cases[1::2]), ("all", cases)):
                for budget in BUDGETS:
                    found = await measured(client, measure_stability, chosen, budget)
                    shares = found.shares.values()
                    counts = (found.compiles, found.stable.values)
                    rows.append([name, budget, found.share, *shares, *counts])
            show(f"{title}, stable prompts in phase call", COLUMNS, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", choices=["", *SETS])
    asyncio.run(main(parser.parse_args().wanted))
