"""Made texts of each form and of any size, to measure on: the same in every run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

_WORDS = [
    "the",
    "system",
    "of",
    "records",
    "keeps",
    "every",
    "event",
    "and",
    "each",
    "reader",
    "may",
    "follow",
    "it",
    "from",
    "any",
    "point",
    "while",
    "workers",
    "derive",
    "small",
    "facts",
    "about",
    "London",
    "and",
    "1984",
]


def made_text(form: str, size: int) -> str:
    """About `size` bytes of a form that `FORMS` names."""
    rng = random.Random(form)
    if form == "json":
        return _json(rng, size)
    first, line = _LINES[form]
    parts, length = [first] if first else [], len(first)
    while length < size:
        parts.append(line(rng))
        length += len(parts[-1]) + 1
    return "\n".join(parts)


def _json(rng: random.Random, size: int) -> str:
    rows: list[dict[str, object]] = []
    length = 0
    while length < size:
        row = {
            "id": f"inv_{rng.randrange(10**6)}",
            "number": f"INV-{rng.randrange(10**5)}",
            "customer": {"name": rng.choice(("Acme", "Globex")), "email": "billing@example.com"},
            "amount": round(rng.random() * 1000, 2),
            "created_at": f"2024-05-{rng.randint(1, 28):02d}T10:00:00Z",
            "note": " ".join(rng.choice(_WORDS) for _ in range(12)),
        }
        rows.append(row)
        length += len(json.dumps(row)) + 2
    return json.dumps({"invoices": rows, "next": None})


def _sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(6, 24))).capitalize() + "."


_LINES: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "csv": (
        "id,name,amount,date,city",
        lambda r: (
            f"{r.randrange(10**6)},name {r.randrange(99)},{r.random() * 100:.2f},2024-05-01,Oslo"
        ),
    ),
    "log": (
        "",
        lambda r: (
            f"2024-05-01 10:{r.randrange(60):02d}:{r.randrange(60):02d},123 "
            f"{r.choice(('INFO', 'INFO', 'INFO', 'ERROR'))} worker-{r.randrange(8)} "
            f"request /api/items/{r.randrange(9999)} took {r.randrange(900)} ms"
        ),
    ),
    "traceback": (
        "Traceback (most recent call last):",
        lambda r: (
            f'  File "/app/m{r.randrange(99)}.py", line {r.randrange(900)}, in call\n    go(x)'
        ),
    ),
    "diff": (
        "",
        lambda r: (
            f"diff --git a/f{r.randrange(99)}.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n"
            f"-old {r.randrange(99)}\n+new {r.randrange(99)}"
        ),
    ),
    "tests": (
        "============ test session starts ============",
        lambda r: f"tests/test_m{r.randrange(999)}.py::test_works {r.choice(('PASSED', 'FAILED'))}",
    ),
    "html": (
        "<!doctype html><html><head><title>Page</title></head><body>",
        lambda r: (
            f"<div class='c'><h2>Heading {r.randrange(99)}</h2><p>{_sentence(r)} "
            f"<a href='https://example.com/{r.randrange(999)}'>a thing</a></p></div>"
        ),
    ),
    "markdown": (
        "# Guide",
        lambda r: f"\n## Section {r.randrange(99)}\n\n{_sentence(r)}\n\n- `item`",
    ),
    "code": (
        '"""A module."""',
        lambda r: (
            f"def function_{r.randrange(9999)}(a, b):\n    return a + b * {r.randrange(99)}\n"
        ),
    ),
    "yaml": (
        "",
        lambda r: f"- name: item_{r.randrange(999)}\n  id: {r.randrange(9999)}\n  on: true",
    ),
    "prose": ("", _sentence),
}
FORMS = ("json", *_LINES)
