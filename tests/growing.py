"""How the time of a function grows with its text, on texts made to be slow for it."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from functools import cache
from pathlib import Path
from statistics import median
from time import process_time
from types import ModuleType
from typing import Any

import weft
import weft_schemas

QUADRATIC = 1.5
"""An exponent above it is no linear time with a little noise."""
_MIN_SECONDS = 0.001
"""Below this a time says nothing: 2,000 characters take a linear pattern a tenth of it."""
_MAX_SECONDS = 1.0
_TIMES = 3
"""That a text is measured whose growth looks quadratic at first."""
_WIDER = 4
"""Times as long as the longer text is the one that it is measured on then."""
SIZES = (2_000, 8_000)
"""Characters of a pattern's texts."""
LONG = (20_000, 80_000)
"""Of a whole function's."""
_UNITS = (
    *" \t\n\r\v\f\u00a0\u2028a0A1é_-.,:;/\\|\"'`=<>[](){}#*@%$&+?!~^\x00",
    "\r\n", "a ", "1 ", " a", "a.", "1.", ".1", "a,", "a=", 'a="', "a='", "a:", "a: ", '"a":',
    "[a", "(a", "{a", "<a ", "<a b=", "</", "<!--", "a/", "/a", "a@", "a-", "a_", "Aa", "A ",
    "1 may ", "- ", "* ", "# ", "\n ", "\n\n", "\n a", "\n- ", "\n#", "\n```", "a\n", "1\n", ":\n",
    "key=", '\\"',
    "not ", "the ", "is ", "I ", "my ", "2024-01-01 ", "12:", "http://", "a@a.", "0x", "%41", "&a;",
)  # fmt: skip


Search = Callable[[str], object]
PARTS = ("weft_schemas", *(f"weft.{one.name}" for one in pkgutil.iter_modules(weft.__path__)))
"""Packages and modules at the top, by which tests of all of weft are divided."""


def patterns(skip: tuple[str, ...] = ()) -> Iterator[tuple[str, re.Pattern[str], Search]]:
    """Every pattern of the standard library's `re` that a module holds, by its name, with the work
    that is done with it."""
    seen: set[int] = set()
    everything = methods_called("\n".join(source(module) for _, module in modules(skip)))
    for name, module in modules(skip):
        within = methods_called(source(module))
        for attribute, value in sorted(vars(module).items()):
            for label, one in _held(f"{name}.{attribute}", value):
                if id(one) in seen:
                    continue
                seen.add(id(one))
                where = within if attribute.startswith("_") else everything
                methods = where.get(attribute, set())
                yield label, one, searched(one, methods <= {"match", "fullmatch"} and bool(methods))


def methods_called(code: str) -> dict[str, set[str]]:
    """By the name of what they are called on."""
    found: dict[str, set[str]] = {}
    for name, method in re.findall(r"\b(\w+)\.(\w+)\(", code):
        found.setdefault(name, set()).add(method)
    return found


def part_of(name: str) -> str:
    """Which of `PARTS` holds what has this name; all of weft's own is `weft` itself."""
    first, _, rest = name.partition("(")[0].partition(".")
    return first if first == "weft_schemas" else f"weft.{rest.partition('.')[0]}"


@cache
def source(module: ModuleType) -> str:
    return Path(module.__file__ or "").read_text(encoding="utf-8")


def modules(skip: tuple[str, ...] = ()) -> Iterator[tuple[str, ModuleType]]:
    """Every module of weft by name, without those below `skip`."""
    for package in (weft_schemas, weft):
        yield package.__name__, package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.startswith(skip) or found.name.endswith("__main__"):
                continue
            try:
                yield found.name, importlib.import_module(found.name)
            except ModuleNotFoundError:  # its framework is not installed beside the tests
                spec = found.module_finder.find_spec(found.name, None)
                assert found.name.startswith("weft.integrations."), found.name
                assert spec is not None
                assert "re.compile" not in Path(spec.origin or "").read_text(encoding="utf-8")


def _held(name: str, value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _held(f"{name}[{key!r:.20}]", one)
    elif isinstance(value, (tuple, list, frozenset)) and not hasattr(value, "__struct_fields__"):
        for number, one in enumerate(value):
            yield from _held(f"{name}[{number}]", one)


def searched(pattern: re.Pattern[str], at_start: bool = False) -> Search:
    """The work of a pattern on a text, as the code does it: every match, or one at the start."""

    def work(text: str) -> None:
        subject: Any = text.encode("utf-8", "surrogatepass") if _is_of_bytes(pattern) else text
        if at_start:
            pattern.match(subject)
            return
        for _ in pattern.finditer(subject):
            pass

    return work


def _is_of_bytes(pattern: re.Pattern[str]) -> bool:
    return isinstance(pattern.pattern, bytes)


def units(pattern: re.Pattern[str] | None = None) -> list[str]:
    """What texts are made of: common pieces, and the literals of the pattern."""
    if pattern is None:
        return list(_UNITS)
    source = pattern.pattern.decode("latin-1") if _is_of_bytes(pattern) else pattern.pattern
    words = re.findall(r"(?<![\\\[(?])[A-Za-z]{2,}", source)[:12]
    signs = list(dict.fromkeys(re.findall(r"[\[\]{}()<>\"'`:=|.,@/\\#*~-]", source)))[:10]
    pairs = [one + two for one in signs for two in signs]
    return [*dict.fromkeys([*_UNITS, *words, *(f"{word} " for word in words), *pairs])]


def growth(work: Search, unit: str, sizes: tuple[int, int] = SIZES) -> float:
    """The exponent with which the time grows on so many of `unit`, with an end that fits nothing; 0
    where it is too quick to tell, infinite where it does not end.

    What looks quadratic at first is measured again, up to a text four times as long: beside other
    load a long time may be charged twice, which is half an exponent between the first two sizes and
    a quarter then."""
    exponent = _exponent(work, unit, sizes, 1, _MAX_SECONDS)
    if QUADRATIC < exponent < math.inf:
        wider, longest = (sizes[0], _WIDER * sizes[1]), _WIDER * _MAX_SECONDS
        exponent = _exponent(work, unit, wider, _TIMES, longest)
    return exponent


def _exponent(work: Search, unit: str, sizes: tuple[int, int], times: int, most: float) -> float:
    """Of the medians of so many times; what takes more than `most` seconds does not end."""
    texts = [unit * (size // len(unit)) + "\x01" for size in sizes]
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        for text, ours in zip(texts, taken, strict=True):
            ours.append(seconds(work, text, most))
            if ours[-1] == math.inf:
                return math.inf
            if median(taken[0]) < _MIN_SECONDS:
                return 0.0
    return math.log(max(median(taken[1]), 1e-9) / median(taken[0]), sizes[1] / sizes[0])


def seconds(work: Search, text: str, most: float = _MAX_SECONDS) -> float:
    """Of this process's own time; infinite where it does not end."""
    begun = process_time()
    try:
        with _at_most(most):
            work(text)
    except _Endless:
        return math.inf
    return process_time() - begun


class _Endless(BaseException):
    pass


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Of this process's own time; `re` looks for signals while it searches. The timer is one of
    real time, after which it looks: beside a timer of its own time, Linux counts that time in steps
    of 4 ms."""
    end = process_time() + seconds

    def look(*_: object) -> None:
        left = end - process_time()
        if left <= 0:
            raise _Endless
        signal.setitimer(signal.ITIMER_REAL, max(left, _MIN_SECONDS))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def slow(
    work: Search, pieces: list[str], sizes: tuple[int, int] = SIZES
) -> tuple[str, float] | None:
    """A unit on which it grows faster than linearly, with the exponent; None where it does not."""
    for unit in pieces:
        exponent = growth(work, unit, sizes)
        if exponent > QUADRATIC:
            return unit, exponent
    return None


def calls(work: Search, unit: str, sizes: tuple[int, int] = SIZES) -> float:
    """The exponent with which the calls grow that it makes, of Python's functions and of those in
    C: the same on every run, and blind for what one call does."""
    counts = []
    for size in sizes:
        text = unit * (size // len(unit)) + "\x01"
        with Profile(subcalls=False) as profile:
            work(text)
        counts.append(sum(entry.callcount for entry in profile.getstats()))
    return math.log(max(counts[1], 1) / max(counts[0], 1), sizes[1] / sizes[0])
