"""How long a compile takes as a session and its budget grow, in one process: a new item folded
before each, a new query, all four phases in turn. Garbage is collected as the service does."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

from tests.bench.compiling import ITEM_BYTES, items
from tests.bench.indexer import Words
from tests.bench.table import quantile, show
from weft.compiler.compile import compile_pack
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.replica_service import collect_seldom
from weft_eval.in_process import TENANT
from weft_schemas.compile import CompileRequest
from weft_schemas.policy import Phase

SESSION = "grown"
SIZES = (1_000, 10_000, 100_000)
BUDGETS = (2_000, 32_000, 128_000)
WANTED = {2_000: 10.0, 32_000: 40.0, 128_000: 150.0}
"""Milliseconds of the median at 10,000 items."""
ROUNDS = 40
WARM_UP = 8
"""Compiles before the clock starts: two of each phase."""
COLUMNS = ("items", "budget", "wanted p50 ms", "p50 ms", "p99 ms", "p99/p50", "tokens shown", "n")


def speed(sizes: Sequence[int] = SIZES, budgets: Sequence[int] = BUDGETS) -> None:
    """Print the table."""
    rows = [row for size in sizes for row in _of_size(size, budgets)]
    show(f"Compiles of sessions of items of {ITEM_BYTES} bytes, one process", COLUMNS, rows)


def _of_size(size: int, budgets: Sequence[int]) -> list[list[object]]:
    words = Words(size)
    model = ReadModel.in_memory(records_of(items(words, 0, size), TENANT, SESSION))
    fold = Fold(model.db)
    gc.collect()
    collect_seldom()
    rows: list[list[object]] = []
    last = size
    for budget in budgets:
        taken, shown = [], []
        for number in range(WARM_UP + ROUNDS):
            one = items(words, last, 1)
            fold.apply(records_of(one, TENANT, SESSION, first_sequence=last + 1))
            last += 1
            spent, tokens = _compile(model, words.rare(), number, budget)
            if number >= WARM_UP:
                taken.append(spent)
                shown.append(tokens)
        p50, p99 = quantile(taken, 0.5), quantile(taken, 0.99)
        wanted = WANTED.get(budget, "") if size > SIZES[0] else ""
        mean = sum(shown) // len(shown)
        rows.append([size, budget, wanted, p50, p99, p99 / p50, mean, len(taken)])
    model.close()
    gc.unfreeze()
    return rows


def _compile(model: ReadModel, query: str, number: int, budget: int) -> tuple[float, int]:
    """Milliseconds, and tokens of the prompt."""
    phase = list(Phase)[number % len(Phase)]
    begun = time.perf_counter()
    view = model.view(TENANT, SESSION)
    made = compile_pack(view, CompileRequest(phase=phase, budget=budget, query=query))
    return (time.perf_counter() - begun) * 1e3, made.pack.stats.prompt_tokens
