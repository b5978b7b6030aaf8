"""What measures growth finds what is quadratic, and is not misled by one time that was too long."""

import math
import re

import pytest
from tests.growing import calls, growth, searched, slow

SIZES = (2_000, 8_000)


def test_a_pattern_that_starts_anew_at_every_place_is_found() -> None:
    work = searched(re.compile("a*b"))
    # One short time that is charged double hides it; ten in a row hardly ever do.
    found = next(filter(None, (slow(work, ["b", "a"], SIZES) for _ in range(10))), None)
    assert found is not None
    assert found[0] == "a"


def test_what_does_not_end_is_found() -> None:
    assert growth(searched(re.compile(r"(a|a)*\Z.")), "a", (40, 160)) == math.inf


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work says how long it took: its own answer is its time."""
    monkeypatch.setattr("tests.growing.seconds", lambda work, text, most: work(text))


@pytest.mark.usefixtures("said")
def test_one_time_that_was_too_long_says_nothing() -> None:
    disturbed = iter([0.0, 0.1])
    assert growth(lambda text: len(text) * 1e-6 + next(disturbed, 0.0), "a", SIZES) < 1.5


@pytest.mark.usefixtures("said")
def test_a_long_time_that_is_always_charged_double_says_nothing() -> None:
    charged = {True: 1e-6, False: 2.3e-6}
    assert growth(lambda text: len(text) * charged[len(text) < 8_000], "a", SIZES) < 1.5


@pytest.mark.usefixtures("said")
def test_what_is_always_quadratic_is_not_measured_away() -> None:
    assert growth(lambda text: (len(text) / 4_000) ** 2 * 0.004, "a", SIZES) > 1.5


def test_calls_are_counted_of_python_and_of_c() -> None:
    def one(sign: str) -> str:
        return sign

    for step in (one, len):
        assert calls(lambda text, step=step: [step(sign) for sign in text], "a", SIZES) < 1.1
        quadratic = calls(
            lambda text, step=step: [step(sign) for _ in text[::100] for sign in text], "a", SIZES
        )
        assert quadratic > 1.5
