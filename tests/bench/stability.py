"""Cache-stable prompts through the services: before every tool call a compile on the pack before
(`stable_from`) and one afresh, where the session exceeds the budget.

`python -m tests.bench.stability [taubench|livemcpbench] [--runs N]` reads the sessions of
`WEFT_DATA`. Weft was tuned on the sessions with even numbers; `held back` are the odd ones. Wanted:
a prefix share of .75, grounding at most .02 below the compile afresh, at most 1.1 times its tokens.

Runs differ: each publishes under new session names, whose artifact handles take a token more or
less, and one replacement that falls a step earlier changes all that follow. So the table gives the
mean of some runs, and of what is lost the least and the most.
"""

import argparse
import asyncio
from collections.abc import Sequence
from statistics import mean

from tests.bench.quality import measured, transcripts
from tests.bench.stack import stack
from tests.bench.table import show
from weft_eval.stability import Stability, measure_stability

SETS = {"taubench": "tau-bench", "livemcpbench": "LiveMCPBench"}
BUDGETS = (1_000, 2_000)
SHARES = ("prefix share", "grounding", "afresh", "lost", "tokens")
COLUMNS = ("", "budget", *SHARES, "compiles", "values")


async def main(wanted: str, runs: int) -> None:
    async with stack() as (_, client):
        for folder, title in SETS.items():
            if wanted not in ("", folder):
                continue
            cases = transcripts(folder)
            rows: list[list[object]] = []
            for name, chosen in (("held back", cases[1::2]), ("all", cases)):
                for budget in BUDGETS:
                    found = [
                        await measured(client, measure_stability, chosen, budget)
                        for _ in range(runs)
                    ]
                    rows.append([name, budget, *_averaged(found)])
            show(f"{title}, stable prompts in phase call, {runs} runs", COLUMNS, rows)


def _averaged(found: Sequence[Stability]) -> list[object]:
    lost = [one.fresh.share - one.stable.share for one in found]
    ratio = mean(one.shares["token_ratio"] for one in found)
    return [
        mean(one.share for one in found),
        mean(one.stable.share for one in found),
        mean(one.fresh.share for one in found),
        f"{mean(lost):.3f} ({min(lost):.3f} to {max(lost):.3f})",
        ratio,
        found[0].compiles,
        found[0].stable.values,
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", choices=["", *SETS])
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    asyncio.run(main(given.wanted, given.runs))
