"""What a compile keeps of what the next step needs, through the services, beside baselines at the
same budgets: newest items until full, BM25, and contextweaver.

`python -m tests.bench.quality [grounding|evidence|documents] [--contextweaver CASES]` reads the
sessions of `WEFT_DATA`. Weft was tuned on the sessions with even numbers; `held back` are the odd
ones. contextweaver runs on a few of them only: a long session takes it minutes.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.bench.stack import stack
from tests.bench.table import show
from tests.data import DATA
from weft.client import Client
from weft_eval import baselines
from weft_eval.cli.live import LiveCompiles
from weft_eval.documents import measure_documents, read_library
from weft_eval.evidence import measure_evidence
from weft_eval.grounding import measure_grounding
from weft_eval.transcripts import LabelledTranscript, read_labelled

Measure = Callable[..., Any]
OTHERS = {"newest until full": baselines.newest, "BM25": baselines.bm25}

SETS: tuple[tuple[str, str, Measure, tuple[int, ...]], ...] = (
    ("tau-bench grounding, phase call", "taubench", measure_grounding, (500, 1_000, 2_000)),
    (
        "LiveMCPBench grounding, phase call",
        "livemcpbench",
        measure_grounding,
        (500, 1_000, 2_000, 4_000),
    ),
    ("LoCoMo evidence, phase answer", "locomo", measure_evidence, (1_000, 2_000, 4_000)),
)


def transcripts(folder: str) -> list[LabelledTranscript]:
    return [one for path in sorted((DATA / folder).glob("*.json")) for one in read_labelled(path)]


async def measured(
    client: Client, measure: Measure, cases: Sequence[LabelledTranscript], budget: int
) -> Any:
    live = LiveCompiles(client, asyncio.get_running_loop())
    return await asyncio.to_thread(measure, cases, live, budget)


async def compare(client: Client, wanted: str, theirs: int) -> None:
    for title, folder, measure, budgets in SETS:
        if wanted not in ("", measure.__name__.removeprefix("measure_")):
            continue
        cases = transcripts(folder)
        halves = {"all": cases, "held back": cases[1::2]}
        rows: list[list[object]] = []
        for name, chosen in halves.items():
            found = [await measured(client, measure, chosen, budget) for budget in budgets]
            rows.append([f"weft, {name}", *(one.share for one in found), _n(found[0])])
            if name == "held back":
                rows += _beside(found)
        for name, compile_at in OTHERS.items():
            found = [measure(cases[1::2], compile_at, budget) for budget in budgets]
            rows.append([f"{name}, held back", *(one.share for one in found), _n(found[0])])
        if theirs:
            few = cases[1::2][:theirs]
            found = [measure(few, baselines.contextweaver, budget) for budget in budgets]
            rows.append(
                [f"contextweaver, {len(few)} of them", *(one.share for one in found), _n(found[0])]
            )
        show(title, ["", *map(str, budgets), "n"], rows)


def _n(found: Any) -> str:
    return f"{found.values} values" if hasattr(found, "values") else f"{found.turns} turns"


def _beside(found: Sequence[Any]) -> list[list[object]]:
    """What stands beside a share: the providers' messages, what could be reached at all, and tokens
    outside blocks or the short turns."""
    names = {"openai": "its OpenAI messages", "anthropic": "its Anthropic messages"}
    rows: list[list[object]] = [
        [f"  {names.get(name, name)}", *(one.shares[name] for one in found), ""]
        for name in found[0].shares
    ]
    if hasattr(found[0], "frame_share"):
        frames = (one.frame_share for one in found)
        rows.append(["  share of tokens outside items", *frames, ""])
    else:
        short = (f"{one.short_found} of {one.short_turns}" for one in found)
        rows.append(["  turns under 20 characters, found", *short, ""])
    return rows


async def documents(client: Client) -> None:
    cases = [read_library(DATA / "tau2_banking")]
    budgets = (2_000, 4_000)
    rows: list[list[object]] = []
    live = LiveCompiles(client, asyncio.get_running_loop())
    found = [await asyncio.to_thread(measure_documents, cases, live, budget) for budget in budgets]
    rows.append(["weft", *(one.share for one in found), found[0].documents])
    for name, compile_at in OTHERS.items():
        found = [measure_documents(cases, compile_at, budget) for budget in budgets]
        rows.append([name, *(one.share for one in found), found[0].documents])
    show("tau2 banking: required documents", ["", *map(str, budgets), "n"], rows)


async def main(wanted: str, theirs: int) -> None:
    async with stack() as (_, client):
        await compare(client, wanted, theirs)
        if wanted in ("", "documents"):
            await documents(client)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "wanted", nargs="?", default="", choices=["", "grounding", "evidence", "documents"]
    )
    parser.add_argument("--contextweaver", type=int, default=3, metavar="CASES")
    chosen = parser.parse_args()
    asyncio.run(main(chosen.wanted, chosen.contextweaver))
