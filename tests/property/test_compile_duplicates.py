"""Both ways of looking for duplicates find exactly those that comparing every pair would find."""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiler import deduplication
from weft.compiler.deduplication import find_duplicates

sets = st.lists(st.frozensets(st.sampled_from("abcdefghij"), max_size=9), max_size=30)
thresholds = st.sampled_from([0.1, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 0.85, 0.9, 1.0])


def brute_force(held: list[frozenset[str]], threshold: float) -> dict[int, int]:
    repeated: dict[int, int] = {}
    for index, one in enumerate(held):
        for other in range(index):
            union = one | held[other]
            if other not in repeated and union and len(one & held[other]) / len(union) >= threshold:
                repeated[index] = other
                break
    return repeated


@settings(max_examples=500, deadline=None)
@given(sets, thresholds)
def test_the_same_as_comparing_every_pair(held: list[frozenset[str]], threshold: float) -> None:
    texts = [" ".join(sorted(words)) for words in held]
    for few in (0, deduplication.FEW):
        with patch.object(deduplication, "FEW", few):
            assert find_duplicates(texts, threshold) == brute_force(held, threshold)
