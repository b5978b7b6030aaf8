"""Which records of a list are named, and which calls left aside."""

import json

from weft.compiler.profiles import MIN_PARTS
from weft.compiler.ranking.listed_records import named_records, passed_over
from weft.passages.splitting import outline_of, readable

SHOPS = [
    {"shop": f"S-{n:03}", "town": "Bern-3", "seats": n, "notes": [f"note {n} {'x ' * 150}"] * 2}
    for n in range(2 * MIN_PARTS)
]


def taken(of: object, text: str, *stated: str) -> str:
    outline = outline_of(text)
    assert outline is not None
    shown = readable(text, outline)
    texts = [shown[leaf.start : leaf.end] for leaf in outline.leaves]
    parts = list(enumerate(texts))
    found = of(parts, outline.record_of, frozenset(stated))  # type: ignore[operator]
    return "".join(texts[at] for at in sorted(found))


def test_a_named_record_counts_with_all_of_its_fields() -> None:
    found = taken(named_records, json.dumps({"total": 10, "shops": SHOPS}), "S-004", "Bern-3")
    assert '"S-004"' in found
    assert '"seats": 4' in found
    assert found.count("note 4 ") == 2
    assert "S-003" not in found
    assert "S-005" not in found


def test_what_many_records_state_names_none() -> None:
    assert taken(named_records, json.dumps(SHOPS), "Bern-3") == ""


def test_the_other_records_are_left_aside_when_calls_took_one() -> None:
    found = taken(passed_over, json.dumps({"total": 10, "shops": SHOPS}), "S-004")
    assert "S-003" in found
    assert "S-009" in found
    assert "S-004" not in found
    assert "note 4 " not in found
    assert "total" not in found


def test_rows_of_a_table_are_left_aside_too() -> None:
    rows = "".join(
        f"| S-{n:03} | Bern | {n * 7} | {'a place by the window and the river ' * 4} |\n"
        for n in range(4 * MIN_PARTS)
    )
    head = "| shop | town | rent | about |\n|---|---|---|---|\n"
    found = taken(passed_over, head + rows, "S-004")
    assert "S-003" in found
    assert "S-004" not in found


def test_nothing_is_left_aside_where_calls_took_no_record_or_many() -> None:
    text = json.dumps(SHOPS)
    assert taken(passed_over, text) == taken(passed_over, text, "S-999") == ""
    assert taken(passed_over, text, *(f"S-{n:03}" for n in range(MIN_PARTS))) == ""


def test_a_short_list_has_none_left_aside() -> None:
    assert taken(passed_over, json.dumps(SHOPS[: MIN_PARTS - 1]), "S-002") == ""
