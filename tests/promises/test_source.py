"""The check of what a prompt shows of an item: what it must find, and what it must not."""

from __future__ import annotations

import json

from tests.promises.source import faults_of_parts


def page(number: int) -> dict[str, object]:
    text = f"It is about {number}. " * 20
    return {"title": f"Page {number}", "text": text, "id": 740_000 + number, "words": 80}


PAGES = json.dumps({"pages": [page(number) for number in range(4)]}, indent=2)
FIRST = "{title: Page 0, … 1 field: text …, id: 740000, … 1 field: words …}"
LAST = "{title: Page 3, … 1 field: text …, id: 740003, … 1 field: words …}"
BETWEEN = "… 2 of 4 records …"


def faults(*records: str) -> list[str]:
    shown = "{pages: [" + ", ".join(records) + "]}"
    return list(faults_of_parts(PAGES, f"<data:5>{shown}</data:5>"))


def test_records_in_their_order_are_true_also_where_the_last_closes_on_a_line_of_its_own() -> None:
    assert not faults(FIRST, BETWEEN, LAST)


def test_records_out_of_their_order_are_not() -> None:
    (found,) = faults(LAST, BETWEEN, FIRST)
    assert "not in order" in found


def test_a_record_that_is_left_out_without_a_mark_is_found() -> None:
    assert faults(FIRST, LAST)


def test_a_field_that_is_left_out_without_a_mark_is_found() -> None:
    assert faults("{title: Page 0, id: 740000, words: 80}", "… 3 of 4 records …")


def test_a_wrong_number_of_records_that_are_left_out_is_found() -> None:
    assert faults(FIRST, "… 1 of 4 records …", LAST)


def test_a_wrong_number_of_lines_that_are_left_out_is_found() -> None:
    source = "".join(f"## Part {n}\n\nfirst {n}\nsecond {n}\n\n" for n in range(9))
    shown = "## Part 0\n\nfirst 0\n… {} lines …\n## Part 8\n\nfirst 8\nsecond 8"
    assert not [*faults_of_parts(source, shown.format(37))]
    for count in (35, 41):
        (fault,) = faults_of_parts(source, shown.format(count))
        assert fault.startswith("counts wrongly")


def test_records_of_json_in_a_string_are_looked_for_without_counting() -> None:
    records = [{"id": n, "status": "the gate"} for n in range(9)]
    source = json.dumps({"stdout": json.dumps(records)})
    shown = '{stdout: "[… 2 of 9 records …, {id: 2, status: the gate}, … 6 of 9 records …]"}'
    assert list(faults_of_parts(source, shown)) == []
    invented = shown.replace("id: 2", "id: 12")
    assert len(list(faults_of_parts(source, invented))) == 1
