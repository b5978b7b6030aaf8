"""Sets of sequences as runs, against Python's own sets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from weft.erasure.sequence_runs import holds, merged, minus, runs_of, size, without_oldest

NUMBERS = st.integers(1, 60)
RUNS = st.lists(st.tuples(NUMBERS, NUMBERS))


def counted_out(runs: list[tuple[int, int]]) -> set[int]:
    return {one for first, last in runs for one in range(first, last + 1)}


@given(RUNS)
def test_a_union_holds_what_its_runs_hold(runs: list[tuple[int, int]]) -> None:
    union = merged(runs)
    wanted = counted_out(runs)
    assert [one for one in range(62) if holds(union, one)] == sorted(wanted)
    assert size(union) == len(wanted)
    assert all(left[1] + 1 < right[0] for left, right in pairwise(union))


@given(st.sets(NUMBERS))
def test_runs_of_sequences_hold_these_only(sequences: set[int]) -> None:
    assert counted_out(runs_of(sequences)) == sequences


def test_a_run_that_somebody_made_up_is_not_counted_out() -> None:
    union = merged([(-5, 10**18), (7, 3)])
    assert size(union) == 10**18 + 6
    assert holds(union, 10**17)
    assert not holds(union, 10**18 + 1)


@given(st.sets(NUMBERS), RUNS)
def test_a_difference_holds_what_the_others_do_not(sequences: set[int], others) -> None:
    left = minus(runs_of(sequences), merged(others))
    assert counted_out(left) == sequences - counted_out(others)


@given(st.sets(NUMBERS), st.integers(0, 9), NUMBERS)
def test_the_oldest_before_an_event_are_left_out(sequences: set[int], count: int, before: int):
    oldest = [one for one in sorted(sequences) if one < before][:count]
    left = without_oldest(runs_of(sequences), count, before)
    assert counted_out(left) == sequences - set(oldest)


def test_sequences_that_rise_take_the_room_of_their_runs_only() -> None:
    assert runs_of(iter(range(1, 1_000_000))) == [(1, 999_999)]
