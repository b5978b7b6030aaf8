"""What tools return, made: records, code and prose of any size, each seed another text, with words
as rare and as common as in people's texts."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pydoc_data.topics import topics
from typing import Any


def _vocabulary() -> dict[str, int]:
    """The words of Python's own reference, with how often each is written there."""
    return Counter(re.findall(r"[a-z]{2,}", " ".join(topics.values()).lower()))


_COUNTS = _vocabulary()
_VOCABULARY = sorted(_COUNTS)
_WEIGHTS = list(accumulate(_COUNTS[word] for word in _VOCABULARY))


def made_result(kind: str, size: int, seed: int) -> str:
    """`size` characters, ASCII, of `json`, `code` or `prose`; whole records where `json`."""
    rng = random.Random(f"{kind} {size} {seed}")
    if kind == "json":
        return _records(rng, size)
    part: Callable[[random.Random], str] = {"code": _function, "prose": _paragraph}[kind]
    parts, length = list[str](), 0
    while length < size:
        parts.append(part(rng))
        length += len(parts[-1])
    return "".join(parts)[:size]


def _words(rng: random.Random, count: int) -> list[str]:
    return rng.choices(_VOCABULARY, cum_weights=_WEIGHTS, k=count)


def _sentence(rng: random.Random, most: int = 24) -> str:
    return " ".join(_words(rng, rng.randint(4, most))).capitalize() + "."


def _records(rng: random.Random, size: int) -> str:
    rows: list[dict[str, Any]] = []
    length = 2
    while not rows or length < size:
        row = {
            "id": f"{rng.getrandbits(40):010x}",
            "title": _sentence(rng, 8),
            "state": rng.choice(("open", "closed", "merged")),
            "author": {"name": _words(rng, 1)[0], "id": rng.randrange(10**6)},
            "labels": _words(rng, rng.randint(0, 3)),
            "created_at": f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T08:15:00Z",
            "amount": round(rng.uniform(1, 900), 2),
            "url": f"https://example.com/{_words(rng, 1)[0]}/{rng.randrange(9_999)}",
            "body": " ".join(_sentence(rng) for _ in range(rng.randint(0, 3))),
        }
        if length + len(json.dumps(row)) > size:
            row = {"id": row["id"], "body": "x" if not rows else _sentence(rng)}
            length = max(length, size)
        rows.append(row)
        length += len(json.dumps(row)) + 2
    return json.dumps(rows)


def _function(rng: random.Random) -> str:
    name, first, second, third = _words(rng, 4)
    condition = f"{first}_{second} > {rng.randrange(100)}"
    return f'''def {name}_{rng.randrange(999)}({first}: int, {second}: str = "{third}"):
    """{_sentence(rng)}"""
    {third} = []
    for {name}_one in {first}_all({second}, limit={rng.randrange(9_999)}):
        if {condition}:  # {_sentence(rng, 9)}
            raise ValueError(f"{_sentence(rng, 7)} {{{name}_one!r}}")
        {third}.append(self._{_words(rng, 1)[0]}[{name}_one.{_words(rng, 1)[0]}].strip("/"))
    return {third}


'''


def _paragraph(rng: random.Random) -> str:
    heading = f"## {_sentence(rng, 5)[:-1]}\n\n" if rng.random() < 0.2 else ""
    return heading + " ".join(_sentence(rng) for _ in range(rng.randint(2, 6))) + "\n\n"
