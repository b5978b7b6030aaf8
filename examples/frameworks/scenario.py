"""The same work for every framework: a shop's agent looks for the largest order.

A model that follows a script, so that nothing but the framework and weft is tried: it calls three
tools side by side, of which one returns 300 KB and one fails, then one more, and then answers.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

QUESTION = "Which order of October was the largest, and is it shipped?"
SYSTEM = "You answer questions about the orders of a lamp shop."
ANSWER = "Order 1804 was the largest, with 2,060.09; it is shipped."
BUDGET = 4_000
"""Tokens. The orders alone have 100,000."""


class Call(NamedTuple):
    id: str
    name: str
    arguments: dict[str, Any]


STEPS: tuple[tuple[str, tuple[Call, ...]], ...] = (
    (
        "I read the orders, the stock and the carrier's notes.",
        (
            Call("call_orders", "read_orders", {"month": "2026-10"}),
            Call("call_notes", "carrier_notes", {"month": "2026-10"}),
            Call("call_stock", "stock_of", {"lamp": "Aurora"}),
        ),
    ),
    ("", (Call("call_shipped", "is_shipped", {"order": 1804}),)),
    (ANSWER, ()),
)
"""What the model says and calls, step by step."""


def answer(step: int, prompt: str) -> tuple[str, tuple[Call, ...]]:
    """What a model says and calls that also looks behind the handle of the 300 KB."""
    text, calls = STEPS[step]
    handle = re.search(r"art:[a-z2-7]{10}", prompt)
    if step == 1 and handle and not os.environ.get("WITHOUT_DRILL"):
        asked = {"handle": handle[0], "view": "search", "args": {"pattern": "2060.09"}}
        calls = (*calls, Call("call_drill", "weft_drilldown", asked))
    return text, calls


def read_orders(month: str) -> str:
    """All orders of a month, as JSON."""
    orders = [
        {
            "order": number,
            "customer": f"customer-{number * 37 % 991}",
            "lamp": ("Aurora", "Boreal", "Candle")[number % 3],
            "total": 2060.09 if number == 1804 else round(20 + number * 7919 % 100_000 / 100, 2),
            "ordered": f"{month}-{number % 28 + 1:02}",
        }
        for number in range(1, 3_201)
    ]
    text = json.dumps(orders)
    assert len(text) > 300_000
    return text


def carrier_notes(month: str) -> str:
    """What the carrier wrote about a month's parcels."""
    raise ConnectionError(f"the carrier's server refused the notes of {month}")


def stock_of(lamp: str) -> str:
    """How many lamps of a kind are there."""
    return f"{lamp}: 17 in stock"


def is_shipped(order: int) -> str:
    """Whether an order has left the house."""
    return f"order {order} was shipped on 2026-10-30"


TOOLS = (read_orders, carrier_notes, stock_of, is_shipped)


def check(step: int, prompt: str, drills: bool = True) -> None:
    """What a model of step `step` (from 0) was sent, as one text: within its budget, and the latest
    things in it."""
    print(f"step {step}: the model was sent {len(prompt):,} characters")
    assert QUESTION in prompt
    if os.environ.get("WITHOUT_WEFT"):
        return
    assert len(prompt) < 40_000, "the compiled context is within its budget"
    if step == 1:
        assert "17 in stock" in prompt
        assert "the carrier's server refused the notes" in prompt
        assert "art:" in prompt, "the 300 KB stand behind a handle"
    if step == 2:
        assert "shipped on 2026-10-30" in prompt
        if drills and not os.environ.get("WITHOUT_DRILL"):
            behind = prompt[prompt.rindex("weft_drilldown") :]
            assert "failed" not in behind
            assert re.search(r"1804\b.*2060\.09", behind, re.S), "the slice"
