"""How many names of rare rows a summary of a table gives: as many as fit, found without writing
every number of them."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from weft.firewall.columns import MAX_RARE, Column, counts_text
from weft.firewall.summarise.budget import Budget
from weft.firewall.summarise.rare_rows import Groups, with_names

BUDGET = Budget(10_000, "o200k_base")
PLAIN = "state: "


def column(sizes: Sequence[int]) -> Column:
    rare = {f"v{n}": tuple(range(100 * n, 100 * n + size)) for n, size in enumerate(sizes)}
    counts = {"paid": 900, **{value: len(rows) for value, rows in rare.items()}}
    return Column("state", 1_000, 1_000, counts, rare=rare)


def named(one: Column, name: str, room: int) -> tuple[str, list[int]]:
    """The statement with names, and the numbers of names that were tried."""
    tried: list[int] = []

    def line(at: int, told: Groups, most: int) -> str:
        tried.append(most)
        return written(one, name, most, told)

    plain = PLAIN + counts_text(one)
    return with_names({0: plain}, [one], [], line, room, BUDGET)[0], tried


def written(one: Column, name: str, most: int, told: Groups) -> str:
    return PLAIN + counts_text(one, lambda row: name.format(row), most, told)


@given(
    st.lists(st.integers(1, MAX_RARE), min_size=1, max_size=4),
    st.sampled_from(["O-{:04}", "{}", "Île {} (é)", "user{}@example.com", "名前{}", "{}…"]),
    st.integers(-5, 400),
)
def test_as_many_names_as_fit(sizes: list[int], name: str, room: int) -> None:
    one = column(sizes)
    plain = PLAIN + counts_text(one)
    fitting = [
        text
        for most in range(MAX_RARE, 0, -1)
        if BUDGET.count(text := written(one, name, most, set())) - BUDGET.count(plain) <= room
    ]
    assert named(one, name, room)[0] == (fitting[0] if fitting else plain)


def test_few_numbers_of_names_are_tried() -> None:
    text, tried = named(column([MAX_RARE]), "O-{:04}", 60)
    assert "… 29 more" in text
    assert len(tried) <= 8
