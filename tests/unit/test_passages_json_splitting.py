"""JSON by its own structure: elements, records and fields."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_parts import all_parts, lines, split

from weft.passages.json_splitting import split_call, split_json
from weft.passages.json_unquoted import unquoted
from weft.passages.json_values import RECORD
from weft.passages.literals import Decoded, decoded
from weft.passages.part import Part, leaves

ROWS = [{"id": n, "name": f"N{n}", "note": "w " * 200} for n in range(6)]
RECORDS = json.dumps(ROWS)
VALUE = re.compile(r"O-\d|city \d")


def texts(part: Part, whole: str) -> list[str]:
    decoded_text = decoded(whole).text
    return [decoded_text[leaf.start : leaf.end] for leaf in leaves(part)]


def test_an_array_is_taken_apart_by_its_records() -> None:
    made = split(RECORDS)
    assert [child.unit for child in made.children] == ["record"] * 6
    assert sum(child.count for child in made.children) == 6


def test_small_records_stand_together_and_are_counted() -> None:
    text = json.dumps([{"id": n} for n in range(90)])
    made = split(text)
    assert sum(child.count for child in made.children) == 90
    assert len(made.children) < 30


@pytest.mark.parametrize("comma", [", ", "\n, \t", "," + " " * 600, " " * 600 + ","])
@pytest.mark.parametrize("size", range(RECORD - 3, RECORD + 4))
def test_blanks_between_records_change_no_part(size: int, comma: str) -> None:
    record = json.dumps({"id": 7, "note": "x" * (size - len(json.dumps({"id": 7, "note": ""})))})
    rows = ['{"id": 1}', record, '{"id": 2}', f"[{record}, 3]", record]
    close, wide = f"[{','.join(rows)}]", f"[{comma.join(rows)}]"
    assert len(record) == size
    assert [part.end - part.start for part in split(wide).children if part.children] == [
        part.end - part.start for part in split(close).children if part.children
    ]


def test_the_few_records_without_a_value_that_the_others_have_differ() -> None:
    orders = [{"order": n, "sent_at": f"2026-11-{n % 28 + 1:02}T08:{n:02}"} for n in range(40)]
    orders[23]["sent_at"] = None  # type: ignore[assignment]
    made = split(json.dumps(orders))
    found = [part for part in all_parts(made) if part.is_outlier]
    assert [json.dumps(orders)[part.start : part.end] for part in found] == [
        '{"order": 23, "sent_at": null}'
    ]
    for order in orders[::3]:
        order["sent_at"] = None  # type: ignore[assignment]
    assert not any(part.is_outlier for part in all_parts(split(json.dumps(orders))))


def rules(odd: int, **other: object) -> list[dict[str, object]]:
    made = [
        {"rule": f"r{n}", "range": f"10.{n}.0.0/16", "remark": "", "open": False} for n in range(40)
    ]
    made[odd] |= other
    return made


@pytest.mark.parametrize("more", [{}, {"note": "n " * 400}])
@pytest.mark.parametrize("other", [{"remark": "for the museum"}, {"open": True}])
def test_the_record_that_differs_from_the_others_is_known(
    other: dict[str, object], more: dict[str, str]
) -> None:
    text = json.dumps([one | more for one in rules(17, **other)])
    found = [part for part in all_parts(split(text)) if part.is_outlier]
    assert [json.loads(text[part.start : part.end])["rule"] for part in found] == ["r17"]


def test_a_list_may_be_cut_off_anywhere() -> None:
    text = json.dumps([{"id": f"O-{n}", "title": f"city {n}"} for n in range(9)])
    for end in range(2, len(text)):
        cut = text[:end]
        shown = "".join(texts(split_json(decoded(cut), lines), cut))
        assert VALUE.findall(shown) == VALUE.findall(cut)


@pytest.mark.parametrize("cut", [1, 3, 30, 60])
def test_a_list_that_was_cut_off_has_the_same_differing_records(cut: int) -> None:
    text = json.dumps(rules(17, remark="for the museum"))[:-cut]
    found = [part for part in all_parts(split(text)) if part.is_outlier]
    assert [text[part.start : part.end].count('"r17"') for part in found] == [1]


def test_among_records_that_are_alike_or_few_or_all_different_none_differs() -> None:
    for records in (rules(3), rules(3, open=True)[:9], [{"n": n} for n in range(40)]):
        assert not any(part.is_outlier for part in all_parts(split(json.dumps(records))))


@pytest.mark.parametrize("count", [5, 60, 500])
def test_the_first_record_of_a_ranking_stands_out(count: int) -> None:
    records = [{"id": f"x{n * 7919 % 997}", "score": 9000 - n * 3.5} for n in range(count)]
    found = [part for part in all_parts(split(json.dumps(records))) if part.is_outlier]
    assert [(part.start, part.count) for part in found] == [(1, 1)]
    assert not any(part.is_outlier for part in all_parts(split(json.dumps(records[::-1]))))


def test_a_long_string_is_taken_apart_by_its_lines_under_its_key() -> None:
    held = {"path": "a.py", "tags": ["a"], "content": "print('a line of code')\n" * 100}
    text = json.dumps(held)
    leaf = texts(split(text), text)
    assert leaf[0] == '"path": "a.py"'
    assert len(leaf) > 5
    assert all("print(" in one for one in leaf[2:])


def test_a_call_is_taken_apart_by_its_arguments() -> None:
    text = 'write({"path": "a.py", "content": "' + "word " * 300 + '"})'
    made = split_call(decoded(text), lines)
    assert made is not None
    assert text[: made.opening] == "write({"
    assert text[made.end - made.closing :] == "})"
    assert texts(made, text)[0] == '"path": "a.py"'


@pytest.mark.parametrize("text", ["plain words", '{"a": 1', '"only a string"', "f(1, 2)", "[}"])
def test_what_is_no_json_is_not_taken_apart(text: str) -> None:
    assert decoded(text).form == "text"


def test_deep_json_ends() -> None:
    text = "[" * 200 + json.dumps(ROWS) + "]" * 200
    assert list(leaves(split(text)))


def test_quotes_are_left_out_where_nothing_becomes_ambiguous() -> None:
    text = json.dumps({"name": "Mia Li", "n": 1, "s": "1", "t": "true", "u": "a, b", "k x": None})
    assert unquoted(text) == '{name: Mia Li, n: 1, s: "1", t: "true", u: "a, b", k x: null}'


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: (
        st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner, max_size=9)
    ),
    max_leaves=60,
)


@settings(max_examples=37)
@given(values, st.booleans())
def test_leaves_stand_in_order_and_no_value_is_lost(value: object, indented: bool) -> None:
    text = json.dumps(value, indent=1 if indented else None, ensure_ascii=False)
    decoded_text = decoded(text)
    made = split_json(decoded_text, lines) if decoded_text.form == "json" else None
    if made is None:
        return
    place = 0
    for leaf in leaves(made):
        assert place <= leaf.start <= leaf.end <= len(text)
        place = leaf.end
    kept = "".join(texts(made, text))
    for scalar in _scalars(value):
        assert json.dumps(scalar, ensure_ascii=False).strip('"') in kept


def _scalars(value: object) -> list[object]:
    if isinstance(value, dict):
        return [one for held in value.values() for one in _scalars(held)]
    if isinstance(value, list):
        return [one for held in value for one in _scalars(held)]
    return [value]


@settings(max_examples=37)
@given(values)
def test_what_is_unquoted_states_every_value(value: object) -> None:
    written = msgspec.json.encode(value).decode()
    shown = unquoted(written)
    for scalar in _scalars(value):
        if isinstance(scalar, str):
            assert msgspec.json.encode(scalar).decode()[1:-1] in shown


_SCALARS = st.none() | st.booleans() | st.integers() | st.text('ab,:[]{}"\\\n ', max_size=30)
_NESTED = st.recursive(
    _SCALARS,
    lambda held: st.lists(held, max_size=4) | st.dictionaries(st.sampled_from("abcdefg"), held),
    max_leaves=40,
)


@settings(max_examples=75)
@given(st.lists(_NESTED, max_size=20), st.sampled_from([None, 1, 4]))
def test_each_element_of_an_array_is_a_part_or_whole_within_one(
    values: list[object], indent: int | None
) -> None:
    """Also where it has brackets in its strings, or more levels than are passed over at once."""
    values = ["long enough to be taken apart" * 9, *values]
    text = json.dumps(values, indent=indent)
    made = split_json(Decoded(text, "json"), lines)
    assert made is not None
    held = [json.loads(f"[{text[part.start : part.end]}]") for part in made.children]
    assert [value for part in held for value in part] == values
    assert [len(part) for part in held] == [part.count for part in made.children]


def test_values_that_stood_right_beside_each_other_do_not_run_together() -> None:
    text = (
        '{"status":["clientHold https://icann.org/epp#clientHold","ok"],"name":"a,b","n":[1,"c"]}'
    )
    shown = '{status:[clientHold https://icann.org/epp#clientHold, ok], name:"a,b", n:[1, c]}'
    assert unquoted(text) == shown
    assert unquoted('{"tool_name":"edit"}') == "{tool_name: edit}"


def test_a_state_behind_many_fields_makes_a_record_differ() -> None:
    """Clouds tell it behind names and addresses; of a long list only the beginnings are read."""
    names = {f"name_{n}": f"a value of the field {n}" for n in range(20)}
    for count, expected in ((12, [5]), (200, [])):
        records = [
            {"id": f"i-{n}", **names, "state": "stopped" if n == 5 else "running"}
            for n in range(count)
        ]
        parts = split(json.dumps(records)).children
        assert [at for at, part in enumerate(parts) if part.is_outlier] == expected
