"""A cache that keeps few long texts."""

from weft.recent_texts import LONG, LONG_KEPT, cached


def test_many_short_texts_are_remembered_and_few_long_ones() -> None:
    made: list[int] = []

    @cached(100)
    def size(text: str, more: int = 0) -> int:
        """Its size."""
        made.append(len(text))
        return len(text) + more

    short = [f"{n:03}" for n in range(100)]
    long = [f"{n:03}" + "x" * LONG for n in range(LONG_KEPT + 1)]
    for text in (*short, *long, *short, *long[1:]):
        assert size(text, 1) == len(text) + 1
    assert len(made) == len(short) + len(long)
    size(long[0], 1)
    assert len(made) == len(short) + len(long) + 1
    size.cache_clear()
    size(short[0], 1)
    assert made[-1] == 3
    assert (size.__name__, size.__doc__) == ("size", "Its size.")
