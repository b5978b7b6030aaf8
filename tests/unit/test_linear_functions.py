"""Every pure function that takes text does work in proportion to it: found by walking weft's
modules, called on texts made to be slow, its calls counted and, where they take long, timed."""

import pytest
from tests.growing import QUADRATIC, Search, cached, calls, growth, seconds
from tests.text_functions import Unmade, text_functions, texts_of, work_of

ELSEWHERE = ("weft.cli", "weft.adapters")
"""They read an operator's own files."""
UNITS = (" ", "\n", "a", "a ", '"', '\\"', "[", "{", "<", "a=", "a: ", "1 may ", "- ", ",\n", "a.")
SIZES = (1_500, 6_000)
"""Characters; at the larger one what is quadratic takes far longer than `LONG`."""
LONG = 0.006
"""Seconds of the larger text below which nothing is slow."""
BOUNDED = {
    "weft.audit.permission_files.compared(files)": "an operator's own files",
    "weft.facts.memory_fact._fields(text)": "reads what was decoded as JSON",
    "weft.passages.json_text.unquoted(json_text)": "the same",
    "weft_schemas.loosening._covers(one)": "globs have at most 200 characters",
    "weft_schemas.loosening._may_meet(one)": "the same",
    "weft_schemas.loosening._may_meet(other)": "the same",
}
"""Why one that would be slow is given nothing that is long enough."""
UNCALLED = {}
"""Parameters that no made-up value is given to, by their function, with the reason."""


def all_of() -> dict[str, Search]:
    found: dict[str, Search] = {}
    for name, function in text_functions(ELSEWHERE):
        for parameter in texts_of(function):
            try:
                found[f"{name}({parameter})"] = work = work_of(function, parameter)
                work("a")
            except (Unmade, TypeError, AttributeError):
                found.pop(f"{name}({parameter})", None)
                MISSED.append(f"{name}({parameter})")
            except Exception:  # it refuses this text, in words or not
                continue
    return found


MISSED: list[str] = []
ALL = all_of()
MODULES = sorted({name.partition("(")[0].rpartition(".")[0] for name in ALL})


def test_functions_are_found() -> None:
    assert len(ALL) > 800
    assert sorted(MISSED) == sorted(UNCALLED)
    assert set(BOUNDED) <= set(ALL)


def quietly(work: Search) -> Search:
    def done(text: str) -> None:
        cached()
        try:
            work(text)
        except Exception:  # a refusal is an answer
            return

    return done


@pytest.mark.parametrize("module", MODULES)
def test_what_takes_text_is_linear(module: str) -> None:
    slow = []
    for name, found in ALL.items():
        if name.partition("(")[0].rpartition(".")[0] != module or name in BOUNDED:
            continue
        work = quietly(found)
        for unit in UNITS:
            text = unit * (SIZES[1] // len(unit)) + "\x01"
            if seconds(work, text) < LONG:
                continue
            counted = calls(work, unit, SIZES)
            if counted > QUADRATIC or growth(work, unit, SIZES) > QUADRATIC:
                slow.append((name, unit, counted))
    assert slow == []
