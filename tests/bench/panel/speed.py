"""How long a compile takes as a session and its budget grow, in one process: a new item folded
before each, a new query, all four phases in turn. Garbage is collected as the service does."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from itertools import pairwise

from tests.bench.compilable import result as made
from tests.bench.compiling import ITEM_BYTES, items
from tests.bench.indexer import Words
from tests.bench.table import quantile, show
from weft import tokens
from weft.compiler.compile import compile_pack
from weft.firewall.derive import envelope_for
from weft.log.record import LogRecord
from weft.readmodel.fold import Fold
from weft.readmodel.model import ReadModel, records_of
from weft.replica_service.service import collect_seldom
from weft_eval.in_process import TENANT
from weft_schemas.compile import CompileRequest
from weft_schemas.events import EnvelopeEvent, Origin
from weft_schemas.items import ContextItem
from weft_schemas.policy import ContextPolicy, Phase

SESSION = "grown"
SIZES = (1_000, 10_000, 100_000)
BUDGETS = (2_000, 32_000, 128_000)
WANTED = {2_000: 10.0, 32_000: 40.0, 128_000: 150.0}
"""Milliseconds of the median at 10,000 items."""
ROUNDS = 40
WARM_UP = 8
"""Compiles before the clock starts: two of each phase."""
RESULT_KB, RESULT_WANTED = 200, 60.0
RESULT_COLUMNS = (
    "KB", "session", "wanted p50 ms", "p50 ms", "least", "envelope", "fold", "compile", "seal", "n",
)  # fmt: skip
COLUMNS = ("items", "budget", "wanted p50 ms", "p50 ms", "p99 ms", "p99/p50", "tokens shown", "n")


def speed(sizes: Sequence[int] = SIZES, budgets: Sequence[int] = BUDGETS) -> None:
    """Print the table."""
    rows = [row for size in sizes for row in _of_size(size, budgets)]
    show(f"Compiles of sessions of items of {ITEM_BYTES} bytes, one process", COLUMNS, rows)
    title = "From a raw result to a compile that holds it, milliseconds of a processor, one process"
    show(title, RESULT_COLUMNS, [_of_results("each"), _of_results("one")])


def _of_results(session_of: str) -> list[object]:
    """A result of 200 KB after the other, in a session of `each` or all in `one`: from the raw
    result through envelope, fold and compile, as three services do it in turn, without what passes
    between them. Medians, in milliseconds of a processor."""
    model, spent = ReadModel.in_memory([]), list[list[float]]()
    fold = Fold(model.db)
    gc.collect()
    collect_seldom()
    for number in range(WARM_UP + ROUNDS):
        session = SESSION if session_of == "one" else f"{SESSION}-{number}"
        call, result = records_of(made(number, RESULT_KB), TENANT, session, 3 * number + 1)
        fold.apply([call])
        moments = [time.process_time()]
        fold.apply([result])
        envelope = _envelope(result, session)
        moments.append(time.process_time())
        fold.apply(records_of([envelope], TENANT, session, result.sequence + 1))
        moments.append(time.process_time())
        request = CompileRequest(phase=Phase.INTERPRET)
        pack = compile_pack(model.view(TENANT, session), request).pack
        moments.append(time.process_time())
        assert envelope.origin.item_id in pack.stats.included_items
        fold.seal()  # nobody waits for it
        moments.append(time.process_time())
        spent.append([(end - begin) * 1e3 for begin, end in pairwise(moments)])
    model.close()
    gc.unfreeze()
    steps = list(zip(*spent[WARM_UP:], strict=True))
    whole = [sum(one) for one in zip(*steps[:-1], strict=True)]
    parts = [quantile(step, 0.5) for step in steps]
    return [
        RESULT_KB,
        session_of,
        RESULT_WANTED,
        quantile(whole, 0.5),
        min(whole),
        *parts,
        len(whole),
    ]


def _envelope(record: LogRecord, session: str) -> EnvelopeEvent:
    item = record.event()
    assert isinstance(item, ContextItem)
    return envelope_for(
        item,
        item.text,
        origin=Origin(record.sequence, item.id, "firewall"),
        rules=ContextPolicy().firewall,
        fingerprint_key=b"panel",
        encoding=tokens.DEFAULT_ENCODING,
        tenant=TENANT,
        session=session,
    )


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
