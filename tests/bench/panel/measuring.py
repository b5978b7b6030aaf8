"""Measures rows of the panel, on two processes at most."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

import msgspec

from tests.bench.panel.halves import half_of, portions, sampled
from tests.bench.panel.rows import BASELINES, ROWS, Row
from weft_eval.grounding import Compile
from weft_eval.in_process import InProcess
from weft_eval.transcripts import LabelledTranscript
from weft_schemas.compile import CompileRequest, ContextPack

PROCESSES = 2
WEFT = "weft"


class Asked(msgspec.Struct, frozen=True):
    """What is to be measured of a row."""

    half: str
    sample: int | None
    budgets: tuple[int, ...]
    baselines: bool


class Measured(msgspec.Struct):
    """What came out at one budget in one way. Seconds are a processor's, of all processes."""

    total: Any
    seconds: float
    """With the measuring."""
    compiles: int
    compiling: float
    """Seconds of the compiles alone."""


class Timed:
    """Compiles in a way, and keeps how long that took."""

    def __init__(self, way: Compile) -> None:
        self._way = way
        self.compiles = 0
        self.seconds = 0.0

    def __call__(
        self, transcript: LabelledTranscript, position: int, request: CompileRequest
    ) -> ContextPack:
        begun = time.process_time()
        pack = self._way(transcript, position, request)
        self.seconds += time.process_time() - begun
        self.compiles += 1
        return pack


Found = dict[tuple[int, str], Measured]
"""By budget and way."""


def measure(row: Row, asked: Asked, pool: Executor) -> Found:
    """The whole row."""
    place = ROWS.index(row)
    parts = pool.map(_portion, *zip(*((place, asked, n) for n in range(PROCESSES)), strict=True))
    return _joined(parts)


def _portion(place: int, asked: Asked, number: int) -> Found:
    row = ROWS[place]
    cases = sampled(half_of(row.read(), asked.half), asked.sample)
    held = portions(cases, PROCESSES)
    if number >= len(held):
        return {}
    weft = InProcess()
    beside = BASELINES if asked.baselines and not row.only_weft else {}
    ways: dict[str, Compile] = {WEFT: weft, **beside}
    found: Found = {}
    for transcript in held[number]:
        weft.folded(transcript)
        for budget in asked.budgets or row.budgets:
            for name, way in ways.items():
                begun = time.process_time()
                timed = Timed(way)
                total = row.measure([transcript], timed, budget)
                spent = time.process_time() - begun
                one = Measured(total, spent, timed.compiles, timed.seconds)
                _add(found, (budget, name), one)
    return found


def _joined(parts: Iterator[Found]) -> Found:
    found: Found = {}
    for part in parts:
        for key, measured in part.items():
            _add(found, key, measured)
    return found


def _add(found: Found, key: tuple[int, str], more: Measured) -> None:
    known = found.get(key)
    if known is None:
        found[key] = more
        return
    known.seconds += more.seconds
    known.compiles += more.compiles
    known.compiling += more.compiling
    known.total = _sum(known.total, more.total)


def _sum(one: Any, other: Any) -> Any:
    """Counts and lists added, field by field and name by name."""
    if isinstance(one, msgspec.Struct):
        for name in one.__struct_fields__:
            setattr(one, name, _sum(getattr(one, name), getattr(other, name)))
        return one
    if isinstance(one, dict):
        return {name: _sum(held, other[name]) for name, held in one.items()}
    return one + other


def share(total: Any, name: str) -> float:
    """A share by its name, or a count among the shares."""
    found: float = total.share if name == "share" else total.shares[name]
    return found


def budgets(found: Found) -> Sequence[int]:
    return sorted({budget for budget, _ in found})
