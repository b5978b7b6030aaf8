"""What stands under a name: a function's lines, a section, a record's fields."""

import json

import pytest

from weft.compiler.ranking.named_parts import MAX_HEADS, is_word_in, under_named_heads
from weft.passages.splitting import outline_of, readable


def under(text: str, *named: str, most: float = 10_000) -> str:
    outline = outline_of(text)
    assert outline is not None
    found = under_named_heads(readable(text, outline), outline, named, most)
    shown = readable(text, outline)
    return "".join(shown[outline.leaves[at].start : outline.leaves[at].end] for at in sorted(found))


def code(*names: str) -> str:
    return "".join(
        f"def {name}(store):\n" + "".join(f"    store.step_{n}()\n" for n in range(30)) + "\n\n"
        for name in names
    )


def test_the_lines_of_a_function() -> None:
    text = code("open_store", "set_seats", "close_store")
    found = under(text, "set_seats")
    assert found.strip() == code("set_seats").strip()
    assert under(text, "close_seats") == under(text) == ""


def test_a_section_under_its_heading() -> None:
    text = "".join(f"## Case R{n}X\n\n{'It is open. ' * 20}\n\n{'Ask.' * 40}\n\n" for n in range(4))
    found = under(text, "R2X")
    assert found.count("It is open.") == 20
    assert "R3X" not in found


def test_the_fields_of_a_record_beside_its_id() -> None:
    orders = [
        {"order": {"id": f"R-15{n}", "lines": [{"n": at, "text": "x" * 60} for at in range(9)]}}
        for n in range(5)
    ]
    found = under(json.dumps(orders), "R-153")
    assert found.count('"text"') == 9


def test_the_fields_of_a_record_beside_its_name() -> None:
    staff = [
        {
            "staff_id": f"S{n}",
            "name": name,
            "shifts": [{"n": at, "text": "x" * 60} for at in range(9)],
        }
        for n, name in enumerate(("Petit", "Roux", "Colin"))
    ]
    assert under(json.dumps(staff), "Roux").count('"text"') == 9


def test_of_two_records_the_one_with_more_of_the_names_counts_more() -> None:
    staff = [
        {"staff_id": f"S{n}", "name": "Dufour", "born": born, "shifts": ["x" * 60] * 9}
        for n, born in enumerate(("1978-04-22", "1991-10-03"))
    ]
    text = json.dumps(staff)
    outline = outline_of(text)
    assert outline is not None
    found = under_named_heads(text, outline, {"Dufour", "1991"}, 10_000)
    first = [at for at, leaf in enumerate(outline.leaves) if leaf.start < text.index('"S1"') - 16]
    assert {found[number] for number in first} == {1}
    assert {count for number, count in found.items() if number not in first} == {2}


def test_the_name_of_a_column_heads_no_rows() -> None:
    text = "acct_id,seats\n" + "".join(f"A-{n},{n * 7}\n" for n in range(90))
    outline = outline_of(text, "text/csv")
    assert outline is not None
    assert under_named_heads(text, outline, {"acct_id"}, 10_000) == {}


def test_a_part_that_is_too_large_is_not_taken() -> None:
    assert under(code("open_store", "set_seats"), "set_seats", most=200) == ""


@pytest.mark.parametrize("times", [MAX_HEADS, MAX_HEADS + 1])
def test_a_name_that_heads_many_parts_tells_nothing(times: int) -> None:
    found = under(code(*["set_seats"] * times, "close_store"), "set_seats")
    assert bool(found) == (times == MAX_HEADS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ends in 6437.", True),
        ("6437", True),
        ("88000064370", False),
        ("x6437", False),
        ("6437_1", False),
        ("64370 and 6437", True),
        ("6437é", False),
        ("", False),
    ],
)
def test_a_word_is_no_part_of_a_longer_one(text: str, expected: bool) -> None:
    assert is_word_in("6437", text) is expected
