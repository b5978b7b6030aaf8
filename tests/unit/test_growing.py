"""What measures growth finds what is quadratic, and is not misled by one time that was too long."""

import math
import re
from time import process_time

from tests.growing import growth, searched, slow

SIZES = (4_000, 16_000)


def busy(seconds: float) -> None:
    until = process_time() + seconds
    while process_time() < until:
        pass


def test_a_pattern_that_starts_anew_at_every_place_is_found() -> None:
    found = slow(searched(re.compile("a*b")), ["b", "a"], SIZES)
    assert found is not None
    assert found[0] == "a"


def test_what_does_not_end_is_found() -> None:
    assert growth(searched(re.compile(r"(a|a)*\Z.")), "a", (40, 160)) == math.inf


def test_one_time_that_was_too_long_says_nothing() -> None:
    disturbed = iter([0.0, 0.1])

    def work(text: str) -> None:
        busy(len(text) * 1e-6 + next(disturbed, 0.0))

    assert growth(work, "a", SIZES) < 1.5


def test_a_long_time_that_is_always_charged_double_says_nothing() -> None:
    def work(text: str) -> None:
        busy(len(text) * (1e-6 if len(text) < 8_000 else 2.3e-6))

    assert growth(work, "a", SIZES) < 1.5


def test_what_is_always_quadratic_is_not_measured_away() -> None:
    assert growth(lambda text: busy((len(text) / 4_000) ** 2 * 0.004), "a", SIZES) > 1.5
